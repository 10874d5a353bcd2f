//! The pace of handshakes: how much of a turn transports may compute before they have agreed, and how many may be under
//! way.
//!
//! Owns the share of a turn. A handshake costs a hundred times what a request costs, so it never runs among the events:
//! it waits in the run queue, behind those that came before it, and goes on in the next turn when the share is used up.
//! Never runs a process.

use crate::began::Began;
use crate::limits::{HANDSHAKE_TICKS_PER_TURN, HANDSHAKES_MAX};

/// The handshakes of a scheduler.
#[derive(Debug, Default)]
pub(super) struct Handshakes {
    /// Ticks of this turn's share that are left; `None`: it is not their time.
    left: Option<u64>,
    /// Those under way of connections that were accepted. Of others, their service has a bound.
    accepted: u64,
    /// One of these has come to its end since this was asked.
    has_room: bool,
}

impl Handshakes {
    /// Their time in a turn begins.
    #[inline]
    pub(super) fn open(&mut self) {
        self.left = Some(HANDSHAKE_TICKS_PER_TURN);
    }

    /// Their time in a turn is over.
    pub(super) fn close(&mut self) {
        self.left = None;
    }

    /// Whether another one may compute now.
    pub(super) fn may_run(&self) -> bool {
        self.left.is_some_and(|left| left > 0)
    }

    /// One has computed for this long.
    pub(super) fn charge(&mut self, ticks: u64) {
        self.left = self.left.map(|left| left.saturating_sub(ticks));
    }

    /// One has begun.
    pub(super) fn note_begin(&mut self, began: Began) {
        self.accepted += u64::from(began == Began::Peer);
    }

    /// One has come to its end, whatever that was.
    pub(super) fn note_end(&mut self, began: Began) {
        if began == Began::Peer {
            self.accepted -= 1;
            self.has_room = true;
        }
    }

    /// Whether one of an accepted connection has come to its end since this was asked last.
    #[inline]
    pub(super) fn take_room(&mut self) -> bool {
        std::mem::take(&mut self.has_room)
    }

    /// Whether no further connection may be accepted that begins with one.
    pub(super) fn is_full(&self) -> bool {
        self.accepted >= HANDSHAKES_MAX
    }
}
