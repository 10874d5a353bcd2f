//! Decides whose fault an uncaught failure is: the page's, or that of the client by what it sent.
//!
//! Owns the reading of the report of fault.lua. Never guesses from a message: it is the client's if
//! it is the very message that the library raised for it, and memory's if it is LuaJIT's own.

use super::load::NO_MEMORY;
use crate::engine::error::Fault;
use crate::engine::ffi::{Argument, Coroutine};
use crate::engine::state::EngineState;

impl EngineState {
    /// The fault in a run that raised this message.
    pub(super) fn fault_of(&mut self, coroutine: &Coroutine, message: &str) -> Fault {
        // A coroutine of the page ran out of memory, and the page passed LuaJIT's error on.
        if message == NO_MEMORY {
            return Fault::Memory;
        }
        let told = self.lua.call_for_text(&self.kept.blamed, Argument::Coroutine(coroutine));
        match told.unwrap_or_default().split_once(' ') {
            Some(("400", blamed)) if blamed == message => Fault::Request,
            Some(("413", blamed)) if blamed == message => Fault::RequestSize,
            _ => Fault::Runtime,
        }
    }
}
