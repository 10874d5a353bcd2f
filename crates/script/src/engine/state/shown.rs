//! The text of an error that is not a string: an object's `__tostring`, or a number.
//!
//! Owns the one slice allowed for that. Never fails: without a text, the type is shown.

use crate::engine::ffi::{Coroutine, Resumed};
use crate::engine::host::PageHost;
use crate::engine::report::shortened;
use crate::engine::run::Run;
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
}
