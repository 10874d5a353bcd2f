//! Requests that wait in sockets from one reading to the next, and the thread that may be what they wait for.
//!
//! Judges nothing.

use std::collections::BTreeMap;

use crate::host::HostReading;
use crate::tcp::{Side, TcpSocket};
use crate::watching::Watched;

/// The sockets with requests that nobody has read from one reading to the next; `None` if they cannot be seen.
pub(super) fn unread(host: &HostReading) -> Option<usize> {
    let (before, now) = (host.before.sockets.as_ref()?, host.now.sockets.as_ref()?);
    let waits = |one: &&TcpSocket| one.number("received_queue") > 0;
    let earlier: BTreeMap<_, u64> =
        before.iter().filter(waits).map(|one| (one.key(), one.number("data_sent"))).collect();
    let answers =
        |all: &[TcpSocket]| -> u64 { all.iter().map(|one| one.number("data_sent")).sum() };
    let has_answered = answers(now) > answers(before);
    // A connection that was answered meanwhile has a new request, and a queue of new connections has others.
    let is_same = |one: &&TcpSocket| match one.side {
        Side::Listens => !has_answered && earlier.contains_key(&one.key()),
        Side::Beside => false,
        Side::Accepted | Side::Opened => earlier.get(&one.key()) == Some(&one.number("data_sent")),
    };
    Some(now.iter().filter(waits).filter(is_same).count())
}

/// A thread that was seen running at nearly every look, if there is one.
pub(super) fn always_running(host: &HostReading) -> Option<u32> {
    let runs =
        |(_, one): &(&u32, &Watched)| one.looks > MANY_LOOKS && one.running * 20 >= one.looks * 19;
    host.watched().iter().find(runs).map(|(thread, _)| *thread)
}

/// Looks from which they say that a thread always runs.
const MANY_LOOKS: u32 = 5;
