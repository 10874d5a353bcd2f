//! The end of a suspended run that is not its own.
//!
//! Owns what the error says: where the run was, and why it was ended.

use std::time::Duration;

use crate::engine::error::ScriptError;
use crate::engine::ffi::Stack;
use crate::engine::report;
use crate::engine::run::Run;
use crate::engine::state::EngineState;

impl EngineState {
    /// Ends a run to make room for others. The error says where it was, and how much it held.
    pub fn end_for_room(&mut self, run: Run, held: u64) -> Box<ScriptError> {
        self.end(run, |page, stack| report::ended_for_room(page, stack, held))
    }

    /// Ends a run for a reason that lies outside. The error says it, and where the run was.
    pub fn end_for(&mut self, run: Run, why: &str) -> Box<ScriptError> {
        self.end(run, |page, stack| report::ended(page, stack, why))
    }

    /// Ends a run that exceeded its deadline. The error says where it was.
    pub fn end_late(&mut self, run: Run, bound: Duration) -> Box<ScriptError> {
        self.end(run, |page, stack| report::late(page, stack, bound))
    }

    fn end(
        &mut self,
        mut run: Run,
        error_at: impl FnOnce(&str, Stack) -> Box<ScriptError>,
    ) -> Box<ScriptError> {
        let coroutine = run.take_coroutine();
        let error = error_at(run.page(), coroutine.stack());
        self.lua.drop_coroutine(coroutine);
        error
    }
}
