//! Messages that wait to be added to their streams.
//!
//! Owns their order, and sends them again after the connection was lost: each has an identifier by which its stream
//! recognises it. While a stream cannot take one, those behind it wait as well, so that a publisher's messages keep
//! their order. Never decides a position.

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
    shard: u16,
    /// The number of its request, if it is under way.
    request: Option<u64>,
}

/// The commits of a stream that are to be sent.
#[derive(Debug, Default)]
struct Waiting {
    orders: BTreeSet<u64>,
    /// Not before this time; 0: at once.
    due_ms: u64,
}

/// The commits of a link.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    /// By order.
    open: BTreeMap<u64, Commit>,
    /// By stream: those that were not sent over the present connection, or that it could not take.
    unsent: BTreeMap<u16, Waiting>,
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

    /// Takes a commit into this stream. `false`: there is no room.
    pub(crate) fn add(
        &mut self,
        (number, shard): (u64, u16),
        name: Arc<str>,
        offer: Offer,
        until_ms: u64,
    ) -> bool {
        let commit = Commit { number, name, offer, until_ms, shard, request: None };
        if self.open.len() >= COMMITS || self.bytes + commit.bytes() > COMMIT_BYTES {
            return false;
        }
        self.last += 1;
        self.bytes += commit.bytes();
        self.unsent.entry(shard).or_default().orders.insert(self.last);
        self.open.insert(self.last, commit);
        true
    }

    /// The connection was lost: all are sent again over the next one.
    pub(crate) fn forget_sent(&mut self) {
        self.unsent.values_mut().for_each(|waiting| waiting.due_ms = 0);
        for (order, commit) in &mut self.open {
            commit.request = None;
            self.unsent.entry(commit.shard).or_default().orders.insert(*order);
        }
        self.under_way = 0;
    }

    /// Sends what may be sent. Returns the numbers of commits that are too large for the server, which are done with.
    pub(crate) fn send(
        &mut self,
        (speech, max_payload): (&mut Speech, usize),
        subjects: &Subjects,
        origin: CommitOrigin,
        is_known: impl Fn(u16) -> bool,
        now_ms: u64,
    ) -> Vec<u64> {
        let (mut headers, mut payload) = (Vec::new(), Vec::new());
        let mut too_large = Vec::new();
        for (shard, waiting) in &mut self.unsent {
            if waiting.due_ms > now_ms || !is_known(*shard) {
                continue;
            }
            waiting.due_ms = 0;
            while self.under_way <= UNDER_WAY_BYTES
                && let Some(order) = waiting.orders.pop_first()
            {
                let Some(commit) = self.open.get_mut(&order) else { continue };
                headers.clear();
                payload.clear();
                put_first_line(&mut headers);
                put_header(&mut headers, "Nats-Msg-Id", &identifier(commit, order, origin));
                headers.extend_from_slice(b"\r\n");
                body::put_message(&commit.offer.body, &mut payload);
                self.under_way += commit.bytes();
                if headers.len() + payload.len() > max_payload {
                    too_large.push(order);
                    continue;
                }
                let subject = subjects.kept(&commit.name);
                let request = Request::Commit(order);
                commit.request = Some(speech.request(&subject, &headers, &payload, request));
            }
        }
        too_large.into_iter().filter_map(|order| self.finish(order, speech)).collect()
    }

    /// The channel of a commit.
    pub(crate) fn name(&self, order: u64) -> Option<&Arc<str>> {
        Some(&self.open.get(&order)?.name)
    }

    /// A stream could not take one that was sent: it is sent again at this time, and those behind it not before.
    pub(crate) fn retry(&mut self, order: u64, due_ms: u64) {
        if let Some(commit) = self.open.get_mut(&order) {
            commit.request = None;
            self.under_way = self.under_way.saturating_sub(commit.bytes());
            let waiting = self.unsent.entry(commit.shard).or_default();
            waiting.orders.insert(order);
            waiting.due_ms = waiting.due_ms.max(due_ms);
        }
    }

    /// One is done with; returns its number.
    pub(crate) fn finish(&mut self, order: u64, speech: &mut Speech) -> Option<u64> {
        let commit = self.open.remove(&order)?;
        self.bytes -= commit.bytes();
        let waiting = self.unsent.get_mut(&commit.shard);
        if !waiting.is_some_and(|waiting| waiting.orders.remove(&order)) {
            self.under_way = self.under_way.saturating_sub(commit.bytes());
        }
        if let Some(request) = commit.request {
            speech.close(request);
        }
        Some(commit.number)
    }

    /// The numbers of those that have waited too long.
    pub(crate) fn take_late(&mut self, speech: &mut Speech, now_ms: u64) -> Vec<u64> {
        let mut late = Vec::new();
        // All wait equally long, so the first is the first that is late.
        while let Some((order, commit)) = self.open.first_key_value()
            && commit.until_ms <= now_ms
        {
            let order = *order;
            late.extend(self.finish(order, speech));
        }
        late
    }

    /// When the next one is late, or to be sent again.
    pub(crate) fn next_due_ms(&self) -> Option<u64> {
        let again = self.unsent.values().filter(|waiting| !waiting.orders.is_empty());
        let again = again.map(|waiting| waiting.due_ms).filter(|due_ms| *due_ms > 0).min();
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
