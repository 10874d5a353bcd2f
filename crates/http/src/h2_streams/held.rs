//! An open stream, as its connection keeps it.
//!
//! Owns its window for output, its priority, and whether it waits in a queue. Never sends.

use wire::h2::{AfterHead, OutputWindow, StreamPriority, WindowBroken};

use super::content::RequestContent;

/// An open stream.
#[derive(Debug)]
pub(crate) struct Held {
    output: OutputWindow,
    content: RequestContent,
    head_bytes: usize,
    priority: StreamPriority,
    queueing: Queueing,
    /// It has a body for which the connection's window has no room.
    is_stalled: bool,
}

/// Whether a stream is in the queue of those that may have something to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queueing {
    Out,
    Queued,
}

impl Held {
    /// A stream on which this follows the head of the request. The client takes so many bytes of its answer, and may
    /// send so many.
    pub(crate) fn new(output_bytes: u32, after: AfterHead, input_bytes: u32) -> Self {
        Self {
            output: OutputWindow::of(output_bytes),
            content: RequestContent::new(after, input_bytes),
            head_bytes: 0,
            priority: StreamPriority::default(),
            queueing: Queueing::Out,
            is_stalled: false,
        }
    }

    /// The same with a head of so many bytes of memory, and this priority.
    pub(crate) fn with_head(self, head_bytes: usize, priority: StreamPriority) -> Self {
        Self { head_bytes, priority, ..self }
    }

    pub(crate) fn content(&self) -> &RequestContent {
        &self.content
    }

    pub(crate) fn content_mut(&mut self) -> &mut RequestContent {
        &mut self.content
    }

    /// Its trailers are kept as its head is.
    pub(crate) fn add_head_bytes(&mut self, bytes: usize) {
        self.head_bytes += bytes;
    }

    /// Bytes of memory of its head and trailers.
    pub(crate) fn head_bytes(&self) -> usize {
        self.head_bytes
    }

    pub(crate) fn priority(&self) -> StreamPriority {
        self.priority
    }

    pub(crate) fn set_priority(&mut self, priority: StreamPriority) {
        self.priority = priority;
    }

    /// Bytes of its answer that the client takes now.
    pub(crate) fn output_room(&self) -> usize {
        self.output.room()
    }

    /// The client takes more of its answer, or with a negative number less.
    pub(crate) fn change_output(&mut self, by: i64) -> Result<(), WindowBroken> {
        self.output.change(by)
    }

    /// So many bytes of its answer were sent.
    pub(crate) fn spend_output(&mut self, bytes: usize) {
        self.output.spend(bytes);
    }

    /// Puts it into the queue. Returns whether it was not there.
    pub(crate) fn enter_queue(&mut self) -> bool {
        std::mem::replace(&mut self.queueing, Queueing::Queued) == Queueing::Out
    }

    /// It was taken out of the queue.
    pub(crate) fn leave_queue(&mut self) {
        self.queueing = Queueing::Out;
    }

    /// It waits for the window of the connection. Only that is watched for it: its own is opened by its number.
    pub(crate) fn stall(&mut self) {
        self.is_stalled = true;
    }

    /// It waits for that no longer. Returns whether it did.
    pub(crate) fn unstall(&mut self) -> bool {
        std::mem::take(&mut self.is_stalled)
    }
}
