//! Every figure of a report, computed by hand.

use bench::report::{FigureSpread, Holds, Report};
use bench::tally::{Answering, FailureKind, Latency};

use crate::report::sample::{SECOND_NS, closed_plan, closed_run, of, open, open_plan, open_run};

#[test]
fn a_closed_loop_by_hand() {
    let report = Report::of(of(closed_plan(), vec![closed_run()]));
    let run = &report.runs[0];
    assert_eq!(run.rate_per_s, 4000.0);
    assert_eq!((run.requests.asked, run.requests.sent, run.requests.answered), (4000, 4000, 4000));
    assert_eq!((run.requests.failed, run.requests.in_flight_end), (0, 0));
    assert_eq!((run.connections.asked, run.connections.open, run.connections.opened), (4, 4, 4));
    assert_eq!((run.bytes.read, run.bytes.written), (4_000_000, 200_000));

    // 3,960 of 4,000 are 0.99: the 99th percentile is still a short one. All within a thousandth.
    let within = |value: u64, exact: u64| value >= exact && value <= exact + exact / 1000;
    let service = &run.service;
    assert_eq!((service.count, service.clamped, service.mean_ns), (4000, 0, 1_000_000.0));
    assert!(within(service.p50_ns, 990_000) && within(service.p99_ns, 990_000));
    assert!(within(service.p99_9_ns, 1_990_000) && within(service.max_ns, 1_990_000));
    assert_eq!(run.response, run.service);
    assert_eq!(run.late.count, 0);
    assert_eq!((run.connect.count, run.connect.mean_ns), (4, 55_000.0));
    assert_eq!(Latency::from_text(&service.hdr_v2).unwrap().quantile_ns(0.5), service.p50_ns);

    assert_eq!(run.generator.cpu_ns, 20_000_000);
    assert_eq!(run.generator.cpu_per_request_ns, Some(5000.0));
    assert_eq!(run.generator.threads[0].busy_share, 0.02);
    let server = run.server.as_ref().unwrap();
    assert_eq!(server.cpu_per_request_ns, Some(8000.0));
    assert_eq!(
        (server.user_per_request_ns, server.system_per_request_ns),
        (Some(2000.0), Some(6000.0))
    );
    assert_eq!(server.busiest_thread_share, 0.028);

    // Four seconds of service time within one second: four connections.
    let law = &run.littles_law;
    assert_eq!((law.holds, law.expected, law.measured), (Holds::Yes, Some(4.0), 4.0));
    // 5 % of four, one for the thread, and a thousandth of the run for each connection.
    assert_eq!(law.tolerance, Some(0.05 * 4.0 + 1.0 + 4.0 * 0.001));
}

#[test]
fn an_open_loop_by_hand() {
    let report = Report::of(of(open_plan(), vec![open_run()]));
    let run = &report.runs[0];
    assert_eq!(run.rate_per_s, 1000.0);
    assert_eq!(run.service.mean_ns, 100_000.0);
    assert_eq!(run.response.mean_ns, 120_000.0);
    assert_eq!((run.late.count, run.late.mean_ns), (1000, 20_000.0));
    let law = &run.littles_law;
    assert_eq!((law.holds, law.expected, law.tolerance), (Holds::NotChecked, None, None));
    assert_eq!(law.measured, 0.1, "1,000 a second for 100 us each");
}

#[test]
fn the_series_covers_the_run_and_nothing_more() {
    let mut run = closed_run();
    // One answer came 1.5 s after the start, seen by a thread that stopped late.
    let answered_ns = 101 * SECOND_NS + SECOND_NS / 2;
    run.tally.answer(Answering { due_ns: 0, sent_ns: answered_ns - 5, answered_ns });
    let seconds = Report::of(of(closed_plan(), vec![run.clone()])).runs[0].seconds.clone();
    assert_eq!(seconds.len(), 1);
    assert_eq!((seconds[0].length_ns, seconds[0].answered), (SECOND_NS, 4001));
    run.wall_ns = 2 * SECOND_NS - SECOND_NS / 4;
    let seconds = Report::of(of(closed_plan(), vec![run])).runs[0].seconds.clone();
    let figures: Vec<_> =
        seconds.iter().map(|second| (second.length_ns, second.answered)).collect();
    assert_eq!(figures, [(SECOND_NS, 4000), (SECOND_NS / 4 * 3, 1)]);
    assert!((990_000..=990_000 / 32 * 33).contains(&seconds[0].p50_ns));
}

