//! The agreements of several generators of a run.
//!
//! Owns the two questions. A generator that is alone answers them itself.

use sys::clock::monotonic_ns;

use crate::limits::LIVE_NS;
use crate::run::RunError;

/// When publishing begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// By the monotonic clock of this host.
    pub begin_ns: u64,
    /// The nanoseconds to add to the clock of each generator to get this host's.
    pub clocks: Vec<i64>,
}

/// The agreements of the generators of a run.
pub trait Conductor {
    /// This many subscribers of this generator are open, and no more will be: when does publishing begin?
    ///
    /// # Errors
    /// If the others cannot be heard.
    fn start(&mut self, open: u64) -> Result<Start, RunError>;

    /// Publishers have published so many messages, by their numbers, and this generator will publish no more: how many
    /// have all of them published?
    ///
    /// # Errors
    /// If the others cannot be heard.
    fn published(&mut self, own: Vec<u64>) -> Result<Vec<u64>, RunError>;
}

/// The only generator of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Conductor for Alone {
    fn start(&mut self, _: u64) -> Result<Start, RunError> {
        Ok(Start { begin_ns: monotonic_ns() + LIVE_NS, clocks: vec![0] })
    }

    fn published(&mut self, own: Vec<u64>) -> Result<Vec<u64>, RunError> {
        Ok(own)
    }
}
