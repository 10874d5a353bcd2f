//! A copy of a host: the files that an audit and a plan read, and no others.
//!
//! Owns the format: a tar archive, for `tar xf` and `--root`. It contains names and command lines
//! of programs.

use std::collections::BTreeSet;
use std::io::{self, Write};

use tar::{Builder, EntryType, Header};

use crate::audit::audit;
use crate::check::{Allowed, Load, Risk};
use crate::files::Seen;
use crate::host::HostReading;
use crate::plan::plan;

/// Writes all files of a host that the checks read; returns their number.
///
/// # Errors
/// The writer's errors.
pub fn record(host: &HostReading, out: impl Write) -> io::Result<usize> {
    for load in [Load::Throughput, Load::Latency, Load::Connections, Load::Density] {
        let _looked = plan(host, &audit(host, load), &Allowed::up_to(Risk::Reboot));
    }
    let seen = host.seen();
    let above = |path: &str| -> Vec<String> {
        path.match_indices('/').skip(1).map(|(at, _)| path[..at].to_owned()).collect()
    };
    // A path with others below it is written as a directory, whatever it is on the host.
    let parents: BTreeSet<String> = seen.keys().flat_map(|path| above(path)).collect();
    let mut archive = Builder::new(out);
    for path in &parents {
        append(&mut archive, path, EntryType::Directory, b"")?;
    }
    let mut count = 0;
    for (path, seen) in seen.iter().filter(|(path, _)| !parents.contains(*path)) {
        match seen {
            Seen::Text(text) => append(&mut archive, path, EntryType::Regular, text.as_bytes())?,
            Seen::File => append(&mut archive, path, EntryType::Regular, b"")?,
            Seen::Directory => append(&mut archive, path, EntryType::Directory, b"")?,
            Seen::Link(to) => {
                let mut header = header(EntryType::Symlink, 0);
                archive.append_link(&mut header, path.trim_start_matches('/'), to)?;
            }
        }
        count += 1;
    }
    archive.into_inner()?.flush()?;
    Ok(count)
}

fn header(kind: EntryType, size: usize) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(if kind == EntryType::Directory { 0o755 } else { 0o644 });
    header.set_size(size as u64);
    header
}

fn append(
    archive: &mut Builder<impl Write>,
    path: &str,
    kind: EntryType,
    bytes: &[u8],
) -> io::Result<()> {
    let mut header = header(kind, bytes.len());
    archive.append_data(&mut header, path.trim_start_matches('/'), bytes)
}
