//! The orders that a node sends, and the news that it hears.
//!
//! Owns the heads and the numbers of its messages. Never decides what is sent.

use crate::replication::{LeaderTerm, ReplicationPeer, StorePosition, Talk, TalkHead, cut};

/// An order from a node to its transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicationOrder {
    /// Carry bytes to every other node.
    Everyone(Vec<u8>),
    /// Carry bytes to one node.
    One(ReplicationPeer, Vec<u8>),
}

/// News that a node hears from its transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicationNews {
    /// Bytes of another node.
    Heard(Vec<u8>),
    /// The transport carries nothing now.
    Away,
    /// It carries again; what was sent meanwhile is lost.
    Back,
}

/// The time, as two clocks show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplicationMoment {
    /// Milliseconds of a clock that nobody sets.
    pub ms: u64,
    /// Milliseconds since 1970.
    pub unix_ms: u64,
}

/// The messages of a node that are not taken yet.
#[derive(Debug)]
pub(super) struct Post {
    head: TalkHead,
    number: u64,
    out: Vec<ReplicationOrder>,
}

impl Post {
    pub(super) fn new(me: ReplicationPeer, heard: LeaderTerm) -> Self {
        let head = TalkHead { from: me, heard, ..TalkHead::default() };
        Self { head, number: 0, out: Vec::new() }
    }

    /// The head of its messages.
    pub(super) fn head(&self) -> TalkHead {
        self.head
    }

    /// Its messages are of the history of this position; `None`: of none yet.
    pub(super) fn join(&mut self, position: Option<StorePosition>) {
        self.head.origin = position.map_or(0, |position| position.origin);
    }

    /// The node has heard of a later term.
    pub(super) fn hear(&mut self, term: LeaderTerm) {
        self.head.heard = term;
    }

    /// A number that no other message or question of this node has.
    pub(super) fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    pub(super) fn tell_all(&mut self, talk: &Talk) {
        let parts = self.parts(None, talk);
        self.out.extend(parts.into_iter().map(ReplicationOrder::Everyone));
    }

    pub(super) fn tell(&mut self, to: ReplicationPeer, talk: &Talk) {
        let parts = self.parts(Some(to), talk);
        self.out.extend(parts.into_iter().map(|part| ReplicationOrder::One(to, part)));
    }

    fn parts(&mut self, to: Option<ReplicationPeer>, talk: &Talk) -> Vec<Vec<u8>> {
        let number = self.next_number();
        cut(self.head.from, number, &talk.encode(&TalkHead { to, ..self.head }))
    }

    pub(super) fn take(&mut self) -> Vec<ReplicationOrder> {
        std::mem::take(&mut self.out)
    }
}
