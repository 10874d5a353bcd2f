//! A server that stalls: the open loop reports all requests that had to wait, the closed loop one.

use std::time::Duration;

use crate::faults::generator::{assert_answered, plan, rate, undisturbed};
use crate::faults::server::serve;

const STALL: Duration = Duration::from_millis(400);

/// Requests between two stalls: one second in the open loop.
const BETWEEN: u32 = 500;

#[test]
fn a_stall_shows_in_the_response_times_of_an_open_loop() {
    let stalling = serve(|conversation| {
        let mut count = 0;
        while conversation.hears() {
            count += 1;
            if count % BETWEEN == 0 {
                // Paced: this server stalls on purpose; nothing is waited for.
                std::thread::sleep(STALL);
            }
            if !conversation.says(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") {
                return;
            }
        }
    });
    let mut plan = plan(stalling);
    plan.connections = 1;
    plan.duration = Duration::from_millis(2500);
    plan.count = None;
    plan.pace = rate(f64::from(BETWEEN));
    // A loaded machine stalls more requests than this server does.
    let open = undisturbed(&plan, |run| run.service.p99_ns < run.response.p99_ns / 2);
    assert_answered(&open, "open loop");
    let stall_ns = 400_000_000;
    // 200 of 500 were due during the stall, and waited for its end: one in 100 for nearly all of it.
    assert!(open.requests.waited > 0, "{:?}", open.requests);
    assert!(open.response.p99_ns > stall_ns / 2, "{:?}", open.response);
    assert!(open.response.max_ns >= stall_ns, "{:?}", open.response);
    // One of those 500 was sent into the stall.
    assert!(open.service.p99_ns < open.response.p99_ns / 2, "{:?}", open.service);

    plan.pace = bench::plan::RequestPace::Closed;
    let most_ns = open.response.p99_ns / 2;
    let closed = undisturbed(&plan, |run| run.service.p99_ns < most_ns);
    assert_answered(&closed, "closed loop");
    assert!(closed.service.max_ns >= stall_ns, "{:?}", closed.service);
    assert!(closed.service.p99_ns < most_ns, "{:?}", closed.service);
    assert_eq!(closed.response.p99_ns, closed.service.p99_ns);
}
