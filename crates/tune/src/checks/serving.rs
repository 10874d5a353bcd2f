//! Which threads of the server serve requests.
//!
//! Judges nothing.

use crate::host::HostReading;
use crate::tcp::TcpSocket;
use crate::watching::Watched;

use super::waiting::waits_inside;

/// The calls in which a thread that serves requests waits for them.
const SERVING: [&str; 3] = ["events", "receive", "read/socket"];

pub(super) fn is_serving(thread: &Watched) -> bool {
    SERVING.iter().any(|call| thread.seen_in(call) > 0)
}

/// Whether a thread does nothing but look at the clock from time to time, while others of its program serve, as one of
/// Go's runtime does (`sysmon`).
fn is_clock(one: &Watched, all: &[&Watched]) -> bool {
    let asleep = one.seen_in("sleep");
    let served: u32 = SERVING.iter().map(|call| one.seen_in(call)).sum();
    let others = || all.iter().filter(|other| **other != one);
    asleep > 0
        && served * 10 <= asleep
        && others().all(|other| other.seen_in("sleep") <= (asleep / 10).max(COINCIDENCE))
        && others().any(|other| is_serving(other) || other.running > 0)
}

/// Looks at which a thread may be seen in a short sleep by chance.
const COINCIDENCE: u32 = 2;

/// Tells whether a thread serves requests: one beside others that does nothing but sleep does not.
pub(super) fn serving(host: &HostReading) -> impl Fn(&Watched) -> bool {
    let all = host.watched();
    let unread = |one: &TcpSocket| one.number("received_queue") > 0;
    let is_asked = host.now.sockets.iter().flatten().any(unread);
    let is_waited_for = waits_inside(host);
    move |one: &Watched| {
        let same: Vec<&Watched> =
            all.values().filter(|other| other.process == one.process).collect();
        let serves = is_serving(one) || is_waited_for || (is_asked && same.len() == 1);
        serves && !is_clock(one, &same)
    }
}

/// Seconds of a sleep below which it is a try to get a lock, or work, as a runtime makes it before it really sleeps.
const SPIN: f64 = 200e-6;

/// Whether a thread sleeps for shorter times: it was woken so often that none of its sleeps was longer.
pub(super) fn spins(host: &HostReading, thread: u32, one: &Watched) -> bool {
    let asleep = f64::from(one.seen_in("sleep")) / f64::from(one.looks.max(1));
    asleep < woken(host, thread) * SPIN
}

/// How often a second a thread was woken.
pub(super) fn woken(host: &HostReading, thread: u32) -> f64 {
    let count = |counters: &crate::counters::Counters| counters.threads.get(&thread)?.wake_ups;
    match (count(&host.before), count(&host.now), host.seconds) {
        (Some(before), Some(now), Some(seconds)) => now.saturating_sub(before) as f64 / seconds,
        _ => 0.0,
    }
}
