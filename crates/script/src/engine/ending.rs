//! The end of a suspended run that is not its own, and where a suspended run is.
//!
//! Owns what the error says: where the run was, and why it was ended.

use std::time::Duration;

use crate::engine::error::{ScriptError, TracebackFrame};
use crate::engine::report;
use crate::engine::run::Run;
use crate::engine::state::EngineState;

impl EngineState {
    /// Ends a run to make room for others. The error says where it was, and how much it held.
    pub fn end_for_room(&mut self, mut run: Run, held: u64) -> Box<ScriptError> {
        let coroutine = run.coroutine.take().expect("a run has its coroutine between calls");
        let error = report::ended_for_room(&run.name, coroutine.stack(), held);
        self.lua.drop_coroutine(coroutine);
        error
    }

    /// Ends a run for a reason that lies outside. The error says it, and where the run was.
    pub fn end_for(&mut self, mut run: Run, why: &str) -> Box<ScriptError> {
        let coroutine = run.coroutine.take().expect("a run has its coroutine between calls");
        let error = report::ended(&run.name, coroutine.stack(), why);
        self.lua.drop_coroutine(coroutine);
        error
    }

    /// Where a suspended run is: the calls that led there, innermost first.
    pub fn calls_of(&self, run: &Run) -> Vec<TracebackFrame> {
        run.coroutine.as_ref().map_or_else(Vec::new, |coroutine| report::calls(coroutine.stack()))
    }

    /// Ends a run that exceeded its deadline. The error says where it was.
    pub fn end_late(&mut self, mut run: Run, bound: Duration) -> Box<ScriptError> {
        let coroutine = run.coroutine.take().expect("a run has its coroutine between calls");
        let error = report::late(&run.name, coroutine.stack(), bound);
        self.lua.drop_coroutine(coroutine);
        error
    }
}
