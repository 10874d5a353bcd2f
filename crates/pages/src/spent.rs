//! Where the time of a request's run goes: running, and waiting for what.
//!
//! Owns the times of one run, and only while slow requests are looked at. Never decides anything by them.

use runtime::slots::ProcessId;

/// Where the time of a run went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// When it began, on the monotonic clock.
    pub began_ns: u64,
    /// Running, in nanoseconds.
    pub ran_ns: u64,
    /// Waiting, by what for, in nanoseconds.
    pub waits: Vec<(&'static str, u64)>,
    /// When it was suspended last.
    suspended_ns: u64,
}

impl Spent {
    /// Of a run that begins now.
    pub(super) fn begun(now_ns: u64) -> Self {
        Self { began_ns: now_ns, ..Self::default() }
    }

    /// It ran this long until now.
    pub(super) fn ran(&mut self, ran_ns: u64, now_ns: u64) {
        self.ran_ns += ran_ns;
        self.suspended_ns = now_ns;
    }

    /// It waited for this until now.
    pub(super) fn waited(&mut self, waits_for: &'static str, now_ns: u64) {
        let waited_ns = now_ns.saturating_sub(self.suspended_ns);
        match self.waits.iter_mut().find(|(known, _)| *known == waits_for) {
            Some((_, sum_ns)) => *sum_ns += waited_ns,
            None => self.waits.push((waits_for, waited_ns)),
        }
    }
}

/// Whether runs are timed.
#[derive(Debug, Default)]
pub(super) struct Timing {
    is_on: bool,
    /// Of the run that ended last.
    last: Option<(ProcessId, Box<Spent>)>,
}

impl Timing {
    pub(super) fn begin(&mut self) {
        self.is_on = true;
    }

    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// The run of this process has ended.
    pub(super) fn keep(&mut self, process: ProcessId, spent: Box<Spent>) {
        self.last = Some((process, spent));
    }

    /// The run that ended last.
    pub(super) fn take(&mut self) -> Option<(ProcessId, Box<Spent>)> {
        self.last.take()
    }
}
