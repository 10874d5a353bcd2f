//! Wishes of a page about a file of its form, and the orders of a scheduler to an upload helper, with the replies.
//!
//! All orders of a form go to one helper, in order.

use runtime::slots::ProcessId;
use sys::spool::{Existing, SpoolFault};

use super::fault::Fault;

/// A form's number on its scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FormId(pub(crate) u64);

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
        /// The action if a file has it.
        existing: Existing,
    },
    /// Give the page its first bytes.
    Read {
        /// Maximum number of bytes.
        most: u64,
    },
}

/// Work on a file of a form. Plain data.
#[derive(Debug)]
pub struct FileOrder {
    pub(crate) form: FormId,
    /// The process that is told the result.
    pub(crate) process: ProcessId,
    pub(crate) act: Act,
}

/// The work. Files are numbered in the order in which they began, from 0.
#[derive(Debug)]
pub(crate) enum Act {
    /// Append to the file; create it first if it is the next one.
    Write { file: usize, bytes: Vec<u8>, after: After },
    /// Give it a permanent name.
    Save { file: usize, name: String, existing: Existing },
    /// Return its first bytes.
    Read { file: usize, most: usize },
    /// The form is finished: delete its unsaved files. There is no reply.
    Forget,
}

/// Whether more bytes of a file follow these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// More of it.
    More,
    /// Nothing: it is complete.
    End,
}

/// The result of an order. Plain data.
#[derive(Debug)]
pub struct UploadReport {
    pub(crate) form: FormId,
    pub(crate) process: ProcessId,
    pub(crate) outcome: OrderResult,
}

#[derive(Debug)]
pub(crate) enum OrderResult {
    /// It was written; the empty buffer is returned for reuse.
    Written(Vec<u8>),
    /// It could not be written.
    Lost(Fault),
    /// It has the name, or an error.
    Saved(Result<String, SpoolFault>),
    /// Its first bytes.
    Read(Result<Vec<u8>, SpoolFault>),
}
