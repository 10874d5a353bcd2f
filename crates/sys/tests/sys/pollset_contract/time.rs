//! Clause 8: clocks and the bound of a wait.

use sys::pollset::{Pollset, WaitLimit};

use crate::pollset_contract::harness::Harness;
use crate::pollset_contract::steps::{FIRST, connected, quiet};

pub(crate) fn monotonic_time_never_goes_back<H: Harness>(mut harness: H) {
    let mut last_ns = harness.pollset().monotonic_ns();
    let first_ns = last_ns;
    for _ in 0..1_000 {
        harness.pass(1_000);
        let now_ns = harness.pollset().monotonic_ns();
        assert!(now_ns >= last_ns);
        last_ns = now_ns;
    }
    assert!(last_ns > first_ns, "and it goes on");
    assert!(harness.pollset().unix_ns() > 1_700_000_000_000_000_000, "after November 2023");
}

pub(crate) fn a_wait_keeps_its_bound<H: Harness>(mut harness: H) {
    let started_ns = harness.pollset().monotonic_ns();
    assert_eq!(harness.pollset().wait(WaitLimit::None).unwrap(), 0);
    let bound_ns = harness.pollset().monotonic_ns() + 10_000_000;
    assert_eq!(harness.pollset().wait(WaitLimit::Until(bound_ns)).unwrap(), 0);
    assert_eq!(harness.pollset().wait(WaitLimit::Until(started_ns)).unwrap(), 0, "it is over");
    let now_ns = harness.pollset().monotonic_ns();
    assert!(now_ns < bound_ns + 60_000_000_000, "a loaded machine is late, but not by a minute");
    let (_listener, socket, client) = connected(&mut harness);
    harness.pollset().watch(&socket, FIRST).unwrap();
    quiet(&mut harness);
    harness.client_send(&client, b"x");
    harness.pass(5_000_000);
    let far_ns = harness.pollset().monotonic_ns() + 3_600_000_000_000;
    assert_eq!(
        harness.pollset().wait(WaitLimit::Until(far_ns)).unwrap(),
        1,
        "an event ends a wait"
    );
}

/// Waits, at least one of which is not interrupted.
const TRIES: usize = 5;

pub(crate) fn an_exact_wait_ends_at_its_time_and_not_before<H: Harness>(mut harness: H) {
    for wait_ns in [0, 1_000, 300_000, 7_000_000, 60_000_000] {
        // A process that was stopped and continued (by a debugger, or a frozen machine) finds the wait over: but not
        // every time.
        let early_ns = (0..TRIES).map(|_| {
            let bound_ns = harness.pollset().monotonic_ns() + wait_ns;
            assert_eq!(harness.pollset().wait(WaitLimit::UntilExactly(bound_ns)).unwrap(), 0);
            harness.pass(wait_ns);
            bound_ns.saturating_sub(harness.pollset().monotonic_ns())
        });
        let least_ns = early_ns.min();
        assert_eq!(least_ns, Some(0), "too early of {wait_ns} ns");
    }
    let (_listener, socket, client) = connected(&mut harness);
    harness.pollset().watch(&socket, FIRST).unwrap();
    quiet(&mut harness);
    harness.client_send(&client, b"x");
    harness.pass(5_000_000);
    let far_ns = harness.pollset().monotonic_ns() + 3_600_000_000_000;
    assert_eq!(harness.pollset().wait(WaitLimit::UntilExactly(far_ns)).unwrap(), 1);
}
