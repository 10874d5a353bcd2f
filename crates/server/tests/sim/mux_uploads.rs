//! Worlds in which many bodies at once come on streams of one connection, more than it may hold.
//!
//! Owns the worlds. Every body becomes whole, whatever the order in which its client sends, and the memory is bounded.

use std::cell::Cell;
use std::sync::Arc;

use runtime::scheduler::SchedulerSettings;
use sys::pollset::Speaks;
use world::{Faults, Random};

use crate::expected::Expected;
use crate::mux_client::{MuxClient, Seen};
use crate::seeds;
use crate::small::{Exchange, Small, pattern, post};
use crate::world::{Setting, Stage};
use http::{BothVersions, Http, HttpSettings, ListenerRules, PriorKnowledge};

/// Bytes of memory of one connection beside the body that becomes whole next.
const HELD_MAXIMUM: u64 = 1024 * 1024;
/// Bytes of the longest body.
const BODY_MAXIMUM: usize = 150_000;

fn upload(random: &mut Random) -> Exchange {
    let most = [20_000, 60_000, BODY_MAXIMUM][random.index(3)];
    let body = pattern(1 + random.index(most));
    let length = body.len().to_string();
    // Its answer is the body again, which is no memory of what a client has sent.
    let echoed = &body[..body.len().min(5_000)];
    let answered = |request| Exchange { request, expected: Expected::new(200, length.as_bytes()) };
    match random.below(5) {
        0 => Exchange { request: post("/taken", echoed), expected: Expected::new(200, echoed) },
        1 => answered(post(&format!("/length?{}", random.below(300)), &body)),
        _ => answered(post("/length", &body)),
    }
}

/// Returns how often streams have lost their own windows.
fn world_of_uploads(seed: u64) -> usize {
    let mut random = Random::new(seed.wrapping_mul(0x5851_f42d_4c95_7f2d));
    let faults = if random.below(2) == 0 { Faults::none() } else { Faults::gentle() };
    let setting = Setting {
        seed,
        faults,
        schedulers: 1,
        scheduler: SchedulerSettings { connections: 1_000, ..SchedulerSettings::default() },
        first: Speaks::CLIENT,
        helper_latency_ns_maximum: 0,
    };
    let exchanges = (0..2 + random.index(99)).map(|_| upload(&mut random)).collect();
    let mut client = MuxClient::new(exchanges, None, random.bits());
    let rules = ListenerRules { prior_knowledge: PriorKnowledge::Served, ..Default::default() };
    let settings = Arc::new(HttpSettings { listeners: vec![rules], ..HttpSettings::default() });
    let mut stage: Stage<BothVersions<Small>> = Stage::new(&setting, Vec::new(), |_, _| {
        BothVersions::new(Http::new(Small::default(), Arc::clone(&settings), None))
    });
    let mut most_held = 0;
    let ended = stage.run_until(&mut [], |stage, _| {
        client.step(&stage.world);
        most_held = most_held.max(stage.sum(|scheduler| scheduler.stats().buffered_bytes));
        client.is_over()
    });
    assert!(ended && !client.was_cut, "somebody waits for ever:{}", client.waiting());
    assert_eq!(client.count(Seen::Reset), 0, "no stream was reset");
    let most = HELD_MAXIMUM + BODY_MAXIMUM as u64;
    assert!(most_held <= most, "{most_held} bytes were held, more than {most}");
    stage.run_until(&mut [], |stage, _| stage.processes() == 0);
    stage.assert_nothing_is_left();
    client.side.shrinkings
}

#[test]
fn worlds_of_more_bodies_than_a_connection_may_hold() {
    let shrinkings = Cell::new(0);
    seeds::run("worlds_of_more_bodies_than_a_connection_may_hold", 12, |seed| {
        shrinkings.set(shrinkings.get() + world_of_uploads(seed));
    });
    assert!(shrinkings.get() > 0, "no connection was crowded");
}
