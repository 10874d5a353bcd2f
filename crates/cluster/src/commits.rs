//! Messages that wait to be added to their streams.
//!
//! Owns their order, and sends them again after the connection was lost: each has an identifier by which its stream
//! recognises it. Never decides a position.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use channels::{ClusterNode, Offer};
use sha2::{Digest, Sha256};
use wire::nats::{put_first_line, put_header};

use crate::body;
use crate::limits::{COMMIT_BYTES, COMMITS};
use crate::speech::{Request, Speech};
use crate::subjects::Subjects;

/// 4 MiB of commits are under way to NATS; more wait here.
const UNDER_WAY_BYTES: usize = 4 * 1024 * 1024;

/// A message to be added.
#[derive(Debug)]
struct Commit {
    number: u64,
    name: Arc<str>,
    offer: Offer,
    until_ms: u64,
}

/// The commits of a link.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    /// By order.
    open: BTreeMap<u64, Commit>,
    /// Those that were not sent over the present connection.
    unsent: BTreeSet<u64>,
    /// Those that their stream could not take, with the time at which they are sent again.
    later: BTreeSet<(u64, u64)>,
    last: u64,
    bytes: usize,
    under_way: usize,
}

/// The origin of commits without a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommitOrigin {
    pub(crate) node: ClusterNode,
    pub(crate) link: u16,
}

impl Commit {
    fn bytes(&self) -> usize {
        self.offer.body.bytes().len() + 256
    }
}

impl Commits {
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// Takes a commit. `false`: there is no room.
    pub(crate) fn add(&mut self, number: u64, name: Arc<str>, offer: Offer, until_ms: u64) -> bool {
        let commit = Commit { number, name, offer, until_ms };
        if self.open.len() >= COMMITS || self.bytes + commit.bytes() > COMMIT_BYTES {
            return false;
        }
        self.last += 1;
        self.bytes += commit.bytes();
        self.unsent.insert(self.last);
        self.open.insert(self.last, commit);
        true
    }

    /// The connection was lost: all are sent again over the next one.
    pub(crate) fn forget_sent(&mut self) {
        self.unsent.extend(self.open.keys());
        self.later.clear();
        self.under_way = 0;
    }

    /// Sends what may be sent.
    pub(crate) fn send(
        &mut self,
        speech: &mut Speech,
        subjects: &Subjects,
        origin: CommitOrigin,
        now_ms: u64,
    ) {
        while let Some((due_ms, order)) = self.later.first().copied()
            && due_ms <= now_ms
        {
            self.later.remove(&(due_ms, order));
            self.unsent.insert(order);
        }
        let (mut headers, mut payload) = (Vec::new(), Vec::new());
        while self.under_way <= UNDER_WAY_BYTES
            && let Some(order) = self.unsent.pop_first()
        {
            let Some(commit) = self.open.get(&order) else { continue };
            headers.clear();
            payload.clear();
            put_first_line(&mut headers);
            put_header(&mut headers, "Nats-Msg-Id", &identifier(commit, order, origin));
            headers.extend_from_slice(b"\r\n");
            body::put_message(&commit.offer.body, &mut payload);
            let subject = subjects.kept(&commit.name);
            let _number = speech.request(&subject, &headers, &payload, Request::Commit(order));
            self.under_way += commit.bytes();
        }
    }

    /// The channel of a commit.
    pub(crate) fn name(&self, order: u64) -> Option<&Arc<str>> {
        Some(&self.open.get(&order)?.name)
    }

    /// A stream could not take one that was sent: it is sent again at this time.
    pub(crate) fn retry(&mut self, order: u64, due_ms: u64) {
        if let Some(commit) = self.open.get(&order) {
            self.under_way = self.under_way.saturating_sub(commit.bytes());
            self.later.insert((due_ms, order));
        }
    }

    /// One that was sent is done with; returns its number.
    pub(crate) fn finish(&mut self, order: u64) -> Option<u64> {
        let commit = self.open.remove(&order)?;
        self.bytes -= commit.bytes();
        if !self.unsent.remove(&order) {
            self.under_way = self.under_way.saturating_sub(commit.bytes());
        }
        Some(commit.number)
    }

    /// The numbers of those that have waited too long.
    pub(crate) fn take_late(&mut self, now_ms: u64) -> Vec<u64> {
        let mut late = Vec::new();
        // All wait equally long, so the first is the first that is late.
        while let Some((order, commit)) = self.open.first_key_value()
            && commit.until_ms <= now_ms
        {
            let order = *order;
            let was_later = self.later.iter().find(|(_, later)| *later == order).copied();
            if let Some(entry) = was_later {
                self.later.remove(&entry);
                self.unsent.insert(order);
            }
            late.extend(self.finish(order));
        }
        late
    }

    /// When the next one is late, or to be sent again.
    pub(crate) fn next_due_ms(&self) -> Option<u64> {
        let again = self.later.first().map(|(due_ms, _)| *due_ms);
        let late = self.open.first_key_value().map(|(_, commit)| commit.until_ms);
        again.into_iter().chain(late).min()
    }
}

/// The identifier of a commit: of its key in its channel, or its own.
fn identifier(commit: &Commit, order: u64, origin: CommitOrigin) -> String {
    match &commit.offer.key {
        None => format!("{:x}-{}-{order:x}", origin.node.0, origin.link),
        Some(key) => {
            let digest = Sha256::new()
                .chain_update(commit.name.as_bytes())
                .chain_update([0])
                .chain_update(key.as_bytes())
                .finalize();
            digest[..16].iter().fold("k".to_owned(), |text, byte| text + &format!("{byte:02x}"))
        }
    }
}
