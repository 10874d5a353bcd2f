//! One step of a run: its reply is passed, its coroutine resumed, and its memory reviewed.
//!
//! Owns what a run keeps between two steps. Never decides whether there is another one: the state
//! does.

use super::{Review, Run, WaitReply};
use crate::engine::ffi::{Coroutine, Lua, Resumed, Stack};
use crate::engine::host::PageHost;
use crate::engine::seen::Seen;
use crate::limits;

impl Run {
    /// Its coroutine, for the time of a step.
    pub(in crate::engine) fn take_coroutine(&mut self) -> Coroutine {
        self.coroutine.take().expect("a run has its coroutine between calls")
    }

    /// The step is over, and another one follows.
    pub(in crate::engine) fn keep_coroutine(&mut self, coroutine: Coroutine) {
        self.coroutine = Some(coroutine);
    }

    /// Resumes its coroutine, or one that works for it. Also returns how many ticks it used.
    pub(in crate::engine) fn resume(
        &mut self,
        lua: &mut Lua,
        coroutine: &mut Coroutine,
        passed: i32,
        host: &mut dyn PageHost,
    ) -> (Resumed, u32) {
        lua.resume(coroutine, passed, host, &mut self.meter)
    }

    /// Passes the reply to its wait: a failure or nil, then the values. Returns how many values its resume takes;
    /// `None` without memory.
    pub(in crate::engine) fn pass_reply(
        &mut self,
        lua: &mut Lua,
        reply: WaitReply<'_>,
    ) -> Option<i32> {
        debug_assert!(
            self.review.is_none() || reply == WaitReply::Nothing,
            "it was said to be sliced"
        );
        self.forget_arguments();
        let coroutine = self.coroutine.as_mut()?;
        if reply != WaitReply::Nothing && !lua.has_room(coroutine) {
            return None;
        }
        let mut passed = std::mem::take(&mut self.first_values);
        match reply {
            WaitReply::Nothing => {}
            WaitReply::Failed(text) => {
                passed +=
                    lua.pass_charged(coroutine, text.as_bytes(), &mut self.meter).then_some(1)?;
            }
            WaitReply::Texts(texts) => {
                debug_assert!(texts.len() <= limits::REPLY_TEXTS, "there is room on the stack");
                lua.pass_nil(coroutine);
                passed += 1;
                for text in texts {
                    passed += lua.pass_charged(coroutine, text, &mut self.meter).then_some(1)?;
                }
            }
        }
        Some(passed)
    }

    /// Bytes that it has allocated.
    pub(in crate::engine) fn allocated(&self) -> u64 {
        self.meter.allocated()
    }

    /// Bytes that it holds, including garbage that was not collected.
    pub(in crate::engine) fn held(&self, lua: &Lua) -> u64 {
        lua.ledger().held(&self.meter)
    }

    /// Its slice has ended here.
    pub(in crate::engine) fn note_sliced(&mut self, stack: Stack) {
        self.seen = Seen::of(stack);
    }

    /// Where its last slice ended.
    pub(in crate::engine) fn seen(&self) -> Option<&Seen> {
        self.seen.as_deref()
    }

    /// Its current review.
    pub(in crate::engine) fn review(&self) -> Option<Review> {
        self.review
    }

    /// Begins a review if it may hold too much, and none is under way.
    pub(in crate::engine) fn review_if_large(&mut self, held: u64, review: Review) {
        if held > self.review_above && self.review.is_none() {
            self.review = Some(review);
        }
    }

    /// It does not hold too much; the next review comes when it holds more than this.
    pub(in crate::engine) fn end_review(&mut self, above: u64) {
        self.review_above = above;
        self.review = None;
    }
}
