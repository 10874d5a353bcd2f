//! The tracepoints of the kernel: their ids and formats, from tracefs.
//!
//! Owns where tracefs is found. Records nothing.

use std::io;
use std::path::Path;

/// Where tracefs is mounted.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The id of a tracepoint.
///
/// # Errors
/// `PermissionDenied`; `Unsupported` if the kernel does not have it, or no tracefs.
pub(crate) fn number(name: &str) -> io::Result<u64> {
    let text = file_of(name, "id")?;
    text.trim().parse().map_err(|_| io::Error::other(format!("events/{name}/id has no number")))
}

/// A file of a tracepoint: from tracefs where it is mounted, otherwise from a mount of our own that nobody sees.
///
/// # Errors
/// As of [`number`].
pub(crate) fn file_of(name: &str, file: &str) -> io::Result<String> {
    let file = format!("events/{name}/{file}");
    let mounted = PLACES.iter().map(|place| Path::new(place).join(&file));
    match mounted.map(std::fs::read_to_string).find_map(Result::ok) {
        Some(text) => Ok(text),
        None => sys::tracefs::read(&file).map_err(|error| refused(name, &error)),
    }
}

/// Why there is no such tracepoint.
fn refused(name: &str, error: &io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied => io::Error::new(
            error.kind(),
            "tracefs may be read by root alone; in a container, with CAP_SYS_ADMIN or mounted: mount -t tracefs nodev \
             /sys/kernel/tracing",
        ),
        io::ErrorKind::NotFound => {
            io::Error::new(io::ErrorKind::Unsupported, format!("this kernel has no {name}"))
        }
        _ => io::Error::new(
            io::ErrorKind::Unsupported,
            format!("tracefs cannot be read ({error}): this kernel has no tracepoints"),
        ),
    }
}
