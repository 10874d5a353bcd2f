//! The strings posted in this turn, and their receivers.
//!
//! Owns both until the end of the turn. Never touches a process.

use std::num::NonZeroU8;
use std::rc::Rc;

use crate::slots::ProcessId;

/// The number of a string of this turn: one byte, so that it fits into a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PostNumber(NonZeroU8);

/// The strings posted in this turn.
#[derive(Default)]
pub(crate) struct Posted {
    /// The receiving processes, each once.
    pub(crate) processes: Vec<ProcessId>,
    strings: Vec<Rc<[u8]>>,
}

impl Posted {
    /// The number of a string; `None` if this turn has posted so many others that no number is left.
    #[inline]
    pub(crate) fn number(&mut self, bytes: &Rc<[u8]>) -> Option<PostNumber> {
        // Broadcasts are posted one after another, so a repeated string is the last one.
        if !self.strings.last().is_some_and(|last| Rc::ptr_eq(last, bytes)) {
            if self.strings.len() == usize::from(u8::MAX) {
                return None;
            }
            self.strings.push(Rc::clone(bytes));
        }
        let number = u8::try_from(self.strings.len()).ok()?;
        NonZeroU8::new(number).map(PostNumber)
    }

    #[inline]
    pub(crate) fn string(&self, PostNumber(number): PostNumber) -> &Rc<[u8]> {
        &self.strings[usize::from(number.get()) - 1]
    }

    /// Whether nothing was posted in this turn.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.processes.is_empty() && self.strings.is_empty()
    }

    /// Drops the strings at the end of the turn, when every receiver has got them.
    pub(crate) fn forget_strings(&mut self) {
        self.strings.clear();
    }
}
