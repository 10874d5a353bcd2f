//! Plans for runs of a few hundred milliseconds, and the properties of every run.
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

use std::net::SocketAddr;
use std::num::NonZero;
use std::time::Duration;

use bench::plan::{
    Aim, AnswerCheck, Arrivals, Lifetime, LoadPlan, LoadProtocol, Ownership, PlannedRequest,
    RequestPace, RequestRate, ThreadPinning, Upkeep,
};
use bench::report::{Ended, RunReport};
use bench::tally::FailureKind;

/// Runs of which one must be undisturbed: a host that gives the core to others makes a run shorter.
pub(crate) const TRIES: usize = 20;

/// Three connections of one thread in a closed loop for 300 ms; no timeout, however slow the host is.
pub(crate) fn plan(address: SocketAddr) -> LoadPlan {
    plan_of(address, &PlannedRequest::default())
}

pub(crate) fn plan_of(address: SocketAddr, request: &PlannedRequest) -> LoadPlan {
    let aim = Aim::at(&[format!("http://{address}/")], &[], request, Ownership::Unsaid).unwrap();
    LoadPlan {
        targets: aim.targets,
        peers: aim.peers,
        connections: 3,
        threads: 1,
        pinning: ThreadPinning::None,
        pace: RequestPace::Closed,
        duration: Duration::from_millis(300),
        warmup: Duration::ZERO,
        count: NonZero::new(500),
        runs: 1,
        lifetime: Lifetime::KeptAlive,
        upkeep: Upkeep::Replace,
        protocol: LoadProtocol::Http1,
        pipeline: 1,
        timeout: Duration::from_secs(20),
        check: AnswerCheck::default(),
        encryption: None,
        store: None,
        sources: Vec::new(),
        server: None,
        seed: 1,
    }
}

/// Like [`plan`], with a timeout of 100 ms.
pub(crate) fn impatient_plan(address: SocketAddr) -> LoadPlan {
    LoadPlan { timeout: Duration::from_millis(100), ..plan(address) }
}

/// A rate of this many requests per second at equal intervals.
pub(crate) fn rate(per_second: f64) -> RequestPace {
    RequestPace::Open(RequestRate::steady(per_second, Duration::from_secs(1), Arrivals::Constant))
}

/// Runs a plan, until at least one request has ended in it.
pub(crate) fn run(plan: &LoadPlan) -> RunReport {
    undisturbed(plan, |run| run.requests.answered + run.requests.failed > 0)
}

/// Runs a plan, again if it was disturbed; returns the last run in any case.
pub(crate) fn undisturbed(plan: &LoadPlan, is_whole: impl Fn(&RunReport) -> bool) -> RunReport {
    let mut tries = (0..TRIES).map(|_| run_once(plan));
    let mut last = tries.next().unwrap();
    while !is_whole(&last)
        && let Some(run) = tries.next()
    {
        last = run;
    }
    last
}

/// Runs once, and checks that no request is lost or counted twice.
fn run_once(plan: &LoadPlan) -> RunReport {
    let report = bench::run::requests(plan, Vec::new(), |_| {}).unwrap();
    assert_eq!(report.ended, Ended::Complete);
    let run = report.runs.into_iter().next().unwrap();
    let requests = &run.requests;
    assert_eq!(
        requests.in_flight_start + requests.asked + requests.unasked,
        requests.answered + requests.failed + requests.in_flight_end,
        "{requests:?}"
    );
    assert_eq!(run.service.count, requests.answered);
    if plan.pace == RequestPace::Closed {
        let most = u64::from(plan.connections) * u64::from(plan.pipeline);
        assert!(requests.in_flight_end <= most, "{requests:?}");
    }
    run
}

/// Checks that every request that ended failed, and in this way.
pub(crate) fn assert_only(run: &RunReport, kind: FailureKind, what: &str) {
    let requests = &run.requests;
    assert!(requests.failed > 0, "{what}: {requests:?}");
    assert_eq!(requests.failed_by.of(kind), requests.failed, "{what}: {requests:?}");
    assert_eq!(requests.answered, 0, "{what}: {requests:?}");
}

/// Checks that requests were answered, and none failed.
pub(crate) fn assert_answered(run: &RunReport, what: &str) {
    let requests = &run.requests;
    assert!(requests.answered > 0, "{what}: {requests:?}");
    assert_eq!(requests.failed, 0, "{what}: {requests:?}");
}
