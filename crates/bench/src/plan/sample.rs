//! A plan for tests: small, right, and of the URLs they name.

use std::time::Duration;

use super::{Aim, Check, Lifetime, Ownership, Pace, Pinning, Plan, Request, Upkeep};

/// 64 connections of two threads, closed loop.
pub(crate) fn plan(urls: &[&str]) -> Plan {
    let urls: Vec<String> = urls.iter().map(|url| (*url).to_owned()).collect();
    let aim = Aim::at(&urls, &[], &Request::default(), Ownership::Unsaid).expect("near and right");
    Plan {
        targets: aim.targets,
        peers: aim.peers,
        connections: 64,
        threads: 2,
        pinning: Pinning::None,
        pace: Pace::Closed,
        duration: Duration::from_secs(1),
        warmup: Duration::ZERO,
        count: None,
        runs: 1,
        lifetime: Lifetime::KeptAlive,
        upkeep: Upkeep::Replace,
        pipeline: 1,
        timeout: Duration::from_secs(5),
        check: Check::default(),
        encryption: None,
        store: None,
        sources: Vec::new(),
        server: None,
        seed: 1,
    }
}
