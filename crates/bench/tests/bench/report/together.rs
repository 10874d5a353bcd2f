//! Reports of several generators are one, with the percentiles of all times.

use bench::report::{
    AgentReport, AgentState, LatencyReport, ReasonCode, Report, ResultTrust, RunReport,
};
use bench::tally::Latency;

use crate::report::sample::{closed_plan, closed_run, of, open_plan, open_run};

fn latency(times_ns: impl Iterator<Item = u64>) -> LatencyReport {
    let mut latency = Latency::new();
    times_ns.for_each(|time_ns| latency.record(time_ns));
    LatencyReport::of(&latency)
}

#[test]
fn percentiles_are_of_all_times_and_no_mean_of_percentiles() {
    // A slow generator with few requests: the mean of the p99 would be 500 times too high.
    let fast = latency((0..9_990).map(|number| 1_000 + number));
    let slow = latency((0..10).map(|number| 10_000_000 + number));
    let both = LatencyReport::together([&fast, &slow].into_iter()).unwrap();
    let all = (0..9_990).map(|number| 1_000 + number).chain((0..10).map(|at| 10_000_000 + at));
    let expected = latency(all);
    assert!(both.p99_ns < 12_000 && both.p99_ns == expected.p99_ns, "{both:?}");
    assert_eq!((both.count, both.min_ns, both.max_ns), (10_000, fast.min_ns, slow.max_ns));
    assert_eq!((both.p50_ns, both.p99_9_ns), (expected.p50_ns, expected.p99_9_ns));
    assert!((both.mean_ns - expected.mean_ns).abs() < 1.0, "{} {}", both.mean_ns, expected.mean_ns);
    let empty = LatencyReport::together(std::iter::empty()).unwrap();
    assert_eq!((empty.count, empty.max_ns), (0, 0));
    let broken = LatencyReport { hdr_v2: "x".to_owned(), ..fast.clone() };
    assert!(LatencyReport::together([&fast, &broken].into_iter()).is_err());
}

fn agent(address: &str, state: AgentState) -> AgentReport {
    AgentReport {
        address: address.to_owned(),
        clock_offset_ns: 0,
        clock_error_ns: 0,
        done: 1,
        state,
        reasons: vec!["gone".to_owned()],
    }
}

#[test]
fn counts_are_added_and_one_server_counts_once() {
    let one = Report::of(of(open_plan(), vec![open_run()]));
    let (first, second) = (&one.runs[0], &one.runs[0]);
    let both = RunReport::together(&[first.clone(), second.clone()]).unwrap().unwrap();
    assert_eq!(both.requests.answered, 2 * first.requests.answered);
    assert_eq!(both.connections.open, 2 * first.connections.open);
    assert_eq!(both.generator.threads.len(), 2 * first.generator.threads.len());
    let (server, seen) = (both.server.unwrap(), first.server.as_ref().unwrap());
    assert_eq!((server.cpu_ns, server.pids), (seen.cpu_ns, seen.pids.clone()));
    let mut elsewhere = second.clone();
    elsewhere.server.as_mut().unwrap().pids = vec![99_999];
    let both = RunReport::together(&[first.clone(), elsewhere]).unwrap().unwrap();
    assert_eq!(both.server.unwrap().cpu_ns, 2 * seen.cpu_ns);
    assert_eq!(RunReport::together(&[]).unwrap(), None);
}

#[test]
fn plan_of_all_is_the_sum_and_an_agent_that_was_lost_makes_it_invalid() {
    let report = || Report::of(of(closed_plan(), vec![closed_run()]));
    let together = |runs, agents| Report::together(vec!["a".to_owned()], runs, agents).unwrap();
    let agents = || vec![agent("a:1", AgentState::Valid), agent("b:1", AgentState::Valid)];
    let two = || vec![Some(report()), Some(report())];
    let whole = together(vec![two(), two()], agents()).unwrap();
    assert_eq!(whole.verdict.state, report().verdict.state, "{:?}", whole.verdict);
    assert_eq!(whole.plan.connections, 2 * report().plan.connections);
    assert_eq!((whole.runs.len(), whole.plan.runs, whole.agents.len()), (2, 2, 2));
    let lost = vec![agent("a:1", AgentState::Valid), agent("b:1", AgentState::Lost)];
    let whole = together(vec![vec![Some(report()), None]], lost).unwrap();
    assert_eq!(whole.verdict.state, ResultTrust::Invalid);
    let reason = whole.verdict.reasons.last().unwrap();
    assert_eq!(reason.code, ReasonCode::AgentLost);
    assert!(reason.text.starts_with("agent b:1 was lost"), "{reason:?}");
    assert_eq!(together(vec![vec![None, None]], agents()), None);
}
