//! The report of a scheduler on its upstreams.
//!
//! Owns the shape, and what the views of several schedulers mean together. Never asks one.

use proxy::{HealthReason, Readiness, ServerStanding, ServerView};
use serde_json::{Value, json};

/// An upstream, as one scheduler sees it.
#[derive(Clone, Debug)]
pub struct UpstreamReport {
    /// Its name.
    pub name: String,
    /// Requests that wait for a place.
    pub waiting: usize,
    /// Its servers.
    pub servers: Vec<ServerReport>,
}

/// A server, as one scheduler sees it.
#[derive(Clone, Debug)]
pub struct ServerReport {
    /// Its address.
    pub address: String,
    /// How it stands.
    pub view: ServerView,
    /// For how many seconds it has stood so.
    pub for_s: u64,
}

/// Whether a server is to get new requests: an order of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamOrder {
    /// The upstream.
    pub upstream: String,
    /// The address of the server.
    pub server: String,
    /// The wanted state.
    pub readiness: Readiness,
}

/// The upstreams of several schedulers together, as JSON.
pub(crate) fn together<'r>(reports: impl Iterator<Item = &'r [UpstreamReport]>) -> Value {
    let reports: Vec<&[UpstreamReport]> = reports.collect();
    let Some(first) = reports.first() else { return json!([]) };
    let of = |name: &str| -> Vec<&UpstreamReport> {
        reports.iter().flat_map(|report| report.iter()).filter(|one| one.name == name).collect()
    };
    let upstreams = first.iter().map(|upstream| {
        let seen = of(&upstream.name);
        let servers = upstream.servers.iter().map(|server| {
            let views = seen.iter().flat_map(|one| &one.servers);
            let views: Vec<&ServerReport> =
                views.filter(|other| other.address == server.address).collect();
            server_of(&server.address, &views)
        });
        json!({
            "name": upstream.name,
            "waiting": seen.iter().map(|one| one.waiting).sum::<usize>(),
            "servers": servers.collect::<Vec<Value>>(),
        })
    });
    upstreams.collect()
}

fn server_of(address: &str, reports: &[&ServerReport]) -> Value {
    let views = || reports.iter().map(|report| report.view);
    let up = views().filter(|view| view.standing == ServerStanding::Up).count();
    let is_drained = views().any(|view| view.readiness == Readiness::Drained);
    let is_failing = views().all(|view| view.is_failing && view.standing == ServerStanding::Up);
    let state = match up {
        _ if is_drained => "drained",
        // All requests go there nevertheless.
        _ if is_failing => "failing",
        up if up == reports.len() => "up",
        0 => "paused",
        _ => "up on some schedulers",
    };
    // The scheduler that says the least good tells why.
    let told = reports
        .iter()
        .max_by_key(|report| (report.view.standing != ServerStanding::Up, report.view.is_failing));
    json!({
        "address": address,
        "state": state,
        "why": told.map(|report| reason_of(&report.view)),
        "for_s": told.map(|report| report.for_s),
        "open": views().map(|view| view.open).sum::<usize>(),
        "requests": views().map(|view| view.requests).sum::<u64>(),
        "failures": views().map(|view| view.failures).sum::<u64>(),
    })
}

/// Why a server stands as it does.
pub(crate) fn reason_of(view: &ServerView) -> &'static str {
    match view.reason {
        _ if view.is_failing && view.standing == ServerStanding::Up => {
            "it fails, but there is no other"
        }
        HealthReason::Started => "nothing has happened",
        HealthReason::Failures => "its requests failed",
        HealthReason::Slow => "its answers were slow",
        HealthReason::Answered => "it has answered again",
        HealthReason::CheckFailed => "its checks fail",
        HealthReason::CheckPassed => "its checks pass again",
    }
}

/// One number of a server: its name in `/metrics`, whether it only grows, its description, and where it is.
pub(crate) struct ServerNumber {
    pub(crate) name: &'static str,
    pub(crate) kind: metric::MetricKind,
    pub(crate) help: &'static str,
    pub(crate) read: fn(&ServerView) -> u64,
}

pub(crate) const NUMBERS: [ServerNumber; 4] = [
    ServerNumber {
        name: "velodrome_upstream_up",
        kind: metric::MetricKind::Gauge,
        help: "Whether a server of an upstream gets requests.",
        read: |view| {
            let is_up = view.standing == ServerStanding::Up && view.readiness == Readiness::Ready;
            u64::from(is_up)
        },
    },
    ServerNumber {
        name: "velodrome_upstream_open",
        kind: metric::MetricKind::Gauge,
        help: "Open requests at a server of an upstream.",
        read: |view| view.open as u64,
    },
    ServerNumber {
        name: "velodrome_upstream_requests_total",
        kind: metric::MetricKind::Counter,
        help: "Requests sent to a server of an upstream.",
        read: |view| view.requests,
    },
    ServerNumber {
        name: "velodrome_upstream_failures_total",
        kind: metric::MetricKind::Counter,
        help: "Requests that failed at a server of an upstream.",
        read: |view| view.failures,
    },
];
