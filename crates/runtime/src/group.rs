//! Answers held back briefly, so that several are sent one after the other.
//!
//! Owns the bytes of the processes of a group between their runs and their sends. Between two runs
//! the kernel only receives, so our code stays in the instruction cache while it runs, and the
//! kernel's while it sends; and the CPU's store buffer has drained when the kernel copies the
//! bytes. Never sends: the scheduler does.

use crate::limits::{GROUP_ANSWER_BYTES, GROUP_PROCESSES};
use crate::output::Output;
use crate::slots::ProcessId;

/// The answers of a group.
#[derive(Default)]
pub(crate) struct Group {
    waiting: Vec<(ProcessId, Vec<u8>)>,
    /// Buffers to be used again.
    spare: Vec<Vec<u8>>,
    /// Of this turn; 0 outside of them.
    events: usize,
    is_open: bool,
    /// A run took long.
    in_hurry: bool,
}

impl Group {
    /// Takes answers from now on, unless there is one event only: nobody else runs before its answer leaves.
    pub(crate) fn open(&mut self, events: usize) {
        self.events = events;
        self.is_open = events > 1;
    }

    /// Takes none until [`Self::go_on`].
    pub(crate) fn pause(&mut self) {
        self.is_open = false;
    }

    /// Takes answers again, if it did.
    pub(crate) fn go_on(&mut self) {
        self.open(self.events);
    }

    /// Takes no more answers.
    pub(crate) fn close(&mut self) {
        self.open(0);
    }

    /// Keeps what a process put out, copied bytes alone, for a moment; `false` when it has to leave at once.
    #[inline]
    pub(crate) fn keep(&mut self, id: ProcessId, output: &mut Output) -> bool {
        if !self.is_open || output.queued_bytes() > GROUP_ANSWER_BYTES {
            return false;
        }
        let mut bytes = self.spare.pop().unwrap_or_default();
        output.swap_bytes(&mut bytes);
        self.waiting.push((id, bytes));
        true
    }

    /// A run took long: the answers before its own have waited enough.
    #[cold]
    pub(crate) fn hurry(&mut self) {
        self.in_hurry = !self.waiting.is_empty();
    }

    /// Whether the answers are to leave before anything else is done.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.waiting.len() >= GROUP_PROCESSES || self.in_hurry
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether the answer of a process waits.
    #[inline]
    pub(crate) fn holds(&self, id: ProcessId) -> bool {
        self.waiting.iter().any(|(waiting, _)| *waiting == id)
    }

    /// The answers that wait, the first one first, for as long as it is lent.
    pub(crate) fn take(&mut self) -> Vec<(ProcessId, Vec<u8>)> {
        self.in_hurry = false;
        std::mem::take(&mut self.waiting)
    }

    /// Gives the room of answers back that were taken. What a long answer of an earlier run made large is freed: nobody is charged for it.
    pub(crate) fn give_back(&mut self, mut sent: Vec<(ProcessId, Vec<u8>)>) {
        let buffers = sent.drain(..).map(|(_, bytes)| bytes);
        self.spare.extend(buffers.filter(|bytes| bytes.capacity() <= 2 * GROUP_ANSWER_BYTES));
        self.waiting = sent;
    }
}
