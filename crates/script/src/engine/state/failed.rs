//! Asks the library about a failed run: the text of its error, whose fault it is, and the calls that are no longer on
//! the stack.
//!
//! Owns the reading of these answers. Never fails, and never makes an error of them.

use super::load::NO_MEMORY;
use crate::engine::error::Fault;
use crate::engine::ffi::{Argument, Coroutine, Resumed};
use crate::engine::host::PageHost;
use crate::engine::report::shortened;
use crate::engine::run::Run;
use crate::engine::seen::LostCall;
use crate::engine::state::EngineState;
use crate::engine::tag::LOADED;

/// The number that the loop of run.lua takes after a value to show.
const SHOW: f64 = 4.0;

impl EngineState {
    /// The message of the value that a failed run raised, which is removed from its stack.
    pub(super) fn message_of(
        &mut self,
        run: &mut Run,
        failed: &mut Coroutine,
        host: &mut dyn PageHost,
    ) -> String {
        if let Some(bytes) = failed.stack().bytes_at(-1) {
            return shortened(bytes);
        }
        let kind = failed.stack().type_name_at(-1);
        self.shown(run, failed, host).unwrap_or_else(|| format!("an error that is a {kind}"))
    }

    /// Its own text; `None` if it has none, if producing it fails or waits, or if that takes longer than a slice.
    fn shown(
        &mut self,
        run: &mut Run,
        failed: &mut Coroutine,
        host: &mut dyn PageHost,
    ) -> Option<String> {
        let mut coroutine = self.take_coroutine(run.page()).ok()?;
        self.lua.move_value(failed, &mut coroutine);
        self.lua.pass_number(&mut coroutine, SHOW);
        let (outcome, ticks) = run.resume(&mut self.lua, &mut coroutine, 2, host);
        self.use_ticks(run, ticks);
        let is_shown =
            outcome == Resumed::Yielded && coroutine.stack().number_at(1) as u8 == LOADED;
        if !is_shown {
            self.lua.drop_coroutine(coroutine);
            return None;
        }
        let text = coroutine.stack().bytes_at(2).map(shortened);
        coroutine.truncate(0);
        self.put_back(coroutine);
        text
    }

    /// Whose fault a failure is: that of the page, of the store, or of the client by what it sent. Never guessed from a
    /// message: it is not the page's if it is the very message that the library raised for another (fault.lua), and
    /// memory's if it is LuaJIT's own.
    pub(super) fn fault_of(&mut self, coroutine: &Coroutine, message: &str) -> Fault {
        // A coroutine of the page ran out of memory, and the page passed LuaJIT's error on.
        if message == NO_MEMORY {
            return Fault::Memory;
        }
        let told = self.lua.call_for_text(&self.kept.blamed, Argument::Coroutine(coroutine));
        match told.unwrap_or_default().split_once(' ') {
            Some(("400", blamed)) if blamed == message => Fault::Request,
            Some(("413", blamed)) if blamed == message => Fault::RequestSize,
            Some(("503", blamed)) if blamed == message => Fault::Store,
            _ => Fault::Runtime,
        }
    }

    /// The calls that Lua no longer has, because they ended with a tail call; empty if there is no memory to search for
    /// them.
    pub(super) fn lost(&mut self, coroutine: &Coroutine) -> Vec<LostCall> {
        let told = self.lua.call_for_text(&self.kept.lost, Argument::Coroutine(coroutine));
        read(&told.unwrap_or_default())
    }
}

/// Parses the report of tails.lua: a level, a page and a line, on one line each.
fn read(told: &str) -> Vec<LostCall> {
    let mut lines = told.lines();
    let next = std::iter::from_fn(|| Some((lines.next()?, lines.next()?, lines.next()?)));
    let call = |(level, page, line): (&str, &str, &str)| {
        let (level, line) = (level.parse().ok()?, line.parse().ok()?);
        Some(LostCall { level, page: page.to_owned(), line })
    };
    next.filter_map(call).collect()
}
