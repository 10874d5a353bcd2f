//! The servers that a request has met.
//!
//! Owns the set. Never chooses.

use crate::limits::SERVERS;

/// The number of a server in its upstream, in the order of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerIndex(pub u8);

/// A set of servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tried(u64);

const _: () = assert!(SERVERS <= u64::BITS as usize, "each server has a bit");

impl Tried {
    /// Adds a server.
    pub fn add(&mut self, server: ServerIndex) {
        self.0 |= bit(server);
    }

    /// Whether a server is in the set.
    pub fn has(self, server: ServerIndex) -> bool {
        self.0 & bit(server) != 0
    }
}

fn bit(server: ServerIndex) -> u64 {
    1u64.checked_shl(u32::from(server.0)).unwrap_or(0)
}
