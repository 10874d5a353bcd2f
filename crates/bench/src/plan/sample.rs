//! A plan for tests: small, right, and of the URLs they name.

use std::time::Duration;

use super::{
    Aim, AnswerCheck, Lifetime, LoadPlan, LoadProtocol, Ownership, PlannedRequest, RequestPace,
    ThreadPinning, Upkeep,
};

/// 64 connections of two threads, closed loop.
pub(crate) fn plan(urls: &[&str]) -> LoadPlan {
    let urls: Vec<String> = urls.iter().map(|url| (*url).to_owned()).collect();
    let aim =
        Aim::at(&urls, &[], &PlannedRequest::default(), Ownership::Unsaid).expect("near and right");
    LoadPlan {
        targets: aim.targets,
        peers: aim.peers,
        connections: 64,
        threads: 2,
        pinning: ThreadPinning::None,
        pace: RequestPace::Closed,
        duration: Duration::from_secs(1),
        warmup: Duration::ZERO,
        count: None,
        runs: 1,
        lifetime: Lifetime::KeptAlive,
        upkeep: Upkeep::Replace,
        protocol: LoadProtocol::Http1,
        pipeline: 1,
        timeout: Duration::from_secs(5),
        check: AnswerCheck::default(),
        encryption: None,
        store: None,
        sources: Vec::new(),
        server: None,
        seed: 1,
    }
}
