//! A connection to another server, as a process.
//!
//! Owns the state of one connection, and the numbers under which the scheduler begins one. Its exchange belongs to the
//! client; `events` says which event means what.

use std::net::IpAddr;
use std::rc::Rc;

use ahash::HashMap;
use runtime::slots::ProcessId;
use runtime::transport::Violation;

use crate::h2::Http2;
use crate::id::ExchangeId;
use crate::origin::Destination;
use crate::pool::Promise;

/// A connection to another server.
#[derive(Debug)]
pub struct Outbound {
    pub(crate) id: ProcessId,
    pub(crate) to: Rc<Destination>,
    pub(crate) address: IpAddr,
    /// Its current exchange; `None` while it is idle.
    pub(crate) exchange: Option<ExchangeId>,
    pub(crate) past: Past,
    pub(crate) purpose: Purpose,
    /// Whether others wait to share it, until it is known whether they can.
    pub(crate) promise: Promise,
    /// Its streams, if it speaks HTTP/2. Then it has no exchange of its own.
    pub(crate) h2: Option<Box<Http2>>,
}

/// A connection that was requested from the scheduler, for this exchange.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(crate) exchange: ExchangeId,
    pub(crate) to: Rc<Destination>,
    pub(crate) address: IpAddr,
    pub(crate) promise: Promise,
}

/// The connections that were requested from the scheduler and have not begun.
#[derive(Debug, Default)]
pub(crate) struct Tickets {
    open: HashMap<u64, Ticket>,
    last: u64,
}

impl Tickets {
    /// Keeps a ticket, and returns the number for the request to the scheduler.
    pub(crate) fn add(&mut self, ticket: Ticket) -> u64 {
        self.last += 1;
        self.open.insert(self.last, ticket);
        self.last
    }

    /// The ticket with this number, once.
    pub(crate) fn take(&mut self, number: u64) -> Option<Ticket> {
        self.open.remove(&number)
    }
}

/// Which exchanges a connection serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// One after the other.
    Shared,
    /// One only, because it begins with these bytes, which tell of one client.
    Private(Rc<[u8]>),
}

impl Purpose {
    /// The purpose of a connection for an exchange with this lead.
    pub(crate) fn of(lead: Option<&Rc<[u8]>>) -> Self {
        lead.map_or(Self::Shared, |lead| Self::Private(Rc::clone(lead)))
    }
}

/// The history of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Past {
    /// It is not established, or its handshake is not over.
    Connecting,
    /// It serves its first exchange, or the first ones of a shared connection.
    Fresh,
    /// It has served one, and the other side may close it at any time.
    Used,
}

impl Outbound {
    /// The address and port of its server.
    pub fn server(&self) -> String {
        self.to.place(self.address)
    }

    /// Whether it is idle and waits to be used again.
    pub fn is_idle(&self) -> bool {
        self.exchange.is_none() && self.h2.as_ref().is_none_or(|h2| h2.is_idle())
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
