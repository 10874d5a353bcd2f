//! Traces: the steps of a few chosen requests and messages, on the scheduler that runs on this thread.
//!
//! Owns which of them are followed, how many at most, and the steps until they are sent to whoever asked. Anyone below
//! a turn may note a step without being handed anything: that is why it belongs to the thread. Without a trace, a step
//! is one test. Never waits, never writes, and ends by itself at its time.

mod detail;
mod following;
mod pattern;
mod sampling;
mod step;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::net::SocketAddr;

use sys::socket::Peer;

use crate::account::moment_ns;
use crate::clock::Now;
use crate::close_reason::CloseReason;
use crate::slots::ProcessId;
use crate::transport::Agreed;

use detail::text_of;
pub use following::Batch;
use following::Following;
pub use pattern::TracePattern;
use sampling::Sampling;
pub use sampling::{Sampled, SampledStep};
pub use step::{
    Actor, ContentShown, LeftOut, RecordedStep, SpanEdge, StepAction, Subject, TraceCommand,
    TracedKind,
};

const ACCEPTED: StepAction = StepAction::between(Actor::Client, Actor::Scheduler, "connection");
const AGREED: StepAction = StepAction::between(Actor::Client, Actor::Scheduler, "handshake over");
const CLOSED: StepAction = StepAction::between(Actor::Scheduler, Actor::Client, "closed");

thread_local! {
    static IS_ON: Cell<bool> = const { Cell::new(false) };
    /// Whether anything is followed, and whether any request is sampled.
    static FOLLOWS: Cell<bool> = const { Cell::new(false) };
    static SAMPLES: Cell<bool> = const { Cell::new(false) };
    static FOLLOWING: RefCell<Option<Box<Following>>> = const { RefCell::new(None) };
    /// Requests whose number is below this are sampled; 0: none is.
    static SAMPLED_BELOW: Cell<u64> = const { Cell::new(0) };
    static SAMPLING: RefCell<Option<Box<Sampling>>> = const { RefCell::new(None) };
}

/// Whether there is a trace, or a collector that is told of requests: what is seen has to be offered. Everything else
/// here but [`is_noting`] costs more than this test.
#[inline]
pub fn is_on() -> bool {
    IS_ON.with(Cell::get)
}

/// Whether anything on this scheduler is followed or sampled, so that a step may be noted. Most requests under load are
/// not, also during a trace.
#[inline]
pub fn is_noting() -> bool {
    FOLLOWS.with(Cell::get) | SAMPLES.with(Cell::get)
}

/// Begins a trace, in place of one that is under way.
pub fn begin(order: TraceCommand, now: Now) {
    FOLLOWING.with(|following| {
        *following.borrow_mut() = Some(Box::new(Following::new(order, now.monotonic_ns)));
    });
    FOLLOWS.with(|follows| follows.set(false));
    IS_ON.with(|is_on| is_on.set(true));
}

/// Ends the trace of this number, if it is under way. What it has noted can still be taken.
pub fn stop(number: u64) {
    with(|following| following.stop(number));
}

/// The steps that were noted, if it is time to send them. The last batch of a trace says so.
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
        FOLLOWS.with(|follows| follows.set(false));
        IS_ON.with(|is_on| is_on.set(SAMPLED_BELOW.with(Cell::get) > 0));
    }
    Some(batch)
}

/// From now on, so many of a million requests are sampled.
pub fn sample_part(per_million: u32) {
    let below = u128::from(u64::MAX) * u128::from(per_million) / 1_000_000;
    SAMPLED_BELOW.with(|sampled| sampled.set(u64::try_from(below).unwrap_or(u64::MAX)));
    // Of those under way until then the collector is still told, so nothing is turned off.
    if below > 0 && SAMPLING.with(|sampling| sampling.borrow().is_none()) {
        SAMPLING.with(|sampling| *sampling.borrow_mut() = Some(Box::default()));
    }
    if below > 0 {
        IS_ON.with(|is_on| is_on.set(true));
    }
}

