//! Where the time of a turn goes.
//!
//! Owns the phases of the turn being timed. One turn in
//! [`TURNS_PER_SAMPLE`](crate::limits::TURNS_PER_SAMPLE) is timed phase by phase; of every turn the
//! longest run is recorded, so that the cause of a long turn is known.

use sys::clock::tick_counter;
use sys::pollset::Pollset;

use crate::limits::TURNS_PER_SAMPLE;
use crate::stats::Stats;

/// The laps of one turn.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    sampling: bool,
    lap_start: u64,
    run_start: u64,
    worst_run: u64,
    worst_kind: Option<usize>,
}

impl Sampler {
    /// A turn begins; `now` is a tick of the pollset.
    #[inline]
    pub(crate) fn begin(&mut self, turn: u64, now: u64) {
        self.sampling = turn.is_multiple_of(TURNS_PER_SAMPLE);
        self.run_start = now;
        self.lap_start = if self.sampling { tick_counter() } else { 0 };
        self.worst_run = 0;
        self.worst_kind = None;
    }

    /// In a sampled turn, adds the ticks since the last lap to a counter.
    #[inline]
    pub(crate) fn lap(&mut self, to: &mut u64) {
        if self.sampling {
            let now = tick_counter();
            *to += now.saturating_sub(self.lap_start);
            self.lap_start = now;
        }
    }

    /// A process of this kind ran until this tick of the pollset. Returns the ticks since the previous run.
    #[inline]
    pub(crate) fn end_run(&mut self, kind: usize, now: u64) -> u64 {
        let took = now.saturating_sub(self.run_start);
        self.run_start = now;
        if took > self.worst_run {
            self.worst_run = took;
            self.worst_kind = Some(kind);
        }
        took
    }

    /// The turn ends. The clock is read again only if the turn may be the longest so far.
    #[inline]
    pub(crate) fn end_turn(
        &mut self,
        started_ns: u64,
        stats: &mut Stats,
        pollset: &mut impl Pollset,
    ) {
        if self.sampling {
            stats.sampled.turns += 1;
        }
        if self.worst_run > stats.longest_run_ticks {
            stats.longest_run_ticks = self.worst_run;
            stats.longest_turn_kind = self.worst_kind;
            let took = pollset.monotonic_ns().saturating_sub(started_ns);
            stats.longest_turn_ns = stats.longest_turn_ns.max(took);
        }
    }
}
