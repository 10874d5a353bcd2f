//! Traces: the steps of a few chosen requests and messages, on the scheduler that runs on this thread.
//!
//! Owns which of them are followed, how many at most, and the steps until they are sent to whoever asked. Anyone below
//! a turn may note a step without being handed anything: that is why it belongs to the thread. Without a trace, a step
//! is one test. Never waits, never writes, and ends by itself at its time.

mod detail;
mod following;
mod pattern;
mod step;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::net::SocketAddr;

use sys::socket::Peer;

use crate::account;
use crate::clock::Now;
use crate::close_reason::CloseReason;
use crate::slots::ProcessId;
use crate::transport::Agreed;

use detail::text_of;
pub use following::Batch;
use following::Following;
pub use pattern::Pattern;
pub use step::{Actor, Content, Kind, LeftOut, Order, Step, Subject, What};

const ACCEPTED: What = What::between(Actor::Client, Actor::Scheduler, "connection");
const AGREED: What = What::between(Actor::Client, Actor::Scheduler, "handshake over");
const CLOSED: What = What::between(Actor::Scheduler, Actor::Client, "closed");

thread_local! {
    static IS_ON: Cell<bool> = const { Cell::new(false) };
    static FOLLOWING: RefCell<Option<Box<Following>>> = const { RefCell::new(None) };
}

/// Whether there is a trace. Everything else here costs more than this test.
#[inline]
pub fn is_on() -> bool {
    IS_ON.with(Cell::get)
}

/// Begins a trace, in place of one that is under way.
pub fn begin(order: Order, now: Now) {
    FOLLOWING.with(|following| {
        *following.borrow_mut() = Some(Box::new(Following::new(order, now.monotonic_ns)));
    });
    IS_ON.with(|is_on| is_on.set(true));
}

/// Ends the trace of this number, if it is under way. What it has noted can still be taken.
pub fn stop(number: u64) {
    with(|following| following.stop(number));
}

/// What was noted, if it is time to send it. The last batch of a trace says so.
pub fn take(now: Now) -> Option<Batch> {
    let batch = FOLLOWING.with(|following| {
        let mut following = following.borrow_mut();
        let batch = following.as_mut()?.take(now.monotonic_ns)?;
        if batch.is_last {
            *following = None;
        }
        Some(batch)
    })?;
    if batch.is_last {
        IS_ON.with(|is_on| is_on.set(false));
    }
    Some(batch)
}

/// A batch could not be sent. What it has is left out, and counted if another one follows.
pub fn lose(batch: &Batch) {
    with(|following| following.lose(batch));
}

/// Milliseconds until [`take`] has something, or the trace ends; `None` without a trace.
pub fn due_in_ms(now: Now) -> Option<u64> {
    FOLLOWING.with(|following| Some(following.borrow().as_ref()?.due_in_ms(now.monotonic_ns)))
}

/// Something of this kind is seen, of the process. If the trace is about it, and there is room, the process is followed
/// from now on until [`end`].
#[cold]
pub fn offer(kind: Kind, process: ProcessId, name: fmt::Arguments<'_>) {
    with(|following| {
        if following.seeks(kind) {
            following.offer(process, &text_of(name), moment_ns());
        }
    });
}

/// A request is seen, for this host and path. A pattern that begins with a slash is about paths, any other about both.
#[cold]
pub fn offer_url(process: ProcessId, host: &str, path: &str) {
    with(|following| {
        if following.seeks(Kind::Url) {
            let host = if following.is_about_paths() { "" } else { host };
            following.offer(process, &text_of(format_args!("{host}{path}")), moment_ns());
        }
    });
}

/// Whether the process is followed.
#[cold]
pub fn follows(process: ProcessId) -> bool {
    with(|following| following.follows(process)).unwrap_or(false)
}

/// Whether steps may have what clients and pages have sent.
#[cold]
pub fn content() -> Content {
    with(|following| following.content()).unwrap_or(Content::LeftOut)
}

/// A process makes a step. It is noted if the process is followed. The detail has nothing that a client or a page has
/// sent as a field or a body, unless [`content`] says so.
#[cold]
pub fn step(process: ProcessId, what: What, detail: fmt::Arguments<'_>) {
    with(|following| {
        if following.follows(process) {
            let text = text_of(detail);
            following.note_process(process, what, text, moment_ns());
        }
    });
}

/// The request of a process is over: it is no longer followed, unless its connection is.
#[cold]
pub fn end(process: ProcessId) {
    with(|following| following.end(process));
}

/// A connection is accepted.
#[cold]
pub(crate) fn accept(process: ProcessId, peer: Peer) {
    let Peer { address, port } = peer;
    offer(Kind::Connection, process, format_args!("{address}"));
    step(process, ACCEPTED, format_args!("{}", SocketAddr::new(address, port)));
}

/// The handshake of a connection is over.
#[cold]
pub(crate) fn agree(process: ProcessId, agreed: Option<&Agreed>) {
    step(process, AGREED, format_args!("{}", agreed.map_or("", |agreed| agreed.version)));
}

/// A connection has ended.
#[cold]
pub(crate) fn close(process: ProcessId, reason: CloseReason) {
    step(process, CLOSED, format_args!("{}", CloseReason::NAMES[reason as usize]));
    with(|following| following.forget(process));
}

/// A message of a channel begins its way over this scheduler. Each scheduler decides by itself whether it has room for
/// it: its steps on all of them have one name, so the message need not carry a number.
#[cold]
pub fn offer_message(channel: &str, position: u64) {
    with(|following| {
        if following.seeks(Kind::Channel) {
            following.offer_message((channel, position), moment_ns());
        }
    });
}

/// The message that was offered last makes a step.
#[cold]
pub fn message(what: What, detail: fmt::Arguments<'_>) {
    with(|following| {
        if following.seeks(Kind::Channel) {
            following.note_message(what, text_of(detail), moment_ns());
        }
    });
}

fn with<T>(act: impl FnOnce(&mut Following) -> T) -> Option<T> {
    FOLLOWING.with(|following| following.borrow_mut().as_deref_mut().map(act))
}

/// The time of this moment, which advances within a turn.
fn moment_ns() -> u64 {
    account::turn_began_ns().saturating_add(account::since_turn_began_ns())
}
