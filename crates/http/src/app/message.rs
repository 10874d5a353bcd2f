//! Messages between the schedulers of an app.
//!
//! Owns the closed set of messages. Never sends one.

use std::any::Any;
use std::sync::Arc;

use runtime::slots::ProcessId;

/// Work for a scheduler's state.
pub(super) type Work<S> = Arc<dyn Fn(&mut S) -> Box<dyn Any + Send> + Send + Sync>;

/// A message between the schedulers of an [`App`](super::App).
pub struct AppMessage<S>(pub(super) Kind<S>);

pub(super) enum Kind<S> {
    /// Do this, and send the result back for the process.
    Ask { process: ProcessId, question: u64, work: Work<S> },
    /// The result; none where the work panicked.
    Answered { process: ProcessId, question: u64, value: Option<Box<dyn Any + Send>> },
    /// Drain, and end.
    Stop { deadline_ms: u64 },
}
