//! Where the time of a request's run goes: running, and waiting for what.
//!
//! Owns the times of one run, and only while slow requests are looked at. Never decides anything by them.

use runtime::slots::ProcessId;

use super::process::Key;
use super::runner::Runner;

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
    fn wait_ended(&mut self, waits_for: &'static str, now_ns: u64) {
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
    last: Option<(Key, Box<Spent>)>,
}

impl Runner {
    /// From now on runs are timed that begin.
    pub fn time_runs(&mut self) {
        self.timing.is_on = true;
    }

    /// From now on runs are not timed that begin.
    pub fn time_no_runs(&mut self) {
        self.timing = Timing::default();
    }

    /// Where the time of the run went that this process has just ended, if it began no earlier than this and was timed.
    pub fn take_spent(&mut self, process: ProcessId, since_ns: u64) -> Option<Box<Spent>> {
        let (key, spent) = self.timing.last.take()?;
        let is_it = key == Key::Request(process) && spent.began_ns >= since_ns;
        is_it.then_some(spent)
    }

    /// For a run that begins now.
    #[inline]
    pub(super) fn spent_of_new(&self, now_ns: u64) -> Option<Box<Spent>> {
        self.timing.is_on.then(|| Box::new(Spent { began_ns: now_ns, ..Spent::default() }))
    }

    /// A run is over.
    #[inline]
    pub(super) fn keep_spent(&mut self, key: Key, spent: Option<Box<Spent>>) {
        if let Some(spent) = spent {
            self.timing.last = Some((key, spent));
        }
    }

    /// A run ran this long until now, and is suspended or over.
    #[inline]
    pub(super) fn note_ran(&mut self, key: Key, ran_ns: u64, now_ns: u64) {
        if self.timing.is_on {
            let last = self.timing.last.as_mut().filter(|(of, _)| *of == key);
            let spent = match self.underway.get_mut(&key) {
                Some(underway) => underway.life.spent.as_mut(),
                None => last.map(|(_, spent)| spent),
            };
            if let Some(spent) = spent {
                spent.ran_ns += ran_ns;
                spent.suspended_ns = now_ns;
            }
        }
    }
}

/// A run waited for this until now.
#[inline]
pub(super) fn note_waited(spent: &mut Option<Box<Spent>>, waits_for: &'static str, now_ns: u64) {
    if let Some(spent) = spent {
        spent.wait_ended(waits_for, now_ns);
    }
}

#[cfg(test)]
mod tests {
    use script::engine::Settings;

    use super::super::runner::Turnout;
    use super::super::stage::{pages, run};
    use super::*;

    #[test]
    fn a_timed_run_says_what_it_waited_for_and_others_are_not_timed() {
        let set = pages(&[("a.page.txt", "<% sleep(0.001) sleep(0.001) %>")]);
        let mut runner = Runner::new(&set, Settings::default(), 64 << 20, u64::MAX, 1).unwrap();
        let mut whole = |runner: &mut Runner, process| {
            let turnouts = [0, 2_000_000, 4_000_000].map(|now| run(runner, process, 0, now));
            assert!(matches!(turnouts, [Turnout::Wait, Turnout::Wait, Turnout::Done(_)]));
            runner.take_spent(ProcessId::from_bits(process), 0)
        };
        assert_eq!(whole(&mut runner, 1), None);
        runner.time_runs();
        let spent = whole(&mut runner, 2).unwrap();
        let waits: Vec<&str> = spent.waits.iter().map(|(name, _)| *name).collect();
        assert_eq!(waits, ["time (sleep)"]);
        assert_eq!(runner.take_spent(ProcessId::from_bits(2), 0), None, "once");
        runner.time_no_runs();
        assert_eq!(whole(&mut runner, 3), None);
    }
}
