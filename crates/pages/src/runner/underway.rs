//! Suspended runs of a scheduler: how they are kept, and how they end.
//!
//! Owns the table of them, and what is reported about it. Never runs one.

use std::sync::Arc;

use actors::RunKey;
use runtime::account::moment_ns;
use runtime::slots::ProcessId;
use script::engine::ScriptError;

use super::visit::Stay;
use super::{RunResult, Runner};
use crate::counts::{PagesReport, RowIndex, WaitingRun};
use crate::delivery::Delivery;
use crate::page::Page;
use crate::process::{Life, ProcessState, Underway};

impl Runner {
    /// Keeps a suspended run.
    pub(super) fn keep(&mut self, mut waits: Box<Underway>, stay: Stay) -> RunResult {
        let Stay { key, due_ns, delivery, standing, result } = stay;
        (waits.due_ns, waits.delivery) = (due_ns, delivery);
        waits.standing = ProcessState::Waits;
        if standing == ProcessState::Ready {
            self.turn.queue(key, &mut waits);
        }
        self.underway.insert(key, waits);
        let underway = &self.underway;
        let due = |key: RunKey| underway.get(&key).map(|underway| underway.due_ns);
        self.turn.tidy_alarms(underway.len(), due);
        result
    }

    /// Gives a run what it waits for.
    pub(super) fn hand_over(&mut self, key: RunKey, delivery: Delivery) {
        if let Some(underway) = self.underway.get_mut(&key) {
            underway.delivery = Some(delivery);
            self.make_ready(key);
        }
    }

    /// The run has ended.
    pub(super) fn end(&mut self, key: RunKey, mut life: Life) -> Arc<Page> {
        if let (Some(spent), RunKey::Request(process)) = (life.take_spent(), key) {
            self.timing.keep(process, spent);
        }
        self.fetches.unwant(key);
        self.listening.end(key);
        self.recording.end(key);
        self.leave_line(key);
        if let Some(mailbox) = life.mailbox() {
            self.mail.close(mailbox);
        }
        life.page
    }

    /// Whether a page of this process is running or suspended.
    pub fn is_underway(&self, process: ProcessId) -> bool {
        self.underway.contains_key(&RunKey::Request(process)) || self.turn.has_put_off(process)
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
        self.turn.forget(process);
        let key = RunKey::Request(process);
        let mut gone = self.underway.remove(&key)?;
        let row = gone.life.row;
        if self.timing.is_on() {
            gone.life.note_waited(moment_ns());
        }
        self.end(key, gone.life);
        Some(row)
    }

    /// Bytes of a page's answer were sent. When the page continues, its client has read them.
    pub fn note_sent(&mut self, process: ProcessId) {
        if let Some(underway) = self.underway.get_mut(&RunKey::Request(process)) {
            underway.life.note_part_sent();
        }
    }

    /// Errors of processes that answer no request, since the last call.
    pub fn take_failures(&mut self) -> Vec<(Arc<Page>, Box<ScriptError>)> {
        self.log.take_failures()
    }

    /// The counters so far.
    pub fn report(&self) -> PagesReport {
        let waiting = self.underway.values().map(|underway| {
            let held_bytes = self.engines.held_by(underway);
            let (row, budget) = (underway.life.row, underway.life.budget());
            WaitingRun { row, budget, held_bytes }
        });
        let lives = self.underway.values().map(|underway| &underway.life);
        let families = self.engines.held_by_families(lives);
        let of_rows = families.into_iter().map(|(life, bytes)| (life.row, bytes));
        let (total, pages) = self.counters.report(waiting, of_rows);
        PagesReport {
            code: self.engines.code(),
            memory: self.engines.memory(),
            waiting: self.underway.len(),
            total,
            pages,
        }
    }
}
