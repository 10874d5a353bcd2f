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
    /// What it works for; nothing while it is idle.
    pub(super) fetch: Option<Number>,
    pub(super) past: Past,
}

/// Whether a connection has answered before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Past {
    Fresh,
    /// It has, and the other side may give it up at any time.
    Used,
}

impl Outbound {
    /// Whether it only waits to be used again.
    pub fn is_idle(&self) -> bool {
        self.fetch.is_none()
    }
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The other side has said that nothing more comes.
    Orderly,
    /// It broke, or was closed here.
    Broken,
}
