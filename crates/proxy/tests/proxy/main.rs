//! Upstreams: which server gets a request, what failures mean, who waits.
#![expect(clippy::unwrap_used, reason = "what goes wrong in a test is to be seen")]

mod balance;
mod health;
mod line;
mod properties;
mod slow_start;

use proxy::{
    Balance, HealthRules, ServerChoice, ServerIndex, ServerPreference, ServerRules, Upstream,
    UpstreamRules,
};

const SECOND: u64 = 1_000_000_000;

fn rules(balance: Balance, weights: &[u16]) -> UpstreamRules {
    let servers = weights.iter().enumerate().map(|(number, weight)| ServerRules {
        weight: *weight,
        identity: proxy::hash(format!("server {number}").as_bytes()),
    });
    UpstreamRules {
        servers: servers.collect(),
        balance,
        connections: 1000,
        line: 4,
        line_ns: 10 * SECOND,
        health: HealthRules { failures: 3, pause_ns: 10 * SECOND, slow_ns: None },
        slow_start_ns: 0,
    }
}

fn upstream(balance: Balance, weights: &[u16]) -> Upstream<u32> {
    Upstream::new(rules(balance, weights), 7, 0)
}

/// The server that a request gets.
fn choose(upstream: &mut Upstream<u32>, wish: &ServerPreference, now_ns: u64) -> u8 {
    match upstream.choose(0, wish, now_ns) {
        ServerChoice::Server(ServerIndex(number)) => number,
        other => panic!("{other:?}"),
    }
}

/// The same for a request that is over at once.
fn visit(upstream: &mut Upstream<u32>, now_ns: u64) -> u8 {
    let number = choose(upstream, &ServerPreference::default(), now_ns);
    upstream.release(ServerIndex(number));
    number
}
