//! A snapshot that a replica takes from its leader.
//!
//! Owns its pieces and the records that follow them, in a file until all are there. Never writes the store.

use std::path::Path;
use std::sync::Arc;

use super::post::Post;
use crate::failure::StoreFailure;
use crate::limits::ASK_AGAIN_MS;
use crate::replication::{
    CommitRecord, ReplicationPeer, SnapshotCursor, SnapshotEnd, SnapshotPiece, SnapshotSpool,
    StorePosition, Talk, Unfollowed,
};

#[derive(Debug)]
pub(super) struct Taking {
    leader: ReplicationPeer,
    load: u64,
    spool: SnapshotSpool,
    /// Where the next piece begins; `None` when all are there.
    cursor: Option<SnapshotCursor>,
    /// After the last record that is there; `None` before the first piece.
    follows: Option<StorePosition>,
    end: SnapshotEnd,
    asked_ms: u64,
}

impl Taking {
    pub(super) fn begin(
        directory: &Path,
        post: &mut Post,
        leader: ReplicationPeer,
        now_ms: u64,
    ) -> Result<Self, StoreFailure> {
        let spool = SnapshotSpool::begin(directory)?;
        let mut taking = Self {
            leader,
            load: post.next_number(),
            spool,
            cursor: Some(SnapshotCursor::default()),
            follows: None,
            end: SnapshotEnd::default(),
            asked_ms: now_ms,
        };
        taking.want(post, now_ms);
        Ok(taking)
    }

    /// The node from which it comes.
    pub(super) fn leader(&self) -> ReplicationPeer {
        self.leader
    }

    /// After the last record that is there; `None` before the first piece.
    pub(super) fn follows(&self) -> Option<StorePosition> {
        self.follows
    }

    fn want(&mut self, post: &mut Post, now_ms: u64) {
        if let Some(cursor) = self.cursor.clone() {
            self.asked_ms = now_ms;
            post.tell(self.leader, &Talk::Want { load: self.load, cursor });
        }
    }

    /// Takes a piece, and asks for the next one.
    pub(super) fn on_piece(
        &mut self,
        post: &mut Post,
        (load, cursor): (u64, &SnapshotCursor),
        piece: SnapshotPiece,
        now_ms: u64,
    ) -> Result<(), StoreFailure> {
        if load != self.load || self.cursor.as_ref() != Some(cursor) {
            return Ok(());
        }
        self.spool.add_piece(&piece.changes)?;
        self.follows.get_or_insert(piece.end.position);
        (self.cursor, self.end) = (piece.next, piece.end);
        self.want(post, now_ms);
        Ok(())
    }

    /// Takes the next record.
    pub(super) fn add(
        &mut self,
        record: &CommitRecord<'_>,
        bytes: &Arc<[u8]>,
    ) -> Result<Result<(), Unfollowed>, StoreFailure> {
        // Without a piece, it is not known which records are needed.
        let Some(follows) = &mut self.follows else { return Ok(Err(Unfollowed::Known)) };
        match record.after(follows) {
            Ok(next) => {
                self.spool.add_record(bytes)?;
                *follows = next;
                Ok(Ok(()))
            }
            Err(why) => Ok(Err(why)),
        }
    }

    /// Asks again for a piece that does not come.
    pub(super) fn turn(&mut self, post: &mut Post, now_ms: u64) {
        if now_ms >= self.asked_ms + ASK_AGAIN_MS {
            self.want(post, now_ms);
        }
    }

    /// Whether records are missing after the last piece.
    pub(super) fn lacks_records(&self) -> bool {
        self.cursor.is_none() && !self.is_whole()
    }

    fn is_whole(&self) -> bool {
        let last = self.end.position.number;
        self.cursor.is_none() && self.follows.is_some_and(|follows| follows.number >= last)
    }

    /// The snapshot, if it is whole.
    pub(super) fn whole(&mut self) -> Option<(&mut SnapshotSpool, SnapshotEnd)> {
        let position = self.follows.filter(|_| self.is_whole())?;
        Some((&mut self.spool, SnapshotEnd { position, ..self.end.clone() }))
    }
}