/// Whether the request with this number is sampled. The numbers are as good as random.
#[inline]
pub fn samples(number: u64) -> bool {
    number < SAMPLED_BELOW.with(Cell::get)
}

/// The request of a process is sampled, from now on.
#[cold]
pub fn sample(process: ProcessId, sampled: Sampled) {
    with_sampling(|sampling| sampling.begin(process, sampled));
}

/// The sampled requests that have ended since this was last asked, and how many were lost; `None` if there are none.
pub fn take_sampled() -> Option<(Vec<Sampled>, u64)> {
    with_sampling(|sampling| sampling.has_finished().then(|| sampling.take())).flatten()
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
pub fn offer(kind: TracedKind, process: ProcessId, name: fmt::Arguments<'_>) {
    with(|following| {
        if following.seeks(kind) {
            following.offer(process, text_of(name).as_bytes(), moment_ns);
        }
    });
}

/// Something of this kind is seen, of the process, that has these names: as with [`offer`], if the trace is about one
/// of them, which is returned.
#[cold]
pub fn offer_one_of<'n>(
    kind: TracedKind,
    process: ProcessId,
    mut names: impl Iterator<Item = &'n [u8]>,
) -> Option<&'n [u8]> {
    with(|following| {
        let sought = names.find(|name| following.seeks(kind) && following.is_about(name))?;
        following.offer(process, sought, moment_ns);
        Some(sought)
    })
    .flatten()
}

/// A request is seen at this time, for this host and path. A pattern that begins with a slash is about paths, any other
/// about both, with the port of the host or without it.
#[cold]
pub fn offer_url(process: ProcessId, host: &[u8], path: &[u8], now_ns: u64) {
    with(|following| {
        if following.seeks(TracedKind::Url) {
            // Of the requests that come too fast there is only a count: they cost no text and no look at a clock.
            match following.is_about_paths() {
                true => following.offer(process, path, || now_ns),
                false => {
                    let named = [host, path].concat();
                    let plain = [without_port(host), path].concat();
                    let fits = following.is_about(&named);
                    following.offer(process, if fits { &named } else { &plain }, || now_ns);
                }
            }
        }
    });
}

/// A host as it stands in a request, without its port.
fn without_port(host: &[u8]) -> &[u8] {
    let colon = host.iter().rposition(|byte| *byte == b':');
    let port = colon.filter(|at| host[at + 1..].iter().all(u8::is_ascii_digit));
    port.map_or(host, |at| &host[..at])
}

/// Whether the process is followed for a trace.
#[cold]
pub fn follows(process: ProcessId) -> bool {
    with(|following| following.follows(process)).unwrap_or(false)
}

/// Whether steps may have what clients and pages have sent.
#[cold]
pub fn content() -> ContentShown {
    with(|following| following.content()).unwrap_or(ContentShown::LeftOut)
}

/// Whether steps may name keys of the store, which are as good as passwords if they name sessions: the trace is about
/// keys, or about content.
#[cold]
pub fn names_keys() -> bool {
    let names = |following: &mut Following| {
        following.seeks(TracedKind::Key) || following.content() == ContentShown::Shown
    };
    with(names).unwrap_or(false)
}

/// A process makes a step. It is noted if the process is followed. The detail has nothing that a client or a page has
/// sent as a field or a body, unless [`content`] says so.
#[cold]
pub fn step(process: ProcessId, what: StepAction, detail: fmt::Arguments<'_>) {
    step_of_two(process, what, detail, detail);
}

