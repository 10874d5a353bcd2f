//! Messages between the schedulers of an app.
//!
//! Owns the closed set of messages. Never sends one.

use std::any::Any;
use std::sync::Arc;

use runtime::slots::ProcessId;

/// Work on the state of a scheduler.
pub(super) type Work<S> = Arc<dyn Fn(&mut S) -> Box<dyn Any + Send> + Send + Sync>;

/// A message between the schedulers of an [`App`](super::App).
pub struct AppMessage<S>(pub(super) Kind<S>);

pub(super) enum Kind<S> {
    /// Do this work, and send the result back to the process.
    Ask { process: ProcessId, question: u64, work: Work<S> },
    /// The result; `None` if the work panicked.
    Answered { process: ProcessId, question: u64, value: Option<Box<dyn Any + Send>> },
    /// Drain, then end.
    Stop { deadline_ms: u64 },
}
