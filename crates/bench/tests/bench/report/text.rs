//! The text of whole reports.

use bench::report::{Ended, Measured, Report, write_text};
use bench::tally::FailureKind;

use crate::report::sample::{SECOND_NS, closed_plan, closed_run, of, open_plan, open_run, stage};

fn text(measured: Measured) -> String {
    let mut text = String::new();
    write_text(&Report::of(measured), &mut text).expect("a text takes everything");
    text
}

const CLOSED: &str = "\
velodrome bench VERSION: http, closed loop, 4 connections, 1 thread, 1.00 s after 2.00 s of warm-up
  GET http://127.0.0.1:8080/

rate        4,000 requests/s
bytes       4.00 MB/s in, 200 kB/s out
requests    4,000 asked, 4,000 sent, 4,000 answered, 0 failed
failed by   connect 0, reset 0, timeout 0, status 0, check 0, garbage 0
connections 4 asked, 4 open, 4 opened, 0 refused

                  min      p50      p90      p95      p99    p99.9   p99.99      max     mean
service        990 us   990 us   990 us   990 us   990 us  1.99 ms  1.99 ms  1.99 ms  1.00 ms
response      as service: in a closed loop a request is due when it is sent
connect       40.0 us  50.0 us  70.0 us  70.0 us  70.0 us  70.0 us  70.0 us  70.0 us  55.0 us

server      8.00 us of CPU per request (user 2.00 us, system 6.00 us), busiest thread 2.8 % of its core
            example, 1 process, 2 threads, 12.3 MB in RAM
generator   5.00 us of CPU per request, busiest thread 2.0 % of its core
host        Linux 6.18.0, Example 9000, 2 cores to use, 0.2 % stolen

VALID: no reason to doubt these figures
";

#[test]
fn a_closed_loop() {
    assert_eq!(text(of(closed_plan(), vec![closed_run()])), versioned(CLOSED));
}

const OPEN: &str = "\
velodrome bench VERSION: http, open loop from 1,000 to 25,000 requests/s (constant), 4 connections, 1 thread, \
1.00 s after 2.00 s of warm-up, 3 runs, PARTIAL
  GET http://127.0.0.1:8080/

rate        1,000 requests/s, the median of 800 to 1,000 (spread 20.0 %)
bytes       0 B/s in, 0 B/s out
requests    3,000 asked, 3,000 sent, 3,000 answered, 1,200 failed
failed by   connect 0, reset 0, timeout 1,200, status 0, check 0, garbage 0
connections 4 asked, 4 open, 4 opened, 0 refused

                  min      p50      p90      p95      p99    p99.9   p99.99      max     mean
service        100 us   100 us   100 us   100 us   100 us   100 us   100 us   100 us   100 us
  spread        0.0 %    0.0 %    0.0 %    0.0 %    0.0 %    0.0 %    0.0 %    0.0 %    0.0 %
response       120 us   120 us   120 us   120 us   120 us   120 us   120 us   120 us   120 us
  spread        0.0 %    0.0 %    0.0 %    0.0 %    0.0 %    0.0 %    0.0 %    0.0 %    0.0 %
connect       50.0 us  50.0 us  50.0 us  50.0 us  50.0 us  50.0 us  50.0 us  50.0 us  50.0 us
sent late     20.0 us  20.0 us  20.0 us  20.0 us  20.0 us  20.0 us  20.0 us  20.0 us  20.0 us

server      8.00 us of CPU per request (user 2.00 us, system 6.00 us), busiest thread 0.7 % of its core
            example, 1 process, 2 threads, 12.3 MB in RAM
generator   5.00 us of CPU per request, busiest thread 0.5 % of its core
host        Linux 6.18.0, Example 9000, 2 cores to use, 3.3 % stolen

note: partial: it was stopped before its planned end
note: run 2: 1,200 requests failed (54.5 %: --fail-if makes that an exit status); the times are of the 1,000 that were answered
INVALID: do not trust these figures
  - run 2: the hypervisor gave 3.3 % of the time of a core in use to others (at most 1.0 %)
";

#[test]
fn several_runs_of_an_open_loop_some_of_them_bad() {
    let mut plan = open_plan();
    plan.rate_to_per_s = Some(25_000.0);
    let mut bad = open_run();
    bad.steal_share = Some(0.033);
    bad.server = None;
    bad.wall_ns = SECOND_NS * 5 / 4;
    (0..1200).for_each(|_| bad.tally.fail(FailureKind::Timeout, 100 * SECOND_NS));
    let measured = of(plan, vec![open_run(), bad, open_run()]);
    assert_eq!(text(Measured { ended: Ended::Interrupted, ..measured }), versioned(OPEN));
}

#[test]
fn stages_are_told_one_after_the_other() {
    let mut plan = open_plan();
    plan.rate_from_per_s = Some(0.0);
    plan.stages = vec![stage(0.0, 1000.0), stage(1000.0, 1000.0)];
    let text = text(of(plan, vec![open_run()]));
    let expected =
        "open loop, requests/s from 0 to 1,000 in 1.00 s, then 1,000 for 1.00 s (constant)";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn without_a_run_there_is_a_verdict_and_no_table() {
    let text = text(of(closed_plan(), Vec::new()));
    assert!(
        text.ends_with("INVALID: do not trust these figures\n  - no run was finished\n"),
        "{text}"
    );
    assert!(!text.contains("p50"), "{text}");
}

fn versioned(text: &str) -> String {
    text.replacen("VERSION", env!("CARGO_PKG_VERSION"), 1)
}
