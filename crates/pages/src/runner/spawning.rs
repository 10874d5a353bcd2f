//! Starts a process that answers no request: a spawned one, or a background process.
//!
//! Owns the memory it needs. Never runs one: it continues in its turn.

use std::sync::Arc;

use actors::RunKey;
use script::engine::Run;

use super::calls::{Caller, PageCall, call};
use super::visit::Stay;
use super::{Moment, Runner};
use crate::counts::RowIndex;
use crate::delivery::{Delivery, WaitOutcome};
use crate::family::Member;
use crate::limits::PROCESSES_READY_MAX;
use crate::page::Page;
use crate::process::{Life, Underway};

pub(super) const CALLS: &[PageCall] =
    &[call!("spawn"(body: text) -> ValueOrReason, "a process", Any, Runner::spawn)];

impl Runner {
    /// Creates a process.
    fn spawn(&mut self, caller: &mut Caller<'_>, body: Vec<u8>) -> WaitOutcome {
        let moment = caller.moment;
        let told = self.spawned(&body, caller.life, moment);
        if matches!(told, Delivery::Refused(_)) {
            self.remark_on_spawn(&caller.life.page.name.file);
        }
        WaitOutcome::Now(told)
    }

    /// The answer to the page: the name of the process, or that there is no room.
    fn spawned(&mut self, body: &[u8], parent: &mut Life, moment: Moment) -> Delivery {
        if self.turn.processes().len() >= PROCESSES_READY_MAX {
            return FULL;
        }
        let sets = self.roots.sets();
        let Ok(engine) = self.engines.processes().open(sets) else {
            return Delivery::Failed("no memory for an engine that runs processes");
        };
        let first = || Member::first(moment.now_ns, engine.open_account());
        let family = parent.family_or(first);
        let Some(family) = family.join() else { return FULL };
        let account = family.family().account();
        let Some(run) = engine.spawn(&parent.page.name.file, body, account) else { return FULL };
        match self.begin(run, Arc::clone(&parent.page), parent.row, family) {
            Some(RunKey::Spawned(mailbox)) => {
                let name = self.mail.name_of(moment.endpoint, mailbox);
                Delivery::Text(name.to_string().into_bytes())
            }
            _ => FULL,
        }
    }

    /// Creates a process of an app module, with a family of its own; `None` if there is no room.
    pub(super) fn spawn_module(
        &mut self,
        page: &Arc<Page>,
        row: RowIndex,
        moment: Moment,
    ) -> Option<RunKey> {
        let sets = self.roots.sets();
        let engine = self.engines.processes().open(sets).ok()?;
        let family = Member::first(moment.now_ns, engine.open_account());
        let account = family.family().account();
        let run = engine.spawn_module(&page.name.file, &page.name.full, account)?;
        self.begin(run, Arc::clone(page), row, family)
    }

    fn begin(
        &mut self,
        run: Run,
        page: Arc<Page>,
        row: RowIndex,
        family: Member,
    ) -> Option<RunKey> {
        let mailbox = self.mail.open_spawned()?;
        let key = RunKey::Spawned(mailbox);
        self.counters.of(row).spawned += 1;
        let life = Life::spawned(page, row, mailbox, family);
        let _waits = self.keep(Underway::new(run, life), Stay::ready(key, None));
        Some(key)
    }
}

/// The answer to a page that spawns without room: its request has too many processes, those of all requests hold
/// too much memory, or too many are ready to run.
const FULL: Delivery = Delivery::Refused("full");
