//! A request that ends without an answer of the application: its notes for the access log, and its line.
//!
//! Owns what is kept of the request until the time of its line is known. Never decides what an end means.

use std::any::Any;
use std::rc::Rc;

use runtime::clock::Now;
use runtime::service::ListenerIndex;
use runtime::slots::ProcessId;
use runtime::transport::Agreed;
use sys::socket::Peer;
use wire::http::kept::KeptHead;

use super::log::{AccessLine, AccessLog};
use super::notes::Notes;
use super::request::{Begin, Request};
use super::sent::SentAnswer;

/// A request that ends without its application: [`Application::on_unanswered`](crate::Application::on_unanswered). An
/// application that keeps nothing with a request, notes nothing and counts nothing ignores it, as that of
/// [`Application`](crate::Application) does.
pub struct Unanswered<'a> {
    /// Its process.
    pub id: ProcessId,
    /// Bytes of the body of its answer that were sent; 0 if it was not begun.
    pub sent: u64,
    /// Notes on it for the access log.
    pub notes: &'a mut Notes,
    kept: &'a mut Option<Box<dyn Any>>,
}

impl<'a> Unanswered<'a> {
    pub(super) fn new(
        id: ProcessId,
        sent: u64,
        notes: &'a mut Notes,
        kept: &'a mut Option<Box<dyn Any>>,
    ) -> Self {
        Self { id, sent, notes, kept }
    }

    /// Takes what was kept when the application was last asked about it; `None` after a panic.
    pub fn take_kept<T: 'static>(&mut self) -> Option<Box<T>> {
        self.kept.take()?.downcast().ok()
    }
}

/// A request without an answer, or without the end of one, that is not in the log yet.
pub(super) struct Ended {
    head: KeptHead,
    received: u64,
    peer: Peer,
    via: Option<Peer>,
    begin: Begin,
    listener: ListenerIndex,
    secured: Option<Rc<Agreed>>,
    sent: SentAnswer,
    first_ns: Option<u64>,
    notes: Notes,
}

impl Ended {
    /// A request of whose answer so many bytes were sent, from a time on that is `None` if it was not begun.
    pub(super) fn new(
        request: &Request<'_>,
        sent: SentAnswer,
        first_ns: Option<u64>,
        notes: Notes,
    ) -> Self {
        let Request { received, peer, via, begin, listener, .. } = *request;
        let (head, secured) = (KeptHead::of(request.head), request.secured.cloned());
        Self { head, received, peer, via, begin, listener, secured, sent, first_ns, notes }
    }

    /// Writes its line.
    pub(super) fn log(&self, log: &mut AccessLog, now: Now) {
        let (head, secured) = (&self.head.request(), self.secured.as_ref());
        let Self { received, peer, via, begin, listener, .. } = *self;
        let (body, trailers) = (&[], None);
        let request =
            Request { head, body, trailers, received, peer, via, begin, listener, secured };
        log.write(&AccessLine::of(&request, self.sent, self.first_ns, now, &self.notes));
    }
}
