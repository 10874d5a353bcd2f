//! What a page wants with a file of its form.
//!
//! Owns these words. The desk checks whether there is such a file.

use sys::spool::Existing;

/// An operation of a page on a file.
#[derive(Debug)]
pub struct FileWish {
    /// The number of its form.
    pub form: u64,
    /// The number of the file, from 1.
    pub file: u64,
    /// The operation.
    pub act: FileAct,
}

/// The operation.
#[derive(Debug)]
pub enum FileAct {
    /// Give it a permanent name.
    Save {
        /// The name.
        name: Vec<u8>,
        /// What to do with a file that has it.
        existing: Existing,
    },
    /// Give the page its first bytes.
    Read {
        /// Maximum number of bytes.
        most: u64,
    },
}
