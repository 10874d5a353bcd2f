//! The share of a carrier's streams in a turn: one place among all that want the scheduler.
//!
//! Owns who wants something in a turn, as far as that is cheap to know, and how much each carrier's streams have had of
//! it. Never runs a process.

use super::{ExtraIndex, Extras, StreamList};
use crate::limits::STREAM_TICKS_BESIDE_OTHERS;
use crate::slots::ProcessId;
use crate::stream::StreamId;

/// Processes with sockets that want something: their number, and the name of the last of them as bits, if there is one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wishes {
    count: usize,
    last: u64,
}

impl Wishes {
    /// One more, which may be no process.
    #[inline]
    pub(crate) fn add(&mut self, process: ProcessId) {
        self.count += 1;
        self.last = process.to_bits();
    }

    /// The same with so many of others.
    #[inline]
    pub(crate) fn with_others(self, count: usize) -> Self {
        Self { count: self.count + count, ..self }
    }

    /// Whether others than this carrier want something.
    fn are_beside(&self, carrier: ProcessId) -> bool {
        self.count > 1 || self.count == 1 && self.last != carrier.to_bits()
    }
}

/// The turn that runs.
#[derive(Debug, Default)]
pub(super) struct SharedTurn {
    number: u64,
    wishes: Wishes,
}

/// The part of a turn that a carrier's streams have had.
#[derive(Debug, Default)]
pub(super) struct Share {
    turn: u64,
    ticks: u64,
}

impl Share {
    /// One has run in this turn for so many ticks.
    fn charge(&mut self, turn: u64, ticks: u64) {
        if self.turn != turn {
            *self = Self { turn, ticks: 0 };
        }
        self.ticks += ticks;
    }

    /// Whether they have had all of it.
    fn is_used_up(&self, turn: u64) -> bool {
        self.turn == turn && self.ticks >= STREAM_TICKS_BESIDE_OTHERS
    }
}

impl Extras {
    /// A turn begins, in which these want something.
    #[inline]
    pub(crate) fn begin_turn(&mut self, number: u64, wishes: Wishes) {
        self.turn = SharedTurn { number, wishes };
        if !self.later.is_empty() {
            self.recall_later();
        }
    }

    /// Whether anybody wants something of this turn who is no stream.
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.turn.wishes.count > 0
    }

    /// Whether others than this carrier want something of this turn.
    pub(crate) fn has_others(&self, carrier: ProcessId) -> bool {
        self.turn.wishes.are_beside(carrier)
    }

    /// A process has run for so many ticks: if it is a stream, they are of its carrier's share.
    #[inline]
    pub(crate) fn charge(&mut self, index: Option<ExtraIndex>, ticks: u64) {
        if self.is_wanted() {
            let turn = self.turn.number;
            if let Some(list) = self.list_with(index) {
                list.share.charge(turn, ticks);
            }
        }
    }

    /// Whether a process is a stream that has to wait for the next turn, because others want something of this one, and
    /// those of its carrier have had their share.
    pub(crate) fn must_wait(&mut self, index: Option<ExtraIndex>) -> bool {
        let (number, wishes) = (self.turn.number, self.turn.wishes);
        self.list_with(index)
            .is_some_and(|list| list.share.is_used_up(number) && wishes.are_beside(list.carrier))
    }

    /// The list in which a process is, if it is a stream with a carrier.
    fn list_with(&mut self, index: Option<ExtraIndex>) -> Option<&mut StreamList> {
        let listing = self.at(index?)?.stream.as_ref()?.listing?;
        self.at(listing.carrier)?.list.as_deref_mut()
    }

    /// The same for a stream.
    pub(crate) fn must_stream_wait(&mut self, id: StreamId) -> bool {
        self.is_wanted() && self.must_wait(ExtraIndex::of(id.place()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_carrier_is_no_other_for_its_streams() {
        let (carrier, other) = (ProcessId::from_bits(1), ProcessId::from_bits(2));
        let mut wishes = Wishes::default();
        assert!(!wishes.are_beside(carrier));
        wishes.add(carrier);
        assert!(!wishes.are_beside(carrier) && wishes.are_beside(other));
        assert!(wishes.with_others(1).are_beside(carrier));
    }

    #[test]
    fn a_share_is_that_of_one_turn() {
        let mut share = Share::default();
        share.charge(1, STREAM_TICKS_BESIDE_OTHERS - 1);
        assert!(!share.is_used_up(1));
        share.charge(1, 1);
        assert!(share.is_used_up(1) && !share.is_used_up(2));
        share.charge(2, 1);
        assert!(!share.is_used_up(2));
    }
}
