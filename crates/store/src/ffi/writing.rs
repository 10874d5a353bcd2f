//! Has the kernel write a part of a file, before all of it is waited for.
//!
//! Owns that call. Never promises that the disk has something.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Has the kernel write the changed pages in a part of a file, and waits until it has (sync_file_range(2)). That is no promise of the disk: fdatasync(2) is. Where the
/// file system does not know it, nothing is done.
///
/// # Errors
/// When pages could not be written. The next fdatasync(2) does not report it again.
#[expect(unsafe_code, reason = "rustix has no such call")]
pub(crate) fn write_out(file: impl AsFd, from: u64, bytes: usize) -> io::Result<()> {
    let (from, bytes) = (i64::try_from(from).unwrap_or(i64::MAX), bytes as i64);
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let file = file.as_fd().as_raw_fd();
    // SAFETY: the call takes no pointer, and the descriptor is borrowed for its time.
    let done = unsafe { libc::sync_file_range(file, from, bytes, flags) };
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        _ if done == 0 => Ok(()),
        Some(libc::ENOSYS | libc::EINVAL | libc::ESPIPE) => Ok(()),
        _ => Err(error),
    }
}
