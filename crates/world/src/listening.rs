//! Where connections wait: the listeners of schedulers, and the remotes that a test plays.
//!
//! Owns their data. `gate` and `remote` have the operations.

use std::collections::VecDeque;

use sys::connect::RemoteAddress;
use sys::pollset::Token;
use sys::socket::ListenAddress;

use super::agenda::Key;

/// A listener and its queue.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) address: ListenAddress,
    pub(super) scheduler: u16,
    pub(super) token: Token,
    pub(super) open: bool,
    pub(super) refuses_new: bool,
    pub(super) reported: bool,
    /// How long a connection without bytes is held back.
    pub(super) defer_ns: u64,
    pub(super) backlog: usize,
    pub(super) deferred: usize,
    pub(super) queue: VecDeque<u32>,
}

/// An address at which a test accepts connections of schedulers.
#[derive(Debug)]
pub(super) struct Remote {
    pub(super) address: RemoteAddress,
    pub(super) waiting: VecDeque<Key>,
}
