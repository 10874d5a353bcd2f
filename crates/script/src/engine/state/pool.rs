//! Coroutines without a run.
//!
//! Owns which are kept for the next runs, and that these hold nothing of the last one. Never runs a
//! page.

use crate::engine::error::ScriptError;
use crate::engine::ffi::{Coroutine, Resumed};
use crate::engine::library::NoHost;
use crate::engine::output::PageOutput;
use crate::engine::report;
use crate::engine::run::{CallResult, Run};
use crate::engine::state::EngineState;
use crate::engine::tag::EXIT;
use crate::limits;

impl EngineState {
    pub(super) fn take_coroutine(&mut self, name: &str) -> Result<Coroutine, Box<ScriptError>> {
        let coroutine = match self.idle.pop() {
            Some(coroutine) => coroutine,
            None => self.lua.coroutine(&self.kept.body).map_err(|fault| {
                self.note_refused();
                report::of_call(fault, name)
            })?,
        };
        if self.lua.has_room(&coroutine) {
            return Ok(coroutine);
        }
        self.lua.drop_coroutine(coroutine);
        self.note_refused();
        Err(report::out_of_memory(name))
    }

    pub(super) fn put_back(&mut self, coroutine: Coroutine) {
        if self.idle.len() < limits::COROUTINE_POOL {
            self.idle.push(coroutine);
        } else {
            self.lua.drop_coroutine(coroutine);
        }
    }

    /// The end of a run: its output is taken, and its coroutine becomes free.
    pub(super) fn done(
        &mut self,
        run: &mut Run,
        mut coroutine: Coroutine,
        tag: u8,
        output: &mut PageOutput,
    ) -> CallResult {
        output.take(&coroutine);
        coroutine.truncate(0);
        // A coroutine that exited is in the middle of something. A large output is freed now, because otherwise it
        // would stay until the next run.
        let is_idle = match tag {
            EXIT => false,
            _ if output.body.len() <= limits::BUFFER_KEPT_SIZE => true,
            _ => {
                let (outcome, _) = run.resume(&mut self.lua, &mut coroutine, 0, &mut NoHost);
                coroutine.truncate(0);
                outcome == Resumed::Yielded
            }
        };
        if is_idle {
            self.put_back(coroutine);
        } else {
            self.lua.drop_coroutine(coroutine);
        }
        CallResult::Done
    }
}
