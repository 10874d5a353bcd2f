//! Which subscriptions the server has taken: it answers a PING that was sent behind them.
//!
//! Owns which of them wait for which PING. Never subscribes.

use std::collections::VecDeque;
use std::sync::Arc;

use ahash::HashMap;

use crate::speech::Speech;

/// The target of a subscription: a channel, or all of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Awaited {
    Channel(Arc<str>),
    All,
}

/// The subscriptions that the server has not confirmed.
#[derive(Debug, Default)]
pub(crate) struct Confirmations {
    /// In order: each with the number of the PING behind it.
    line: VecDeque<(u64, Awaited)>,
    /// The number of the last one of each, if it was not taken back.
    open: HashMap<Awaited, u64>,
}

impl Confirmations {
    /// A connection begins.
    pub(crate) fn begin(&mut self) {
        *self = Self::default();
    }

    /// It was subscribed to this, before this PING.
    pub(crate) fn expect(&mut self, awaited: Awaited, ping: u64) {
        self.open.insert(awaited.clone(), ping);
        self.line.push_back((ping, awaited));
    }

    /// No longer.
    pub(crate) fn forget(&mut self, awaited: &Awaited) {
        self.open.remove(awaited);
    }

    /// Sends the next PING if a subscription waits for it.
    pub(crate) fn ask(&self, speech: &mut Speech) {
        if self.line.back().is_some_and(|(number, _)| *number == speech.next_ping()) {
            speech.ping();
        }
    }

    /// The server has answered this PING: what it has taken.
    pub(crate) fn answered(&mut self, ping: u64) -> Vec<Awaited> {
        let mut taken = Vec::new();
        while let Some((number, awaited)) = self.line.pop_front_if(|(of, _)| *of <= ping) {
            if self.open.get(&awaited) == Some(&number) {
                self.open.remove(&awaited);
                taken.push(awaited);
            }
        }
        taken
    }
}
