//! The steps of a request that a trace shows: its head, its waits, its answer.
//!
//! Owns what is said of them. Says nothing of fields and bodies unless the one who asked for the trace wants it.

use std::fmt;

use runtime::slots::ProcessId;
use runtime::trace::{self, Actor, ContentShown, StepAction, TracedKind};
use sys::socket::Peer;
use wire::http::head::{self, RequestTarget};
use wire::http::status::Status;
use wire::http::trace_context::TraceParent;

use super::request::{Begin, Request};

const REQUEST: StepAction = StepAction::between(Actor::Client, Actor::Scheduler, "request");
const WAITS: StepAction = StepAction::within("waits");
const PART: StepAction = StepAction::between(Actor::Scheduler, Actor::Client, "part of the answer");
const ANSWER: StepAction = StepAction::between(Actor::Scheduler, Actor::Client, "answer").last();
const UNANSWERED: StepAction =
    StepAction::between(Actor::Scheduler, Actor::Client, "no answer").last();

/// The head of a request of this client is complete.
#[cold]
pub(super) fn head(
    process: ProcessId,
    request: &head::RequestHead<'_, '_>,
    peer: Peer,
    begin: Begin,
) {
    if let Some(sampled) = begin.sampled(&request.fields) {
        trace::sample(process, sampled);
    }
    trace::offer(TracedKind::Connection, process, format_args!("{}", peer.address));
    let (path, _) = request.split_target();
    trace::offer_url(process, request.host.unwrap_or_default(), path, begin.began_ns());
    if trace::is_noting() {
        note_head(process, request);
    }
}

/// Something is known of a request that its head does not say, such as its page or its user. If the trace is about
/// that, the request is followed from now on, and begins with its head.
#[cold]
pub fn know(kind: TracedKind, process: ProcessId, request: &Request<'_>, name: fmt::Arguments<'_>) {
    if !trace::follows(process) {
        trace::offer(kind, process, name);
        if trace::follows(process) {
            note_head(process, request.head);
        }
    }
}

/// The same of something that has several names, such as the keys of an order.
#[cold]
pub fn know_one_of<'n>(
    kind: TracedKind,
    process: ProcessId,
    request: &Request<'_>,
    names: impl Iterator<Item = &'n [u8]>,
) {
    if !trace::follows(process)
        && trace::offer_one_of(kind, process, names).is_some()
        && trace::follows(process)
    {
        note_head(process, request.head);
    }
}

fn note_head(process: ProcessId, request: &head::RequestHead<'_, '_>) {
    let plain = Shown { request, content: ContentShown::LeftOut };
    let shown = Shown { request, content: trace::content() };
    trace::step_of_two(process, REQUEST, format_args!("{plain}"), format_args!("{shown}"));
}

/// A request as a step shows it.
struct Shown<'r> {
    request: &'r head::RequestHead<'r, 'r>,
    content: ContentShown,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { request, content } = self;
        let text = String::from_utf8_lossy;
        write!(out, "{} ", request.method.as_str())?;
        match (request.target, content) {
            (RequestTarget::Asterisk, _) => out.write_str("*")?,
            (RequestTarget::Origin(_), ContentShown::LeftOut) => {
                out.write_str(&text(request.split_target().0))?;
            }
            (RequestTarget::Origin(target), ContentShown::Shown) => out.write_str(&text(target))?,
        }
        if let Some(host) = request.host {
            write!(out, " of {}", text(host))?;
        }
        if let Some(parent) = TraceParent::of(&request.fields) {
            write!(out, ", trace {}", parent.trace)?;
        }
        if *content == ContentShown::Shown {
            for (name, value) in request.fields.iter() {
                write!(out, "; {name}: {}", text(value))?;
            }
        }
        Ok(())
    }
}

/// A request waits.
#[cold]
pub(super) fn wait(process: ProcessId) {
    trace::step(process, WAITS, format_args!(""));
}

/// A part of an answer was written.
#[cold]
pub(super) fn part(process: ProcessId) {
    trace::step(process, PART, format_args!(""));
}

/// An answer was written, with so many bytes of a body.
#[cold]
pub(super) fn answer(process: ProcessId, status: Status, bytes: u64) {
    trace::step(process, ANSWER, format_args!("{}, {bytes} bytes", status.code()));
    trace::end(process);
}

/// A request is answered without the application.
#[cold]
pub(super) fn refuse(process: ProcessId, status: Status) {
    trace::step(process, ANSWER, format_args!("{}, without the application", status.code()));
    trace::end(process);
}

/// A request ends without an answer, or without the end of one.
#[cold]
pub(super) fn unanswered(process: ProcessId, bytes: u64) {
    trace::step(process, UNANSWERED, format_args!("{bytes} bytes were sent"));
    trace::end(process);
}
