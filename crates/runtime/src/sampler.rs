//! The time that a turn and its runs took: the longest of them, and the time of the scheduler by account.
//!
//! Owns the ticks of the turn that runs, and those of the turns that were timed since the accounts were last asked. Of
//! every turn the longest run is recorded, so that the cause of a long turn is known.

use sys::pollset::Pollset;

use crate::account::{self, Accounts, Span, Ticks};
use crate::limits::{LONG_TURN_NS, LONG_TURN_TICKS, TURNS_PER_SAMPLE};
use crate::stats::Stats;

/// The remarkable turns of a while.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remarkable {
    /// Turns that took [`LONG_TURN_NS`](crate::limits::LONG_TURN_NS) or longer.
    pub long_turns: u64,
    /// How long the longest of them took.
    pub longest_ns: u64,
    /// The kind of the process that ran longest in it; `None`: none ran.
    pub kind: Option<usize>,
    /// The longest time by which a deadline was noticed late.
    pub late_ns: u64,
}

/// The times of turns.
#[derive(Debug)]
pub(crate) struct Sampler {
    sampling: bool,
    turn_start: u64,
    turn_start_ns: u64,
    run_start: u64,
    worst_run: u64,
    worst_kind: Option<usize>,
    /// The longest run since this was last asked, and its kind.
    longest: (u64, Option<usize>),
    remarkable: Remarkable,
    /// Of the turns that were timed since `accounts` were made.
    sampled: Ticks,
    accounts: Accounts,
    /// When `accounts` were made, and how long the scheduler had slept and spun until then.
    made_ns: u64,
    asleep_ns: u64,
    spun_ns: u64,
}

impl Sampler {
    /// The sampler of a scheduler that begins now.
    pub(crate) fn new(now_ns: u64) -> Self {
        Self {
            sampling: false,
            turn_start: 0,
            turn_start_ns: 0,
            run_start: 0,
            worst_run: 0,
            worst_kind: None,
            longest: (0, None),
            remarkable: Remarkable::default(),
            sampled: Ticks::default(),
            accounts: Accounts::default(),
            made_ns: now_ns,
            asleep_ns: 0,
            spun_ns: 0,
        }
    }

    /// A turn begins, and may wait first.
    #[inline]
    pub(crate) fn begin_sample(&mut self, turn: u64) {
        self.sampling = turn.is_multiple_of(TURNS_PER_SAMPLE);
        if self.sampling {
            account::begin_sample();
        }
    }

    /// The turn has something to do; `now` is a tick of the pollset, and `now_ns` the same moment on its clock.
    #[inline]
    pub(crate) fn begin_turn(&mut self, now: u64, now_ns: u64) {
        (self.turn_start, self.run_start) = (now, now);
        self.turn_start_ns = now_ns;
        self.worst_run = 0;
        self.worst_kind = None;
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

    /// The turn ends, and is timed no longer if it was.
    #[inline]
    pub(crate) fn end_sample(&mut self) {
        if self.sampling {
            account::end_sample(&mut self.sampled);
        }
    }

    /// The turn did something. The clock is read again only if the turn may be the longest so far.
    #[inline]
    pub(crate) fn end_turn(&mut self, stats: &mut Stats, pollset: &mut impl Pollset) {
        let started_ns = self.turn_start_ns;
        if self.worst_run > self.longest.0 {
            self.longest = (self.worst_run, self.worst_kind);
        }
        if pollset.tick_counter().saturating_sub(self.turn_start) > LONG_TURN_TICKS {
            self.note_long_turn(pollset.monotonic_ns().saturating_sub(started_ns));
        }
        if self.worst_run > stats.longest_run_ticks {
            stats.longest_run_ticks = self.worst_run;
            stats.longest_turn_kind = self.worst_kind;
            let took = pollset.monotonic_ns().saturating_sub(started_ns);
            stats.longest_turn_ns = stats.longest_turn_ns.max(took);
        }
    }

    #[cold]
    fn note_long_turn(&mut self, took_ns: u64) {
        if took_ns < LONG_TURN_NS {
            return;
        }
        let remarkable = &mut self.remarkable;
        remarkable.long_turns += 1;
        if took_ns > remarkable.longest_ns {
            (remarkable.longest_ns, remarkable.kind) = (took_ns, self.worst_kind);
        }
    }

    /// A deadline was noticed this much late.
    pub(crate) fn note_late(&mut self, late_ns: u64) {
        self.remarkable.late_ns = self.remarkable.late_ns.max(late_ns);
    }

    /// The remarkable turns since this was last asked.
    pub(crate) fn take_remarkable(&mut self) -> Remarkable {
        std::mem::take(&mut self.remarkable)
    }

    /// The longest run since this was last asked.
    pub(crate) fn take_longest_run(&mut self) -> (u64, Option<usize>) {
        std::mem::take(&mut self.longest)
    }

    /// The time of the scheduler by account, until now.
    pub(crate) fn accounts(&mut self, now_ns: u64, stats: &Stats) -> Accounts {
        let span = Span {
            wall_ns: now_ns.saturating_sub(self.made_ns),
            asleep_ns: stats.asleep_ns - self.asleep_ns,
            spun_ns: stats.spun_ns - self.spun_ns,
        };
        let sampled = std::mem::take(&mut self.sampled);
        self.accounts.add(span, &account::take_exact(), &sampled);
        (self.made_ns, self.asleep_ns, self.spun_ns) = (now_ns, stats.asleep_ns, stats.spun_ns);
        self.accounts
    }
}
