//! Coroutines without a run.
//!
//! Owns which are kept for the next runs, and that these hold nothing of the last. Never runs a page.

use crate::engine::error::ScriptError;
use crate::engine::ffi::Coroutine;
use crate::engine::library::NoHost;
use crate::engine::report;
use crate::engine::run::{Output, Run, Step};
use crate::engine::state::{EXIT, State};
use crate::limits;

impl State {
    pub(super) fn take_coroutine(&mut self, name: &str) -> Result<Coroutine, Box<ScriptError>> {
        let coroutine = match self.idle.pop() {
            Some(coroutine) => coroutine,
            None => match self.lua.coroutine(&self.kept.body) {
                Ok(coroutine) => coroutine,
                Err(fault) => {
                    self.collect();
                    return Err(report::of_call(fault, name));
                }
            },
        };
        if self.lua.has_room(&coroutine) {
            return Ok(coroutine);
        }
        self.lua.drop_coroutine(coroutine);
        Err(report::out_of_memory(name))
    }

    pub(super) fn put_back(&mut self, coroutine: Coroutine) {
        if self.idle.len() < limits::COROUTINE_POOL {
            self.idle.push(coroutine);
        } else {
            self.lua.drop_coroutine(coroutine);
        }
        self.collect_if_due();
    }

    /// The end of a run: what it wrote is taken, and its coroutine is another's.
    pub(super) fn done(
        &mut self,
        mut run: Run,
        coroutine: Coroutine,
        tag: u8,
        output: &mut Output,
    ) -> Step {
        output.take(&coroutine);
        coroutine.stack.truncate(0);
        if tag == EXIT {
            // It is in the middle of something.
            self.lua.drop_coroutine(coroutine);
        } else {
            if output.body.len() > limits::BUFFER_KEPT_SIZE {
                // It lets go of what it wrote, which else were there until its next run.
                self.lua.resume(&coroutine, 0, &mut NoHost, &mut run.meter);
                coroutine.stack.truncate(0);
            }
            self.put_back(coroutine);
        }
        self.note_over();
        Step::Done
    }
}
