//! How long the parts of an exchange may take, and the order in which exchanges are due.
//!
//! Owns the list of times. Never ends an exchange.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::id::ExchangeId;
use crate::limits::{CONNECT_TIME, HEAD_TIME, PAUSE_TIME};

/// How long the parts of an exchange may take; `None`: no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// Name, waiting line and handshake.
    pub connect: Option<Duration>,
    /// From the complete request to the first byte of the answer.
    pub head: Option<Duration>,
    /// Between two bytes that the other server sends or takes. A requester that does not take or send stops this clock.
    pub pause: Option<Duration>,
    /// All of it.
    pub whole: Option<Duration>,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            connect: Some(CONNECT_TIME),
            head: Some(HEAD_TIME),
            pause: Some(PAUSE_TIME),
            whole: None,
        }
    }
}

impl Deadlines {
    /// Only all of it has a limit.
    pub fn whole(span: Duration) -> Self {
        Self { connect: None, head: None, pause: None, whole: Some(span) }
    }
}

/// The exchanges by the time at which they have to be looked at. A time may be too early, because moving one back on
/// each piece of an answer would cost more than to look once in vain.
#[derive(Debug, Default)]
pub(crate) struct Agenda(BTreeSet<(u64, ExchangeId)>);

impl Agenda {
    /// Moves an exchange from the time it is listed under, if at all, to an earlier one.
    pub(crate) fn advance(&mut self, id: ExchangeId, listed_ns: &mut u64, due_ns: u64) {
        if due_ns < *listed_ns {
            self.0.remove(&(*listed_ns, id));
            self.0.insert((due_ns, id));
            *listed_ns = due_ns;
        }
    }

    /// Removes an exchange.
    pub(crate) fn remove(&mut self, id: ExchangeId, listed_ns: u64) {
        self.0.remove(&(listed_ns, id));
    }

    /// Takes the first exchange whose time has come.
    pub(crate) fn take_due(&mut self, now_ns: u64) -> Option<ExchangeId> {
        let first = self.0.first().copied().filter(|(due_ns, _)| *due_ns <= now_ns)?;
        self.0.remove(&first);
        Some(first.1)
    }

    /// When there is something to look at.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        self.0.first().map(|(due_ns, _)| *due_ns)
    }
}
