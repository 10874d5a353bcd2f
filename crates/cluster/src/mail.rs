//! Mail of a node's store to the stores of other nodes.
//!
//! Owns how much of it may be under way to NATS, so that messages of channels wait for no more than that. Never keeps
//! what cannot be sent: a store asks again for what it has missed. Knows no store: bytes are bytes.

use std::collections::VecDeque;

use crate::limits::{MAIL_BYTES, MAIL_UNDER_WAY};
use crate::speech::{Said, Speech};
use crate::stats::LinkStats;
use crate::subjects::Subjects;

/// The mail that a store sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreMail {
    /// To the stores of all other nodes.
    Everyone(Vec<u8>),
    /// To the store with this number.
    One(u64, Vec<u8>),
}

impl StoreMail {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Everyone(bytes) | Self::One(_, bytes) => bytes,
        }
    }
}

/// The news that a store hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreMailNews {
    /// Bytes of another store.
    Heard(Vec<u8>),
    /// Mail is lost from now on.
    Away,
    /// It is carried again.
    Back,
}

/// The mail of a link.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    waiting: VecDeque<StoreMail>,
    waiting_bytes: usize,
    /// The mail that NATS has not confirmed: the question that it answers after it, and its bytes.
    under_way: VecDeque<(u64, usize)>,
    news: Vec<StoreMailNews>,
}

impl Mail {
    /// Takes what belongs together. Too much that waits: all of it is lost, because a part is of no use.
    pub(crate) fn add(&mut self, mail: Vec<StoreMail>, stats: &mut LinkStats) {
        if self.waiting_bytes >= MAIL_BYTES {
            stats.mail_dropped += mail.len() as u64;
            return;
        }
        self.waiting_bytes += mail.iter().map(|one| one.bytes().len()).sum::<usize>();
        self.waiting.extend(mail);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Sends what may be under way. Returns whether something was too long for the server.
    pub(crate) fn send(
        &mut self,
        speech: &mut Speech,
        subjects: &Subjects,
        max_payload: usize,
        stats: &mut LinkStats,
    ) -> bool {
        let mut room =
            MAIL_UNDER_WAY.saturating_sub(self.under_way.iter().map(|(_, bytes)| bytes).sum());
        let (mut said, mut is_too_long) = (0, false);
        while room > 0 {
            let Some(mail) = self.waiting.pop_front() else { break };
            let bytes = mail.bytes();
            self.waiting_bytes -= bytes.len();
            let subject = match &mail {
                StoreMail::Everyone(_) => subjects.stores(),
                StoreMail::One(store, _) => subjects.store(*store),
            };
            let fits = bytes.len() <= max_payload;
            is_too_long |= !fits;
            if fits && speech.publish(&subject, bytes) == Said::Yes {
                stats.mail_sent += 1;
                said += bytes.len();
                room = room.saturating_sub(bytes.len());
            } else {
                stats.mail_dropped += 1;
            }
        }
        if said > 0 {
            self.under_way.push_back((speech.ping(), said));
        }
        is_too_long
    }

    /// The server has answered this question, and what was sent before.
    pub(crate) fn on_pong(&mut self, answered: u64) {
        while self.under_way.pop_front_if(|(ping, _)| *ping <= answered).is_some() {}
    }

    pub(crate) fn hear(&mut self, bytes: &[u8]) {
        self.news.push(StoreMailNews::Heard(bytes.to_vec()));
    }

    pub(crate) fn lose_connection(&mut self, stats: &mut LinkStats) {
        stats.mail_dropped += self.waiting.len() as u64;
        self.waiting.clear();
        self.waiting_bytes = 0;
        self.under_way.clear();
        self.news.push(StoreMailNews::Away);
    }

    pub(crate) fn come_back(&mut self) {
        self.news.push(StoreMailNews::Back);
    }

    pub(crate) fn take_news(&mut self) -> Vec<StoreMailNews> {
        std::mem::take(&mut self.news)
    }
}
