//! A connection to another server, as a process.
//!
//! Owns the state of one connection. Its exchange belongs to the client; `events` says which event
//! means what.

use std::net::IpAddr;
use std::rc::Rc;

use runtime::slots::ProcessId;
use runtime::transport::Violation;

use crate::id::ExchangeId;
use crate::origin::Destination;

/// A connection to another server.
#[derive(Debug)]
pub struct Outbound {
    pub(crate) id: ProcessId,
    pub(crate) to: Rc<Destination>,
    pub(crate) address: IpAddr,
    /// Its current exchange; `None` while it is idle.
    pub(crate) exchange: Option<ExchangeId>,
    pub(crate) past: Past,
}

/// A connection that was requested from the scheduler, for this exchange.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(crate) exchange: ExchangeId,
    pub(crate) to: Rc<Destination>,
    pub(crate) address: IpAddr,
}

/// What a connection has done before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Past {
    /// It is not established, or its handshake is not over.
    Connecting,
    /// It serves its first exchange.
    Fresh,
    /// It has served one, and the other side may close it at any time.
    Used,
}

impl Outbound {
    /// Whether it is idle and waits to be used again.
    pub fn is_idle(&self) -> bool {
        self.exchange.is_none()
    }
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The other side ended its output.
    Orderly,
    /// It failed, or was closed here.
    Broken,
    /// Its transport says why it cannot go on.
    Refused(Violation),
}
