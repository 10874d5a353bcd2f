//! The workloads, their contenders and their targets, as data.
//!
//! Never runs anything. A new workload is an entry here; those over TLS are in `secure_workloads`.

use crate::bench::contender::{CHAT, FLOOR_HUB, JSON, NGINX, SERVE};
use crate::bench::contender::{Contender, FLOOR_FILE, FLOOR_KEPT, FLOOR_PIPELINED};
use crate::bench::contender::{EVENTS, FLOOR_SHORT, NATS, NCHAN, REDIS, RESP, SOCKETS};
use crate::bench::proxy_workloads::PROXY_WORKLOADS;
use crate::bench::sample::Metric;
use crate::bench::secure_workloads::SECURE_WORKLOADS;
use crate::bench::stream_workloads::STREAM_WORKLOADS;
use crate::bench::target::{Against, Target};
use crate::bench::workload::{Load, Workload};

const FAN_TARGETS: &[Target] = &[Target::cpu_to("floor", 1.04)];

/// Deliveries, compared with a hub that sends each message to all connections.
const fn fan(name: &'static str, title: &'static str, lines: u32) -> Workload {
    let load = Load::Fan { members: 1000, lines };
    Workload::new(name, title, "/", load, &[FLOOR_HUB, CHAT], FAN_TARGETS)
}

const CHANNEL_TARGETS: &[Target] = &[Target::cpu_to("floor", 1.08)];

const CHANNEL_FIELD: &[Contender] = &[FLOOR_HUB, SOCKETS, EVENTS, RESP, REDIS, NATS, NCHAN];

/// The files of workloads by size: their paths and their KiB.
pub(crate) const FILES: &[(&str, usize)] = &[
    ("/8.bin", 8),
    ("/32.bin", 32),
    ("/64.bin", 64),
    ("/128.bin", 128),
    ("/256.bin", 256),
    ("/1024.bin", 1024),
    ("/8192.bin", 8192),
];

const FILE_TARGETS: &[Target] = &[
    Target::cpu_to("nginx", 0.8),
    Target::at_least(Metric::Rate, Against::Contender("nginx"), 1.0),
];

/// A file of this size, compared with nginx with `sendfile`.
const fn file(name: &'static str, title: &'static str, path: &'static str) -> Workload {
    let load = Load::Kept { connections: 32 };
    Workload::new(name, title, path, load, &[NGINX, SERVE], FILE_TARGETS)
}

const KEPT_FIELD: &[Contender] = &[FLOOR_KEPT, JSON, NGINX];
const SHORT_FIELD: &[Contender] = &[FLOOR_SHORT, JSON, NGINX];

const SHORT_TARGETS: &[Target] = &[Target::cpu_to("floor", 1.03), Target::cpu_to("nginx", 1.0)];

const THREE_TIMES_NGINX: &[Target] =
    &[Target::at_least(Metric::Rate, Against::Contender("nginx"), 3.0)];

/// One of the workloads with few connections. With one and four connections the way a server waits matters; with ten it
/// always has work, so ten has no target.
const fn few(name: &'static str, title: &'static str, load: Load) -> Workload {
    let targets = match load {
        Load::Few { connections: 1 | 4 } => THREE_TIMES_NGINX,
        _ => &[],
    };
    Workload::new(name, title, "/json", load, KEPT_FIELD, targets).by(Metric::Rate)
}

/// All workloads, in the order they run.
pub(crate) fn workloads() -> impl Iterator<Item = &'static Workload> {
    let beside = PROXY_WORKLOADS.iter().chain(STREAM_WORKLOADS);
    PLAIN_WORKLOADS.iter().chain(SECURE_WORKLOADS).chain(beside)
}

