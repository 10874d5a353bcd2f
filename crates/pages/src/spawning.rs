//! Starts a process that answers no request: a spawned one, or a background process.
//!
//! Owns the memory it needs. Never runs one: it continues in its turn.

use std::sync::Arc;

use script::engine::Run;

use super::counts::RowIndex;
use super::delivery::Delivery;
use super::family::{Budget, Member};
use super::page::Page;
use super::process::{Key, Life};
use super::runner::{Moment, Runner};
use crate::limits::PROCESSES_READY_MAX;

impl Runner {
    /// Creates a process. Returns what the page is told: its name, or that there is no room.
    pub(super) fn spawn(&mut self, body: &[u8], parent: &mut Life, moment: Moment) -> Delivery {
        if self.ready.processes.len() >= PROCESSES_READY_MAX {
            return FULL;
        }
        let sets = self.roots.iter().map(|loaded| &loaded.set);
        let Ok(engine) = self.process_engine.open(sets) else {
            return Delivery::Failed("no memory for an engine that runs processes");
        };
        let first = || Member::first(moment.now_ns, engine.open_account());
        let family = parent.family.get_or_insert_with(first);
        let Some(family) = family.join() else { return FULL };
        let account = family.family().account();
        let Some(run) = engine.spawn(&parent.page.name.file, body, account) else { return FULL };
        match self.begin(run, (Arc::clone(&parent.page), parent.row), family) {
            Some(Key::Spawned(mailbox)) => self.name_of(moment, mailbox),
            _ => FULL,
        }
    }

    /// Creates a process of an app module, with a family of its own; `None` if there is no room.
    pub(super) fn spawn_module(
        &mut self,
        page: &Arc<Page>,
        row: RowIndex,
        moment: Moment,
    ) -> Option<Key> {
        let sets = self.roots.iter().map(|loaded| &loaded.set);
        let engine = self.process_engine.open(sets).ok()?;
        let family = Member::first(moment.now_ns, engine.open_account());
        let account = family.family().account();
        let run = engine.spawn_module(&page.name.file, &page.name.full, account)?;
        self.begin(run, (Arc::clone(page), row), family)
    }

    fn begin(
        &mut self,
        run: Run,
        (page, row): (Arc<Page>, RowIndex),
        family: Member,
    ) -> Option<Key> {
        let key = Key::Spawned(self.mailboxes.next_id());
        let mailbox = self.mailboxes.open(key)?;
        self.counters.of(row).spawned += 1;
        let mut life = Life::new(page, row, u64::MAX);
        life.mailbox = Some(mailbox);
        life.family = Some(family);
        life.budget = Budget::Shared;
        let _waits = self.yield_turn(key, run, life, None);
        Some(key)
    }
}

/// The answer to a page that spawns without room: its request has too many processes, those of all requests hold
/// too much memory, or too many are ready to run.
const FULL: Delivery = Delivery::Refused("full");
