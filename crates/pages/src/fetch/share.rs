//! How many fetches a scheduler may have, and how many of them may be for processes and streams.
//!
//! Owns these limits, and the numbers of fetches of processes and of streams. Never ends a fetch.

use super::asked::{FetchOwner, FetchRequest, ResponseDelivery};
use crate::limits::{
    FETCH_PART_OF_CONNECTIONS, FETCH_PART_OF_PROCESSES, FETCH_PART_OF_STREAMS, FETCHES,
};

/// The limits.
#[derive(Debug)]
pub(super) struct Share {
    most: usize,
    of_processes: usize,
    streams: usize,
}

impl Default for Share {
    fn default() -> Self {
        Self { most: FETCHES, of_processes: 0, streams: 0 }
    }
}

impl Share {
    /// Limits the fetches to a part of the scheduler's connections.
    pub(super) fn set_connections(&mut self, connections: usize) {
        self.most = (connections / FETCH_PART_OF_CONNECTIONS).clamp(1, FETCHES);
    }

    /// Whether there is room for one more fetch beside this many.
    pub(super) fn has_room_for(&self, asked: &FetchRequest, fetches: usize) -> bool {
        // At least one of each kind, even with very few connections.
        let is_below = |count: usize, part: usize| count < (self.most / part).max(1);
        let fits_owner = match asked.owner {
            FetchOwner::Request => true,
            FetchOwner::Process => is_below(self.of_processes, FETCH_PART_OF_PROCESSES),
        };
        let fits_streams = match asked.wanted {
            ResponseDelivery::Whole => true,
            ResponseDelivery::Pieces => is_below(self.streams, FETCH_PART_OF_STREAMS),
        };
        fetches < self.most && fits_owner && fits_streams
    }

    pub(super) fn add(&mut self, asked: &FetchRequest) {
        self.of_processes += usize::from(asked.owner == FetchOwner::Process);
        self.streams += usize::from(asked.wanted == ResponseDelivery::Pieces);
    }

    pub(super) fn remove(&mut self, owner: FetchOwner, wanted: ResponseDelivery) {
        self.of_processes -= usize::from(owner == FetchOwner::Process);
        self.streams -= usize::from(wanted == ResponseDelivery::Pieces);
    }
}
