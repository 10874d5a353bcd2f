//! The states of a stream up to which all its messages have come over a connection.
//!
//! Owns which of them holds when the connection is lost. Never asks a stream.

use std::collections::VecDeque;

use crate::limits::STREAM_ANSWER_MS;
use crate::stream_forms::Mark;

/// 1 s between two marks: a stream may answer before its last message has gone out.
const MARKS_APART_MS: u64 = 1_000;

/// The last states of a stream over the present connection, a second or more apart.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    last: VecDeque<Mark>,
    /// Messages may be missing behind these.
    is_cut: bool,
}

impl Marks {
    pub(crate) fn add(&mut self, mark: Mark) {
        let is_later = |before: &Mark| before.asked_ms + MARKS_APART_MS <= mark.asked_ms;
        if !self.is_cut && self.last.back().is_none_or(is_later) {
            self.last.push_back(mark);
            if self.last.len() > 2 {
                self.last.pop_front();
            }
        }
    }

    /// Messages since this time may not have come, although the link is connected: a later state does not show what
    /// has.
    pub(crate) fn distrust(&mut self, since_ms: u64) {
        self.last.retain(|mark| mark.asked_ms + STREAM_ANSWER_MS < since_ms);
        self.is_cut = true;
    }

    /// The connection is lost: the mark up to which everything has come.
    pub(crate) fn take(&mut self) -> Option<Mark> {
        let Self { last, is_cut } = std::mem::take(self);
        // Messages from before the last state was asked for have come before its answer.
        last.iter().rev().nth(usize::from(!is_cut)).copied()
    }
}
