//! A connection to another server, as a process.
//!
//! Owns the state of one connection. Its fetch belongs to the client; `events` says which event
//! means what.

use std::net::SocketAddr;

use runtime::slots::ProcessId;

use super::outcome::Number;

/// A connection to another server.
#[derive(Debug)]
pub struct Outbound {
    pub(super) id: ProcessId,
    pub(super) address: SocketAddr,
    /// Its current fetch; `None` while it is idle.
    pub(super) fetch: Option<Number>,
    pub(super) past: Past,
}

/// Whether a connection has been used before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Past {
    Fresh,
    /// It has, and the other side may close it at any time.
    Used,
}

impl Outbound {
    /// Whether it is idle and waits to be reused.
    pub fn is_idle(&self) -> bool {
        self.fetch.is_none()
    }
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The other side ended its output.
    Orderly,
    /// It failed, or was closed here.
    Broken,
}
