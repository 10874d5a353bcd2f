//! The names of the kernel's functions, kept readable for a program that gives its rights away.
//!
//! Owns the list, which the kernel shows to whoever opened it. Finds no name.
#![expect(
    clippy::disallowed_types,
    reason = "the threads that use it are no schedulers, and share the table of the process"
)]

use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

/// The list, opened while its numbers were not hidden from the program.
#[derive(Debug)]
pub struct KernelNames(File);

/// A copy of it that can be opened by its path as long as this lives.
pub(crate) struct Copied(File);

impl KernelNames {
    /// Opens it.
    ///
    /// # Errors
    /// There is no such file.
    pub fn open() -> io::Result<Self> {
        File::open("/proc/kallsyms").map(Self)
    }

    /// A copy in memory, some megabytes: opened anew, the list itself would hide its numbers from the rights of now.
    pub(crate) fn copy(&self) -> io::Result<Copied> {
        let mut copied = sys::memory_file::create(c"kallsyms")?;
        let mut list = &self.0;
        list.rewind()?;
        io::copy(&mut list, &mut copied)?;
        Ok(Copied(copied))
    }
}

impl Copied {
    pub(crate) fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }
}
