//! Plans for runs of a few hundred milliseconds, and what holds of every run.
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

use std::net::SocketAddr;
use std::time::Duration;

use bench::plan::{
    Aim, Arrivals, Check, Lifetime, Ownership, Pace, Pinning, Plan, Rate, Request, Upkeep,
};
use bench::report::{Ended, RunReport};
use bench::tally::FailureKind;

/// Three connections of one thread in a closed loop for 300 ms; nobody waits longer than 100 ms.
pub(crate) fn plan(address: SocketAddr) -> Plan {
    plan_of(address, &Request::default())
}

pub(crate) fn plan_of(address: SocketAddr, request: &Request) -> Plan {
    let aim = Aim::at(&[format!("http://{address}/")], &[], request, Ownership::Unsaid).unwrap();
    Plan {
        targets: aim.targets,
        peers: aim.peers,
        connections: 3,
        threads: 1,
        pinning: Pinning::None,
        pace: Pace::Closed,
        duration: Duration::from_millis(300),
        warmup: Duration::ZERO,
        runs: 1,
        lifetime: Lifetime::KeptAlive,
        upkeep: Upkeep::Replace,
        pipeline: 1,
        timeout: Duration::from_millis(100),
        check: Check::default(),
        sources: Vec::new(),
        server: None,
        seed: 1,
    }
}

/// The pace of so many requests a second at equal distances.
pub(crate) fn rate(per_second: f64) -> Pace {
    Pace::Open(Rate::steady(per_second, Arrivals::Constant))
}

/// Carries a plan out. Nothing is lost and nothing counted twice, whatever happened.
pub(crate) fn run(plan: &Plan) -> RunReport {
    let report = bench::run::http(plan, Vec::new(), |_| {}).unwrap();
    assert_eq!(report.ended, Ended::Complete);
    let run = report.runs.into_iter().next().unwrap();
    let requests = &run.requests;
    assert_eq!(
        requests.in_flight_start + requests.asked,
        requests.answered + requests.failed + requests.in_flight_end,
        "{requests:?}"
    );
    assert_eq!(run.service.count, requests.answered);
    if plan.pace == Pace::Closed {
        let most = u64::from(plan.connections) * u64::from(plan.pipeline);
        assert!(requests.in_flight_end <= most, "{requests:?}");
    }
    run
}

/// Every request that came to an end failed, and in this way.
pub(crate) fn assert_only(run: &RunReport, kind: FailureKind, what: &str) {
    let requests = &run.requests;
    assert!(requests.failed > 0, "{what}: {requests:?}");
    assert_eq!(requests.failed_by.of(kind), requests.failed, "{what}: {requests:?}");
    assert_eq!(requests.answered, 0, "{what}: {requests:?}");
}

/// Requests were answered, and none failed.
pub(crate) fn assert_answered(run: &RunReport, what: &str) {
    let requests = &run.requests;
    assert!(requests.answered > 0, "{what}: {requests:?}");
    assert_eq!(requests.failed, 0, "{what}: {requests:?}");
}