/// The workloads without TLS.
const PLAIN_WORKLOADS: &[Workload] = &[
    Workload::new(
        "a",
        "JSON kept alive, 256 connections",
        "/json",
        Load::Kept { connections: 256 },
        KEPT_FIELD,
        &[
            Target::cpu_to("floor", 1.03),
            Target::at_most(Metric::UserMicros, Against::Itself, 0.28),
        ],
    )
    .always(),
    Workload::new(
        "b",
        "JSON pipelined 16 deep, 256 connections",
        "/json",
        Load::Pipelined { connections: 256, depth: 16 },
        &[FLOOR_PIPELINED, JSON, NGINX],
        &[Target::cpu_to("floor", 1.15)],
    )
    .always(),
    Workload::new(
        "c",
        "JSON, a connection for each request, 60 at a time (wrk)",
        "/json",
        Load::Short { connections: 60 },
        SHORT_FIELD,
        SHORT_TARGETS,
    )
    .always(),
    Workload::new(
        "c-ab",
        "JSON, a connection for each request, 60 at a time (ab)",
        "/json",
        Load::ApacheBench { connections: 60 },
        SHORT_FIELD,
        SHORT_TARGETS,
    )
    .always(),
    Workload::new(
        "d",
        "a file of 1,406 bytes kept alive, 256 connections",
        "/page.html",
        Load::Kept { connections: 256 },
        &[FLOOR_FILE, SERVE, NGINX],
        &[Target::cpu_to("floor", 1.05)],
    )
    .always(),
    Workload::new(
        "e",
        "memory of an idle connection, 15,000 open",
        "/json",
        Load::Idle { connections: 15_000 },
        KEPT_FIELD,
        &[Target::at_most(Metric::ResidentBytes, Against::Itself, 256.0)],
    )
    .always(),
    few("f-1", "JSON kept alive, 1 connection", Load::Few { connections: 1 }).always(),
    few("f-4", "JSON kept alive, 4 connections", Load::Few { connections: 4 }).always(),
    few("f-10", "JSON kept alive, 10 connections", Load::Few { connections: 10 }).always(),
    few("f-1-wrk", "JSON kept alive, 1 connection (wrk)", Load::Kept { connections: 1 }),
    few("f-4-wrk", "JSON kept alive, 4 connections (wrk)", Load::Kept { connections: 4 }),
    few("f-10-wrk", "JSON kept alive, 10 connections (wrk)", Load::Kept { connections: 10 }),
    Workload::new(
        "g",
        "tail of JSON kept alive, open loop at half the maximum, 64 connections",
        "/json",
        Load::Paced { connections: 64, percent: 50 },
        KEPT_FIELD,
        &[Target::at_most(Metric::LatencyP999, Against::Contender("floor"), 2.0)],
    )
    .always()
    .by(Metric::LatencyP999),
    file("file-8", "a file of 8 KiB kept alive, 32 connections", "/8.bin"),
    file("file-32", "a file of 32 KiB", "/32.bin"),
    file("file-64", "a file of 64 KiB", "/64.bin"),
    file("file-128", "a file of 128 KiB", "/128.bin"),
    file("file-256", "a file of 256 KiB", "/256.bin"),
    file("file-1024", "a file of 1 MiB", "/1024.bin"),
    file("file-8192", "a file of 8 MiB", "/8192.bin"),
    fan("fan-1", "a line to 1,000 members, one at a time: a delivery is a request", 1),
    fan("fan-16", "the same, 16 lines at a time", 16),
    Workload::new(
        "channels-1",
        "a message of 100 bytes to 1,000 subscribers, one at a time: a delivery is a request",
        "/",
        Load::Fan { members: 1000, lines: 1 },
        CHANNEL_FIELD,
        CHANNEL_TARGETS,
    ),
    Workload::new(
        "channels-16",
        "the same, 16 messages at a time",
        "/",
        Load::Fan { members: 1000, lines: 16 },
        CHANNEL_FIELD,
        CHANNEL_TARGETS,
    ),
    Workload::new(
        "channels-19000",
        "a message of 100 bytes to 19,000 subscribers, one at a time",
        "/",
        Load::Fan { members: 19_000, lines: 1 },
        &[FLOOR_HUB, SOCKETS],
        // A message reaches the last subscriber in at most 1.15 times the time.
        &[Target::at_least(Metric::Rate, Against::Contender("floor"), 1.0 / 1.15)],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_means_every_workload_of_its_group() {
        let count =
            |wanted: &str| workloads().filter(|workload| workload.answers_to(wanted)).count();
        assert_eq!((count("a"), count("c"), count("f"), count("f-4"), count("z")), (1, 2, 3, 1, 0));
        assert_eq!(count("f-4-wrk"), 1);
    }

    #[test]
    fn every_target_names_a_contender_that_takes_part() {
        for workload in workloads() {
            let is_file = workload.name.starts_with("file-");
            let first = match workload.name {
                "proxy-json" | "proxy-latency" | "proxy-cache" => "direct",
                "tls-sockets" | "h2-idle" => "plain",
                "h2-json" => "h2o",
                "h2-one" => "http1",
                "h2-events" => "websockets",
                "proxy-1m" | "proxy-upload" | "proxy-cache-1m" => "nginx",
                "h2-file" | "h2-alone" | "h2-beside" => "nginx",
                name if is_file || name.starts_with("tls-") => "nginx",
                _ => "floor",
            };
            assert_eq!(workload.contenders[0].name, first, "{}", workload.name);
            assert!(!is_file || FILES.iter().any(|(path, _)| *path == workload.path));
            for target in workload.targets {
                if let Against::Contender(name) | Against::Above(name) = target.against {
                    assert!(workload.contenders.iter().any(|contender| contender.name == name));
                }
            }
        }
    }
}
