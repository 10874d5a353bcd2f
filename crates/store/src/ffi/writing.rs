//! Makes the kernel write a part of a file, before fdatasync(2).
//!
//! Owns that system call. Never guarantees that anything is on disk.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Writes the changed pages of a range of a file, and waits for the writes (sync_file_range(2)). Only fdatasync(2)
/// guarantees that they are on disk. Does nothing if the file system does not support it.
///
/// # Errors
/// If pages could not be written. The next fdatasync(2) does not report this again.
#[expect(unsafe_code, reason = "rustix has no such call")]
pub(crate) fn write_out(file: impl AsFd, from: u64, bytes: usize) -> io::Result<()> {
    let (from, bytes) = (i64::try_from(from).unwrap_or(i64::MAX), bytes as i64);
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let file = file.as_fd().as_raw_fd();
    // SAFETY: the call takes no pointer, and the descriptor is borrowed for its duration.
    let done = unsafe { libc::sync_file_range(file, from, bytes, flags) };
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        _ if done == 0 => Ok(()),
        Some(libc::ENOSYS | libc::EINVAL | libc::ESPIPE) => Ok(()),
        _ => Err(error),
    }
}
