//! The messages between the nodes of a store, as bytes.
//!
//! Owns the encoding. Every message names its history, its sender and the last term that the sender has heard of, so
//! that whoever hears any message of a later term knows that its own has ended. A sum at the end tells damage.

use std::sync::Arc;

use super::bytes::{ByteReader, Coded, Cut, coded};
use super::place::{LeaderTerm, StorePosition};
use crate::checksum::sum;

/// The version of the encoding.
const VERSION: u8 = 1;

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TalkUnread {
    /// They are not what was sent.
    Damaged,
    /// They are of another version of the encoding, whatever it looks like behind its number.
    OtherVersion(u8),
}

impl From<Cut> for TalkUnread {
    fn from(_: Cut) -> Self {
        Self::Damaged
    }
}

/// A node, as long as its program runs: a random number, another one after each start. So nothing that was meant for
/// an earlier program is done by a later one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplicationPeer(pub u64);

/// The head of every message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TalkHead {
    /// The history; 0 if the sender has none yet.
    pub(crate) origin: u64,
    pub(crate) from: ReplicationPeer,
    /// The receiver: what was meant for a program that has ended is not for the next one. `None`: everyone.
    pub(crate) to: Option<ReplicationPeer>,
    pub(crate) heard: LeaderTerm,
}

/// A place in a snapshot: behind this key of this database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotCursor {
    /// The name of the database; the first one, if it is empty.
    pub database: String,
    /// The key; before the first one, if it is empty.
    pub key: Vec<u8>,
}

/// The facts about the state of a store after a commit, beside its records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotEnd {
    /// The commit.
    pub position: StorePosition,
    /// The part of the highest version that counts transactions.
    pub top: u64,
    /// The last terms, and the number of the record after which each began.
    pub starts: Vec<(LeaderTerm, u64)>,
}

/// A piece of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotPiece {
    /// The commit that it shows.
    pub end: SnapshotEnd,
    /// Changes that write its records.
    pub changes: Vec<u8>,
    /// Where the next piece begins; `None` after the last one.
    pub next: Option<SnapshotCursor>,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Talk {
    /// The receiver has missed a term.
    Hello,
    /// The sender leads, and is here.
    Lead { time_ms: u64, position: StorePosition },
    /// Records, and where the leader is. `answer` is the question that they answer; 0 if they are new.
    Records { answer: u64, last: StorePosition, records: Vec<Arc<[u8]>> },
    /// A replica is here and wants to go on from its position. With it are the terms that it has had, and the number of
    /// the record after which each began.
    Ask { ask: u64, position: Option<StorePosition>, starts: Vec<(LeaderTerm, u64)> },
    /// It cannot go on and needs a snapshot. Its history is that of the leader up to `shared`.
    Take { ask: u64, shared: u64 },
    /// A replica wants the piece that begins there.
    Want { load: u64, cursor: SnapshotCursor },
    /// The piece that begins there.
    Piece { load: u64, cursor: SnapshotCursor, piece: SnapshotPiece },
    /// Orders of a replica's clients. The numbers of a node's messages grow, so none is executed twice.
    Orders { order: u64, bytes: Vec<u8> },
    /// Their results, which all are in the store of the leader at this position.
    Done { order: u64, at: StorePosition, bytes: Vec<u8> },
    /// A replica is to lead: the leader executes nothing for a while.
    HandOver { ask: u64 },
    /// It does not, and this is its last commit.
    HandedOver { ask: u64, position: StorePosition },
}

impl Talk {
    /// The bytes of the message.
    pub(crate) fn encode(&self, head: &TalkHead) -> Vec<u8> {
        let mut out = vec![VERSION];
        head.put(&mut out);
        self.put(&mut out);
        sum(&out).put(&mut out);
        out
    }

    /// The message that these bytes are.
    pub(crate) fn decode(bytes: &[u8]) -> Result<(TalkHead, Self), TalkUnread> {
        let (summed, last) = bytes.split_last_chunk().ok_or(TalkUnread::Damaged)?;
        if sum(summed) != u64::from_le_bytes(*last) {
            return Err(TalkUnread::Damaged);
        }
        let mut bytes = ByteReader::new(summed);
        let version = bytes.u8()?;
        if version != VERSION {
            return Err(TalkUnread::OtherVersion(version));
        }
        let message = Coded::read(&mut bytes)?;
        if bytes.is_at_end() { Ok(message) } else { Err(TalkUnread::Damaged) }
    }
}

coded!(Talk {
    0 => (Self::Hello);
    1 => (Self::Lead { time_ms, position }) time_ms position;
    2 => (Self::Records { answer, last, records }) answer last records;
    3 => (Self::Ask { ask, position, starts }) ask position starts;
    4 => (Self::Take { ask, shared }) ask shared;
    5 => (Self::Want { load, cursor }) load cursor;
    6 => (Self::Piece { load, cursor, piece }) load cursor piece;
    7 => (Self::Orders { order, bytes }) order bytes;
    8 => (Self::Done { order, at, bytes }) order at bytes;
    9 => (Self::HandOver { ask }) ask;
    10 => (Self::HandedOver { ask, position }) ask position;
});

coded! {
    struct TalkHead { origin, from, to, heard }
    struct ReplicationPeer { 0 }
    struct SnapshotCursor { database, key }
    struct SnapshotEnd { position, top, starts }
    struct SnapshotPiece { end, changes, next }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_another_version_is_told_from_a_damaged_one() {
        let head = TalkHead::default();
        let mut bytes = Talk::Hello.encode(&head);
        assert_eq!(Talk::decode(&bytes), Ok((head, Talk::Hello)));
        bytes[0] = VERSION + 1;
        assert_eq!(Talk::decode(&bytes), Err(TalkUnread::Damaged), "its sum is that of another");
        // Whatever the next version has behind its number.
        let mut next = vec![VERSION + 1, 7, 7];
        sum(&next).put(&mut next);
        assert_eq!(Talk::decode(&next), Err(TalkUnread::OtherVersion(VERSION + 1)));
        for length in 0..bytes.len() {
            assert_eq!(Talk::decode(&bytes[..length]), Err(TalkUnread::Damaged));
        }
    }
}
