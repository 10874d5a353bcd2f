//! The share of a carrier's streams in a turn: one place among all that want the scheduler.
//!
//! Owns who wants something in a turn, as far as that is cheap to know, and how much each carrier's streams have had of
//! it. Never runs a process.

use super::{ExtraIndex, Extras};
use crate::limits::STREAM_RUNS_BESIDE_OTHERS;
use crate::slots::ProcessId;
use crate::stream::StreamId;

/// Processes with sockets that want something: their number, and the last of them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wishes {
    count: usize,
    last: Option<ProcessId>,
}

impl Wishes {
    /// One more, which may be no process.
    pub(crate) fn add(&mut self, process: ProcessId) {
        self.count += 1;
        self.last = Some(process);
    }

    /// The same with so many of others.
    pub(crate) fn with_others(self, count: usize) -> Self {
        Self { count: self.count + count, ..self }
    }

    /// Whether others than this carrier want something.
    fn are_beside(&self, carrier: ProcessId) -> bool {
        self.count > 1 || self.count == 1 && self.last != Some(carrier)
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
    runs: usize,
}

impl Share {
    /// One more run. `false`: they have had their share.
    fn take(&mut self, turn: u64) -> bool {
        if self.turn != turn {
            *self = Self { turn, runs: 0 };
        }
        let may = self.runs < STREAM_RUNS_BESIDE_OTHERS;
        self.runs += usize::from(may);
        may
    }
}

impl Extras {
    /// A turn begins, in which these want something.
    #[inline]
    pub(crate) fn begin_turn(&mut self, number: u64, wishes: Wishes) {
        self.turn = SharedTurn { number, wishes };
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

    /// Whether a process is a stream that has to wait for the next turn, because others want something of this one, and
    /// those of its carrier have had their share. Otherwise this is one more run.
    pub(crate) fn must_wait(&mut self, index: Option<ExtraIndex>) -> bool {
        let listing = index
            .and_then(|index| self.at(index)?.stream.as_ref())
            .and_then(|stream| stream.listing);
        let Some(listing) = listing else { return false };
        let (number, wishes) = (self.turn.number, self.turn.wishes);
        let list = self.at(listing.carrier).and_then(|extra| extra.list.as_mut());
        list.is_some_and(|list| wishes.are_beside(list.carrier) && !list.share.take(number))
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
        let taken = |share: &mut Share, turn| (0..1_000).take_while(|_| share.take(turn)).count();
        assert_eq!(taken(&mut share, 1), STREAM_RUNS_BESIDE_OTHERS);
        assert_eq!(taken(&mut share, 1), 0);
        assert_eq!(taken(&mut share, 2), STREAM_RUNS_BESIDE_OTHERS);
    }
}
