//! Remarks on runs of pages: when one is made, and what it says.
//!
//! Owns which run is remarkable. Never ends a run, and costs nothing while nothing is remarkable.

use actors::RunKey;
use script::engine::{Fault, ScriptError};

use super::Runner;
use crate::counts::RowIndex;
use crate::fetch::{ExchangeFailure, told};
use crate::limits::RUN_MUCH_NS;
use crate::remark::{Noticed, Remark};

/// The word for a bound that ended a run; `None` if it ended otherwise.
fn bound_of(fault: Fault) -> Option<&'static str> {
    match fault {
        Fault::CpuBudget => Some("cpu_budget"),
        Fault::Memory => Some("memory"),
        Fault::Stalled => Some("stalled"),
        Fault::Deadline => Some("deadline"),
        Fault::Compile
        | Fault::Runtime
        | Fault::TableSize
        | Fault::Stopped
        | Fault::Store
        | Fault::Request
        | Fault::RequestSize => None,
    }
}

/// The slices after which a run is remarked on, if each is this long.
pub(super) fn many_slices(slice_ns: u64) -> u32 {
    u32::try_from(RUN_MUCH_NS.div_ceil(slice_ns.max(1))).unwrap_or(u32::MAX).max(1)
}

impl Runner {
    /// A fetch has failed, of a run that waits for it.
    #[cold]
    pub(super) fn remark_on_fetch(
        &mut self,
        key: RunKey,
        failure: ExchangeFailure,
        server: Option<&str>,
    ) {
        // Each run that waits for a server that is down has one: most are counted only.
        if failure == ExchangeFailure::Stopping || !self.log.has_room_for_remark() {
            return;
        }
        if let Some(row) = self.underway.get(&key).map(|run| run.life.row) {
            let calls = self.calls_of_key(key);
            self.remark_on(row, Noticed::FetchFailed, told(failure, server), calls);
        }
    }

    /// A page could not spawn a process.
    #[cold]
    pub(super) fn remark_on_spawn(&mut self, page: &str) {
        // A page that tries again and again has one remark.
        if self.log.has_remark(Noticed::SpawnRefused, page) || !self.log.has_room_for_remark() {
            return;
        }
        let (noticed, place) = (Noticed::SpawnRefused, page.to_owned());
        self.log.remark(Remark { noticed, place, text: String::new(), calls: Vec::new() });
    }

    /// Notices something about a run of a page that is at these calls; without any it has ended.
    #[cold]
    pub(super) fn remark_on(
        &mut self,
        row: RowIndex,
        noticed: Noticed,
        text: String,
        calls: Vec<String>,
    ) {
        let place = calls.first().cloned().unwrap_or_else(|| self.counters.name_of(row).to_owned());
        self.log.remark(Remark { noticed, place, text, calls });
    }

    /// A run has failed.
    #[cold]
    pub(super) fn remark_on_end(&mut self, error: &ScriptError) {
        let Some(bound) = bound_of(error.fault) else { return };
        let place = match error.line {
            0 => error.page.clone(),
            line => format!("{}:{line}", error.page),
        };
        let calls = error.traceback.iter().map(ToString::to_string).collect();
        let (noticed, text) = (Noticed::Ended(bound), error.message.clone());
        self.log.remark(Remark { noticed, place, text, calls });
    }

    /// The remarks since this was last asked, and how many were left out.
    pub fn take_remarks(&mut self) -> (Vec<Remark>, u64) {
        if let Some((owner, times)) = self.mail.take_full() {
            // One that has ended since is no trouble any more.
            if let Some(row) = self.underway.get(&owner).map(|run| run.life.row) {
                let calls = self.calls_of_key(owner);
                self.remark_on(row, Noticed::MailboxFull(times), String::new(), calls);
            }
        }
        self.log.take_remarks()
    }

    /// Bytes that pages, and processes of pages, hold after the last collection of garbage, and of how many: of
    /// requests, then of processes.
    pub fn held_of_memory(&self) -> [(usize, usize); 2] {
        self.engines.memory_left()
    }

    /// The pages that have allocated most memory since the start, the first with most, and the bytes.
    pub fn most_allocating(&self, most: usize) -> Vec<(String, u64)> {
        let mut all = self.counters.allocations();
        all.sort_unstable_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        all.truncate(most);
        all
    }
}

#[cfg(test)]
mod tests {
    use script::engine::EngineSettings;

    use super::super::RunResult;
    use super::*;
    use crate::stage::{pages, run};

    #[test]
    fn an_ended_run_is_remarked_on_with_its_line() {
        let set = pages(&[("a.page.txt", "<%\nsleep(1) %>")]);
        let mut runner = Runner::new(&set, EngineSettings::default(), 64 << 20, 10, 1).unwrap();
        assert!(matches!(run(&mut runner, 1, 0, 0), RunResult::Wait));
        assert_eq!(runner.take_remarks(), (Vec::new(), 0), "it goes on");
        assert!(matches!(run(&mut runner, 1, 0, 100), RunResult::Failed(..)));
        let (remarks, left_out) = runner.take_remarks();
        assert_eq!((remarks.len(), left_out), (1, 0), "{remarks:?}");
        assert_eq!(remarks[0].noticed, Noticed::Ended("deadline"));
        assert_eq!(remarks[0].place, "a.page.txt:2");
        assert_eq!(runner.take_remarks(), (Vec::new(), 0), "each once");
    }
}
