//! The question of a replica that is to lead, to the leader that it hears: stop first.
//!
//! Owns its deadline. The leader executes nothing for longer than the replica waits, so the next term begins while it
//! stands still. Never makes the store the leader.

use super::post::Post;
use crate::limits::{HAND_OVER_MS, LEAD_EVERY_MS};
use crate::replication::{ReplicationPeer, StorePosition, Talk};

/// A hand-over that has begun.
#[derive(Debug)]
pub(super) struct HandOver {
    leader: ReplicationPeer,
    ask: u64,
    began_ms: u64,
    /// The last commit of the leader, once it has answered.
    end: Option<StorePosition>,
}

/// How far a hand-over is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandOverState {
    /// It ends in so many milliseconds at the latest.
    Waiting(u64),
    /// The store has everything of its leader, whose last record has this number.
    Complete(u64),
    /// The leader was not heard.
    Silent,
    /// The leader was heard, and has not answered.
    Unanswered,
    /// The leader has answered; its last record has this number, and it is not here.
    Incomplete(u64),
}

impl HandOver {
    pub(super) fn begin(leader: ReplicationPeer, post: &mut Post, now_ms: u64) -> Self {
        let ask = post.next_number();
        post.tell(leader, &Talk::HandOver { ask });
        Self { leader, ask, began_ms: now_ms, end: None }
    }

    pub(super) fn on_answer(&mut self, from: ReplicationPeer, ask: u64, end: StorePosition) {
        if (from, ask) == (self.leader, self.ask) {
            self.end = Some(end);
        }
    }

    /// How far it is, if the store is at this position and has last heard its leader then.
    pub(super) fn state(
        &self,
        position: &StorePosition,
        heard_ms: Option<u64>,
        now_ms: u64,
    ) -> HandOverState {
        let rest_ms = (self.began_ms + HAND_OVER_MS).saturating_sub(now_ms);
        match &self.end {
            // Behind the deadline the leader may have gone on.
            Some(end) if rest_ms > 0 && end == position => HandOverState::Complete(end.number),
            _ if rest_ms > 0 => HandOverState::Waiting(rest_ms),
            Some(end) => HandOverState::Incomplete(end.number),
            // Before that it may be a message that was under way.
            None if heard_ms >= Some(self.began_ms + HAND_OVER_MS - LEAD_EVERY_MS) => {
                HandOverState::Unanswered
            }
            None => HandOverState::Silent,
        }
    }
}
