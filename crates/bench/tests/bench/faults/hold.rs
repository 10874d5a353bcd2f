//! Held connections: used in turn, not replaced, and counted when they end.
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bench::plan::{LoadPlan, Upkeep};
use bench::report::{Ended, Report};

use crate::faults::generator::{TRIES, plan, rate};
use crate::faults::server::{nobody, serve};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// Ten connections, with ten requests per second each.
fn hold(address: SocketAddr) -> Report {
    let plan =
        LoadPlan { connections: 10, pace: rate(100.0), upkeep: Upkeep::Hold, ..plan(address) };
    let report = bench::run::hold(&plan, Vec::new(), |_| {}).unwrap();
    assert_eq!((report.ended, report.plan.verb.as_str()), (Ended::Complete, "hold"));
    report
}

/// Holds until nearly all of the thirty requests were sent and this condition is met: a host that gives the core to
/// others makes a run shorter, has many requests due at once, and answers some late.
fn undisturbed<Told>(
    mut hold: impl FnMut() -> (Report, Told),
    holds: impl Fn(&Told) -> bool,
) -> (Report, Told) {
    let mut tries = (0..TRIES).map(|_| hold());
    let mut last = tries.next().unwrap();
    while (last.0.runs[0].requests.asked < 29 || !holds(&last.1))
        && let Some(held) = tries.next()
    {
        last = held;
    }
    last
}

/// Holds connections to a server that counts the requests of each.
fn hold_counted() -> (Report, [u64; 10]) {
    let counts = Arc::new([const { AtomicU64::new(0) }; 10]);
    let (served, number) = (Arc::clone(&counts), AtomicU64::new(0));
    let address = serve(move |conversation| {
        let number = number.fetch_add(1, Ordering::Relaxed);
        // Counted before it is answered, so that every answered request is counted.
        while conversation.hears() {
            served[usize::try_from(number).unwrap()].fetch_add(1, Ordering::Relaxed);
            if !conversation.says(ANSWER) {
                return;
            }
        }
    });
    let report = hold(address);
    (report, counts.each_ref().map(|count| count.load(Ordering::Relaxed)))
}

/// Whether all had the same number of requests.
fn is_even(counts: &[u64; 10]) -> bool {
    let (most, fewest) = (counts.iter().max().unwrap(), counts.iter().min().unwrap());
    *fewest >= 2 && most - fewest <= 1
}

#[test]
fn held_connections_are_asked_in_turn() {
    let (report, counts) = undisturbed(hold_counted, is_even);
    let (held, requests) = (report.hold.unwrap(), &report.runs[0].requests);
    assert_eq!((held.open, held.dead), (10, 0));
    assert!(held.opened_per_s > 0.0 && held.generator_bytes_per_connection.is_some(), "{held:?}");
    assert!((29..=31).contains(&requests.asked), "{requests:?}");
    assert_eq!(requests.failed, 0, "{requests:?}");
    assert!(is_even(&counts), "{counts:?}");
}

#[test]
fn the_dead_are_counted_and_not_replaced() {
    // The first answer is for the request that is sent when it opens.
    let address = serve(|conversation| {
        let _gone = (0..2).all(|_| conversation.hears() && conversation.says(ANSWER));
    });
    let hold_told = || {
        let report = hold(address);
        let requests = &report.runs[0].requests;
        let all_met_nobody = requests.failed_by.connect == requests.failed;
        (report, all_met_nobody)
    };
    // On a busy host a request may be sent on a connection whose end is not known yet: a reset.
    let (report, _) = undisturbed(hold_told, |all_met_nobody| *all_met_nobody);
    let (held, run) = (report.hold.unwrap(), &report.runs[0]);
    assert_eq!((held.open, held.dead), (10, 10));
    assert_eq!((run.connections.opened, run.requests.answered), (10, 10));
    // No connection was left for the others, which were due later.
    let failed = &run.requests.failed_by;
    assert!(failed.connect >= 18 && failed.connect == run.requests.failed, "{failed:?}");
}

#[test]
fn connection_closed_while_opening_is_opened_again() {
    let number = AtomicU64::new(0);
    let address = serve(move |conversation| {
        let is_served = number.fetch_add(1, Ordering::Relaxed) >= 3;
        while conversation.hears() && is_served && conversation.says(ANSWER) {}
    });
    let report = hold(address);
    let (held, run) = (report.hold.unwrap(), &report.runs[0]);
    assert_eq!((held.open, held.dead), (10, 0));
    assert_eq!((run.connections.opened, run.connections.refused), (10, 3));
}

#[test]
fn failed_connections_are_not_counted_as_held() {
    let report = hold(nobody());
    let (held, run) = (report.hold.unwrap(), &report.runs[0]);
    assert_eq!((held.open, held.dead, run.requests.asked), (0, 0, 0));
    assert!(run.connections.refused >= 10, "{:?}", run.connections);
}
