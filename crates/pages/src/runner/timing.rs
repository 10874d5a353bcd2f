//! The times of runs of requests, while slow ones are looked at.
//!
//! Owns which runs are timed, and the times of the one that ended last for whoever asks.

use runtime::slots::ProcessId;

use super::Runner;
use crate::spent::{Spent, Timing};

impl Runner {
    /// From now on runs are timed that begin.
    pub fn time_runs(&mut self) {
        self.timing.begin();
    }

    /// From now on runs are not timed that begin.
    pub fn time_no_runs(&mut self) {
        self.timing = Timing::default();
    }

    /// Where the time of the run went that this process has just ended, if it began no earlier than this and was timed.
    pub fn take_spent(&mut self, process: ProcessId, since_ns: u64) -> Option<Box<Spent>> {
        let (of, spent) = self.timing.take()?;
        let is_it = of == process && spent.began_ns >= since_ns;
        is_it.then_some(spent)
    }
}

#[cfg(test)]
mod tests {
    use script::engine::EngineSettings;

    use super::super::RunResult;
    use super::*;
    use crate::stage::{pages, run};

    #[test]
    fn a_timed_run_says_what_it_waited_for_and_others_are_not_timed() {
        let set = pages(&[("a.page.txt", "<% sleep(0.001) sleep(0.001) %>")]);
        let mut runner =
            Runner::new(&set, EngineSettings::default(), 64 << 20, u64::MAX, 1).unwrap();
        let whole = |runner: &mut Runner, process| {
            let turnouts = [0, 2_000_000, 4_000_000].map(|now| run(runner, process, 0, now));
            assert!(matches!(turnouts, [RunResult::Wait, RunResult::Wait, RunResult::Done(_)]));
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
