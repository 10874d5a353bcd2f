//! How many fetches a scheduler may have, and how many of them may be for processes and streams.
//!
//! Owns these limits, and the number of fetches of processes. Never ends a fetch.

use super::request::{Asked, Owner, Wanted};
use crate::limits::{
    FETCH_PART_OF_CONNECTIONS, FETCH_PART_OF_PROCESSES, FETCH_PART_OF_STREAMS, FETCHES,
};

/// The limits.
#[derive(Debug)]
pub(super) struct Share {
    most: usize,
    of_processes: usize,
}

impl Default for Share {
    fn default() -> Self {
        Self { most: FETCHES, of_processes: 0 }
    }
}

impl Share {
    /// Limits the fetches to a part of the scheduler's connections.
    pub(super) fn set_connections(&mut self, connections: usize) {
        self.most = (connections / FETCH_PART_OF_CONNECTIONS).clamp(1, FETCHES);
    }

    /// Whether there is room for one more fetch beside this many, of which so many are streams.
    pub(super) fn has_room_for(&self, asked: &Asked, fetches: usize, streams: usize) -> bool {
        // At least one of each kind, even with very few connections.
        let is_below = |count: usize, part: usize| count < (self.most / part).max(1);
        let fits_owner = match asked.owner {
            Owner::Request => true,
            Owner::Process => is_below(self.of_processes, FETCH_PART_OF_PROCESSES),
        };
        let fits_streams = match asked.wanted {
            Wanted::Whole => true,
            Wanted::Pieces => is_below(streams, FETCH_PART_OF_STREAMS),
        };
        fetches < self.most && fits_owner && fits_streams
    }

    pub(super) fn add(&mut self, owner: Owner) {
        self.of_processes += usize::from(owner == Owner::Process);
    }

    pub(super) fn remove(&mut self, owner: Owner) {
        self.of_processes -= usize::from(owner == Owner::Process);
    }
}
