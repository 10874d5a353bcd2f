//! A file in memory (memfd_create(2)), for functions that take nothing but a path.
//!
//! Owns how it is made. It is gone when it is closed.
#![expect(
    clippy::disallowed_types,
    reason = "its path leads to the table of the process, which no scheduler needs to share"
)]

use std::ffi::CStr;
use std::fs::File;
use std::io;

use rustix::fs::{MemfdFlags, memfd_create};

/// Makes an empty one; the name is for those who list descriptors. Its path is `/proc/self/fd/NUMBER`.
///
/// # Errors
/// No descriptor, or no memory.
pub fn create(name: &CStr) -> io::Result<File> {
    Ok(File::from(memfd_create(name, MemfdFlags::CLOEXEC)?))
}
