//! Suspended runs of a scheduler: how they are kept, and how they end.
//!
//! Owns the table of them, and what is reported about it. Never runs one.

use std::sync::Arc;

use runtime::slots::ProcessId;
use script::engine::{Run, ScriptError, State};

use super::counts::{EngineMemory, PagesReport, RowIndex};
use super::crowding::held_by_families;
use super::delivery::Delivery;
use super::family::Budget;
use super::page::Page;
use super::process::{Key, Life, Progress, Underway, Work};
use super::remarks::many_slices;
use super::runner::{RunResult, Runner};

impl Runner {
    /// Lets others run first.
    pub(super) fn yield_turn(
        &mut self,
        key: Key,
        run: Run,
        mut life: Life,
        delivery: Option<Delivery>,
    ) -> RunResult {
        life.waits_for = "its turn";
        let _waits = self.keep(key, Underway::new(run, life, 0, delivery));
        self.make_ready(key);
        RunResult::Wait
    }

    /// A run has used its slice up.
    pub(super) fn end_slice(&mut self, key: Key, run: Run, mut life: Life) -> RunResult {
        life.slices = life.slices.saturating_add(1);
        let (slices, row) = (life.slices, life.row);
        let run_result = self.yield_turn(key, run, life, None);
        if slices == many_slices(self.slice_ns) {
            self.remark_on_slices(key, row, slices);
        }
        run_result
    }

    pub(super) fn keep(&mut self, key: Key, underway: Underway) -> RunResult {
        self.underway.insert(key, Box::new(underway));
        let underway = &self.underway;
        let due = |key: Key| underway.get(&key).map(|underway| underway.due_ns);
        self.alarms.tidy(underway.len(), due);
        RunResult::Wait
    }

    /// The run has ended.
    pub(super) fn end(&mut self, key: Key, life: Life) -> Arc<Page> {
        self.keep_spent(key, life.spent);
        self.fetches.unwant(key);
        self.listening.end(key);
        self.recording.end(key);
        self.leave_line(key);
        self.free_names(life.names);
        if let Some(mailbox) = life.mailbox {
            // A letter that was not sent is taken back with its sender, so no ended process has a letter here.
            let _nobody_is_told = self.give_up_word(mailbox);
            self.mailboxes.close(mailbox);
        }
        life.page
    }

    /// Whether a page of this process is running or suspended.
    pub fn is_underway(&self, process: ProcessId) -> bool {
        self.underway.contains_key(&Key::Request(process)) || self.put_off.has(process)
    }

    /// The answer is no longer wanted: the page ends where it is.
    pub fn forget(&mut self, process: ProcessId) {
        if let Some(row) = self.end_underway(process) {
            self.counters.of(row).cancelled += 1;
        }
    }

    /// Its client has the whole answer: the page ends where it is.
    pub fn end_answered(&mut self, process: ProcessId) {
        let _counted_as_any_other = self.end_underway(process);
    }

    fn end_underway(&mut self, process: ProcessId) -> Option<RowIndex> {
        self.put_off.remove(process);
        let key = Key::Request(process);
        let gone = self.underway.remove(&key)?;
        let row = gone.life.row;
        self.end(key, gone.life);
        Some(row)
    }

    /// Bytes of a page's answer were sent. When the page continues, its client has read them.
    pub fn note_sent(&mut self, process: ProcessId) {
        if let Some(underway) = self.underway.get_mut(&Key::Request(process)) {
            underway.life.progress = Progress::PartSent;
        }
    }

    /// Errors of processes that answer no request, since the last call.
    pub fn take_failures(&mut self) -> Vec<(Arc<Page>, Box<ScriptError>)> {
        std::mem::take(&mut self.failures)
    }

    /// The counters so far.
    pub fn report(&self) -> PagesReport {
        let held_by = |underway: &Underway| match &underway.work {
            Work::Run(run) if underway.life.budget == Budget::Own => self.engine.held_by(run),
            _ => 0,
        };
        let waiting = self
            .underway
            .values()
            .map(|underway| (underway.life.row, underway.life.budget, held_by(underway)));
        let lives = self.underway.values().map(|underway| &underway.life);
        let families = held_by_families(self.process_engine.engine(), lives);
        let of_rows = families.into_iter().map(|(life, bytes)| (life.row, bytes));
        let (total, pages) = self.counters.report(waiting, of_rows);
        let processes = self.process_engine.engine();
        PagesReport {
            code: self.code,
            memory: EngineMemory {
                bytes: self.engine.memory_used(),
                max_bytes: self.engine.memory_bound(),
                process_bytes: processes.map_or(0, State::memory_used),
                process_max_bytes: self.process_engine.memory_bound(),
            },
            waiting: self.underway.len(),
            total,
            pages,
        }
    }
}
