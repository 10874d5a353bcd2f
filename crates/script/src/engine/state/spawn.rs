//! Processes: runs in another engine of what a page passed to `spawn`, and the accounts they share.
//!
//! Owns how a process starts. `copying.lua` makes its input, and its host decides when it
//! continues.

use std::rc::Rc;

use crate::engine::run::{MemoryAccount, MemoryBudget, Run};
use crate::engine::state::EngineState;

/// Numbers that the loop of run.lua takes after a job that is a process: spawned by a page, or a module.
const SPAWNED: f64 = 2.0;
const OF_MODULE: f64 = 5.0;

impl EngineState {
    /// An account for the processes of one request.
    pub fn open_account(&mut self) -> Rc<MemoryAccount> {
        Rc::new(MemoryAccount::new(self.lua.ledger().open(), &self.bin))
    }

    /// Bytes that the runs of an account hold.
    pub fn held_by_account(&self, account: &MemoryAccount) -> u64 {
        self.lua.ledger().held_by(account.number_in(&self.bin))
    }

    /// Begins a process from what `spawn` gives its host (copying.lua). Its memory is charged to an account of this
    /// engine. The caller resumes it, now or later. `name` is the page's. `None` if there is no room for it.
    pub fn spawn(&mut self, name: &str, body: &[u8], account: &Rc<MemoryAccount>) -> Option<Run> {
        self.begin_process(name, body, SPAWNED, account)
    }

    /// Begins a process from a module of the current set, with this file, in the same way.
    pub fn spawn_module(
        &mut self,
        file: &str,
        module: &str,
        account: &Rc<MemoryAccount>,
    ) -> Option<Run> {
        self.begin_process(file, module.as_bytes(), OF_MODULE, account)
    }

    fn begin_process(
        &mut self,
        name: &str,
        job: &[u8],
        kind: f64,
        account: &Rc<MemoryAccount>,
    ) -> Option<Run> {
        let number = account.number_in(&self.bin);
        self.sweep();
        if !self.has_room_for_more() {
            return None;
        }
        let mut meter = self.lua.ledger().meter_of(number);
        let mut taken = self.lua.charged(&mut meter, |lua| {
            let mut coroutine = lua.coroutine(&self.kept.body).ok()?;
            if lua.has_room(&coroutine) && lua.pass_bytes(&mut coroutine, job) {
                return Some(coroutine);
            }
            lua.drop_coroutine(coroutine);
            None
        });
        self.lua.pass_number(taken.as_mut()?, kind);
        let memory = MemoryBudget::Shared(meter, Rc::clone(account));
        Some(Run::new(taken?, name.into(), memory, &self.bin).passing(2))
    }
}