/// A process makes a step, of which more may be said to the one who asked for the trace than to a collector.
#[cold]
pub fn step_of_two(
    process: ProcessId,
    what: StepAction,
    plain: fmt::Arguments<'_>,
    shown: fmt::Arguments<'_>,
) {
    with(|following| {
        if following.follows(process) {
            following.note_process(process, what, text_of(shown), moment_ns());
        }
    });
    with_sampling(|sampling| {
        if sampling.has(process) {
            let (at_ns, detail) = (moment_ns(), text_of(plain));
            sampling.note(process, SampledStep { at_ns, what, detail });
        }
    });
}

/// The request of a process is over: it is no longer followed, unless its connection is.
#[cold]
pub fn end(process: ProcessId) {
    with(|following| following.end(process));
    with_sampling(|sampling| sampling.end(process));
}

/// A connection is accepted.
#[cold]
pub(crate) fn accept(process: ProcessId, peer: Peer) {
    let Peer { address, port } = peer;
    offer(TracedKind::Connection, process, format_args!("{address}"));
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
    with_sampling(|sampling| sampling.end(process));
}

/// A message of a channel begins its way over this scheduler. Each scheduler decides by itself whether it has room for
/// it: its steps on all of them have one name, so the message need not carry a number.
#[cold]
pub fn offer_message(channel: &str, position: u64) {
    with(|following| {
        if following.seeks(TracedKind::Channel) {
            following.offer_message(channel, position, moment_ns);
        }
    });
}

/// The message that was offered last makes a step.
#[cold]
pub fn message(what: StepAction, detail: fmt::Arguments<'_>) {
    with(|following| {
        if following.seeks(TracedKind::Channel) {
            following.note_message(what, text_of(detail), moment_ns());
        }
    });
}

fn with<T>(act: impl FnOnce(&mut Following) -> T) -> Option<T> {
    FOLLOWING.with(|following| {
        let mut following = following.borrow_mut();
        let following = following.as_deref_mut()?;
        let done = act(following);
        FOLLOWS.with(|follows| follows.set(following.has_any()));
        Some(done)
    })
}

fn with_sampling<T>(act: impl FnOnce(&mut Sampling) -> T) -> Option<T> {
    SAMPLING.with(|sampling| {
        let mut sampling = sampling.borrow_mut();
        let sampling = sampling.as_deref_mut()?;
        let done = act(sampling);
        SAMPLES.with(|samples| samples.set(sampling.has_any()));
        Some(done)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox::Endpoint;

    fn url(process: u64, path: &[u8]) {
        offer_url(ProcessId::from_bits(process), b"example.org", path, 1);
    }

    #[test]
    fn host_is_known_with_its_port_and_without_it() {
        for (host, plain) in [
            ("example.org:8080", "example.org"),
            ("example.org", "example.org"),
            ("[::1]:80", "[::1]"),
            ("[::1]", "[::1]"),
            ("", ""),
        ] {
            assert_eq!(without_port(host.as_bytes()), plain.as_bytes());
        }
    }

    #[test]
    fn steps_may_be_noted_only_while_something_is_followed_or_sampled() {
        let pattern = TracePattern::new("/a*");
        let (kind, content) = (TracedKind::Url, ContentShown::LeftOut);
        let (number, to, per_second, until_ns) = (1, Endpoint(0), 1, 9);
        let order = TraceCommand { number, to, kind, pattern, per_second, until_ns, content };
        FOLLOWING.with(|following| following.replace(Some(Box::new(Following::new(order, 1)))));
        url(1, b"/b");
        assert!(!is_noting(), "it is about another path");
        url(2, b"/a");
        url(3, b"/a");
        assert!(is_noting());
        end(ProcessId::from_bits(3));
        assert!(is_noting(), "that one came too fast");
        end(ProcessId::from_bits(2));
        assert!(!is_noting());
        sample_part(1_000_000);
        let sampled = Sampled { trace: 1, span: 1, parent: 0, steps: Vec::new() };
        sample(ProcessId::from_bits(4), sampled);
        assert!(is_noting());
        end(ProcessId::from_bits(4));
        assert!(is_on() && !is_noting());
    }
}
