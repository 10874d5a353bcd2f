//! Orders of a scheduler to an upload helper, and the replies.
//!
//! All orders of a form go to one helper, in order.

use runtime::slots::ProcessId;
use sys::spool::{Existing, SpoolFault};

use super::fault::Fault;

/// A form's number, among those of its scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FormId(pub(super) u64);

/// Something to be done with a file of a form.
#[derive(Debug)]
pub struct Order {
    pub(super) form: FormId,
    /// Who is to hear of it.
    pub(super) process: ProcessId,
    pub(super) act: Act,
}

/// What is to be done. Files are numbered in the order in which they began, from 0.
#[derive(Debug)]
pub(super) enum Act {
    /// Append to the file; make it first, where it is the next one.
    Write { file: usize, bytes: Vec<u8>, after: After },
    /// Give it a name of its own.
    Save { file: usize, name: String, existing: Existing },
    /// Give its first bytes back.
    Read { file: usize, most: usize },
    /// The form is done with: files without a name of their own go. Nobody hears of it.
    Forget,
}

/// What follows the bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// More of it.
    More,
    /// Nothing: it is whole.
    End,
}

/// What became of an order.
#[derive(Debug)]
pub struct Report {
    pub(super) form: FormId,
    pub(super) process: ProcessId,
    pub(super) outcome: OrderResult,
}

/// What became of it.
#[derive(Debug)]
pub(super) enum OrderResult {
    /// It is written; the buffer comes back empty, to be used again.
    Written(Vec<u8>),
    /// It could not be written.
    Lost(Fault),
    /// It has the name, or not.
    Saved(Result<String, SpoolFault>),
    /// Its first bytes.
    Read(Result<Vec<u8>, SpoolFault>),
}
