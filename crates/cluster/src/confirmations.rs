//! Which subscriptions the server has taken: it answers a PING that was sent behind them.
//!
//! Owns the count of both over one connection, and who waits. Never subscribes.

use std::collections::VecDeque;
use std::sync::Arc;

use ahash::HashMap;
use wire::nats::NatsClientSaid;

use crate::speech::Speech;

/// What is subscribed to: a channel, or all of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Awaited {
    Channel(Arc<str>),
    All,
}

/// The subscriptions that the server has not confirmed.
#[derive(Debug, Default)]
pub(crate) struct Confirmations {
    pings: u64,
    pongs: u64,
    /// In order: each with the number of the PING behind it.
    line: VecDeque<(u64, Awaited)>,
    /// The number of the last one of each, if it was not taken back.
    open: HashMap<Awaited, u64>,
}

impl Confirmations {
    /// A connection begins, whose PINGs so far were answered.
    pub(crate) fn begin(&mut self) {
        *self = Self::default();
    }

    /// It was subscribed to this.
    pub(crate) fn expect(&mut self, awaited: Awaited) {
        let number = self.pings + 1;
        self.open.insert(awaited.clone(), number);
        self.line.push_back((number, awaited));
    }

    /// No longer.
    pub(crate) fn forget(&mut self, awaited: &Awaited) {
        self.open.remove(awaited);
    }

    /// Asks whether the server is there.
    pub(crate) fn ping(&mut self, speech: &mut Speech) {
        self.pings += 1;
        speech.say(&NatsClientSaid::Ping);
    }

    /// The same, if a subscription waits for it.
    pub(crate) fn ask(&mut self, speech: &mut Speech) {
        if self.line.back().is_some_and(|(number, _)| *number > self.pings) {
            self.ping(speech);
        }
    }

    /// The server has answered: what it has taken.
    pub(crate) fn answered(&mut self) -> Vec<Awaited> {
        self.pongs += 1;
        let mut taken = Vec::new();
        while let Some((number, awaited)) = self.line.pop_front_if(|(of, _)| *of <= self.pongs) {
            if self.open.get(&awaited) == Some(&number) {
                self.open.remove(&awaited);
                taken.push(awaited);
            }
        }
        taken
    }
}
