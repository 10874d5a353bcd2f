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
    /// Buffers for reuse.
    spare: Vec<Vec<u8>>,
    /// Events of this turn; 0 outside a turn.
    events: usize,
    is_open: bool,
    /// Whether a run took long, so that the answers should leave now.
    in_hurry: bool,
}

impl Group {
    /// Holds answers back from now on, unless there is only one event: then no other process runs before the answer is
    /// sent.
    pub(crate) fn open(&mut self, events: usize) {
        self.events = events;
        self.is_open = events > 1;
    }

    /// Holds no answers back until [`Self::go_on`].
    pub(crate) fn pause(&mut self) {
        self.is_open = false;
    }

    /// Holds answers back again, if [`Self::pause`] stopped it.
    pub(crate) fn go_on(&mut self) {
        self.open(self.events);
    }

    /// Holds no more answers back.
    pub(crate) fn close(&mut self) {
        self.open(0);
    }

    /// Holds back the output of a process, if it consists only of copied bytes. `false`: it has to be sent now.
    #[inline]
    pub(crate) fn keep(&mut self, id: ProcessId, output: &mut Output) -> bool {
        let keeps = self.is_open && output.queued_bytes() <= GROUP_ANSWER_BYTES;
        if keeps {
            self.add(id, output);
        }
        keeps
    }

    #[inline(never)]
    fn add(&mut self, id: ProcessId, output: &mut Output) {
        let mut bytes = self.spare.pop().unwrap_or_default();
        output.swap_bytes(&mut bytes);
        self.waiting.push((id, bytes));
    }

    /// A run took long: the answers before it must not wait any longer.
    #[cold]
    pub(crate) fn hurry(&mut self) {
        self.in_hurry = !self.waiting.is_empty();
    }

    /// Whether the answers must be sent before anything else is done.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.waiting.len() >= GROUP_PROCESSES || self.in_hurry
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether an answer of this process is held back.
    #[inline]
    pub(crate) fn holds(&self, id: ProcessId) -> bool {
        self.waiting.iter().any(|(waiting, _)| *waiting == id)
    }

    /// Takes the answers, in the order in which they were given. The list is lent: return it with [`Self::give_back`].
    pub(crate) fn take(&mut self) -> Vec<(ProcessId, Vec<u8>)> {
        self.in_hurry = false;
        std::mem::take(&mut self.waiting)
    }

    /// Returns the buffers of sent answers. A buffer that a long answer enlarged is freed, because no process is
    /// charged for it.
    pub(crate) fn give_back(&mut self, mut sent: Vec<(ProcessId, Vec<u8>)>) {
        let buffers = sent.drain(..).map(|(_, bytes)| bytes);
        self.spare.extend(buffers.filter(|bytes| bytes.capacity() <= 2 * GROUP_ANSWER_BYTES));
        self.waiting = sent;
    }
}