#[test]
fn short_connections_count_their_opening_in_littles_law() {
    // Four connections, each request 0.6 ms and each connect 0.4 ms: a thousand a second on each.
    let mut run = closed_run();
    run.tally = bench::tally::Tally::new(bench::tally::Loop::Closed, 4, SECOND_NS);
    open(&mut run.tally, 4, 400_000);
    for _ in 4..4000 {
        run.tally.close();
        open(&mut run.tally, 1, 400_000);
    }
    for _ in 0..4000 {
        run.tally.answer(Answering { due_ns: 0, sent_ns: 0, answered_ns: 600_000 });
    }
    let mut plan = closed_plan();
    plan.requests_per_connection = Some(1);
    let report = Report::of(of(plan, vec![run]));
    let law = &report.runs[0].littles_law;
    assert_eq!((law.holds, law.measured, law.expected), (Holds::Yes, 4.0, Some(4.0)));
}

#[test]
fn failures_are_outcomes_too() {
    let mut run = closed_run();
    (0..1000).for_each(|_| run.tally.fail(FailureKind::Status, 100 * SECOND_NS));
    let report = Report::of(of(closed_plan(), vec![run]));
    let run = &report.runs[0];
    assert_eq!((run.requests.failed, run.requests.failed_by.status), (1000, 1000));
    assert_eq!(run.rate_per_s, 4000.0, "the rate is of answered requests");
    assert_eq!(run.generator.cpu_per_request_ns, Some(4000.0), "20 ms over 5,000 outcomes");
    assert_eq!(run.littles_law.holds, Holds::NotChecked);
}

#[test]
fn medians_and_spreads_by_hand() {
    let spread = |values: &[f64]| FigureSpread::of(values.iter().copied());
    assert_eq!(spread(&[]), None);
    let of_one = FigureSpread { median: 5.0, min: 5.0, max: 5.0, spread: 0.0 };
    assert_eq!(spread(&[5.0]), Some(of_one));
    let of_three = FigureSpread { median: 100.0, min: 90.0, max: 120.0, spread: 0.3 };
    assert_eq!(spread(&[120.0, 90.0, 100.0]), Some(of_three));
    let of_four = FigureSpread { median: 15.0, min: 8.0, max: 38.0, spread: 2.0 };
    assert_eq!(spread(&[20.0, 8.0, 38.0, 10.0]), Some(of_four));
    assert_eq!(spread(&[0.0, 0.0]).unwrap().spread, 0.0);
}

#[test]
fn the_summary_is_of_all_runs() {
    let mut short = closed_run();
    short.wall_ns = SECOND_NS / 2;
    let report = Report::of(of(closed_plan(), vec![closed_run(), short, closed_run()]));
    let summary = report.summary.unwrap();
    let expected = FigureSpread { median: 4000.0, min: 4000.0, max: 8000.0, spread: 1.0 };
    assert_eq!(summary.rate_per_s, expected);
    assert_eq!(summary.service.mean_ns.median, 1_000_000.0);
    assert_eq!(summary.server_cpu_per_request_ns.unwrap().median, 8000.0);

    let mut unseen = closed_run();
    unseen.server = None;
    let summary = Report::of(of(closed_plan(), vec![closed_run(), unseen])).summary.unwrap();
    assert_eq!(summary.server_cpu_per_request_ns, None, "one run does not know it");
    assert_eq!(Report::of(of(closed_plan(), Vec::new())).summary, None);
}
