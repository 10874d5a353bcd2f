//! The connection, the clock and the mailbox that an application can use while it answers a request.
//!
//! Owns the value that the application keeps with a request between two calls. Never calls the application.

use std::any::Any;

use runtime::clock::Now;
use runtime::mailbox::Mailbox;
use runtime::slots::ProcessId;

use super::notes::Notes;

/// The context that an application may use in addition to the reply.
///
/// The example of [`Answer`](crate::Answer) keeps `id` for a request that waits.
pub struct AnswerContext<'a, M> {
    /// The process to resume after [`Answer::Wait`](crate::Answer::Wait).
    pub id: ProcessId,
    /// The turn's time.
    pub now: Now,
    /// The scheduler's mailbox.
    pub mail: &'a mut Mailbox<M>,
    /// Notes on the request for the access log.
    pub notes: &'a mut Notes,
    kept: &'a mut Option<Box<dyn Any>>,
}

impl<'a, M> AnswerContext<'a, M> {
    /// For one call about a request with this process.
    #[inline(always)]
    pub(super) fn new(
        id: ProcessId,
        now: Now,
        mail: &'a mut Mailbox<M>,
        notes: &'a mut Notes,
        kept: &'a mut Option<Box<dyn Any>>,
    ) -> Self {
        Self { id, now, mail, notes, kept }
    }

    /// Keeps a value with the request until the application is asked about it again. It is dropped once the
    /// answer is complete, or the client has closed its connection or stream.
    pub fn keep<T: 'static>(&mut self, value: Box<T>) {
        *self.kept = Some(value);
    }

    /// Takes what was kept when the application was last asked about this request; `None` the first time.
    pub fn take_kept<T: 'static>(&mut self) -> Option<Box<T>> {
        self.kept.take()?.downcast().ok()
    }
}
