//! The other end of a connection, and the time at which it connected.
//!
//! Owns the time in a form that fits into what an idle connection costs.

use crate::clock::Now;
use sys::socket::Peer;

/// Milliseconds of a step of the time, as a power of two: an age is told to the step.
const STEP_BITS: u32 = 6;

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its address; with a PROXY header, the one that this names.
    pub peer: Peer,
    /// When it came, in steps of the monotonic clock, whose number may wrap after eight years.
    at: u32,
}

impl Arrival {
    /// One that comes now.
    pub fn new(peer: Peer, now: Now) -> Self {
        Self { peer, at: steps(now.monotonic_ms()) }
    }

    /// The same connection, whose client is somebody else.
    #[must_use]
    pub fn with_peer(self, peer: Peer) -> Self {
        Self { peer, ..self }
    }

    /// For how many milliseconds it has been there.
    pub fn age_ms(self, now_ms: u64) -> u64 {
        u64::from(steps(now_ms).wrapping_sub(self.at)) << STEP_BITS
    }
}

fn steps(ms: u64) -> u32 {
    (ms >> STEP_BITS) as u32
}
