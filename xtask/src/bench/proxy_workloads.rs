//! The workloads through a proxy, their contenders and their targets, as data.
//!
//! Never runs anything.

use crate::bench::contender::{CACHES, LONG_CACHES, LONG_PROXIES, PROXIES, UPLOAD_PROXIES};
use crate::bench::sample::Metric;
use crate::bench::target::{Against, Bound, Target};
use crate::bench::workload::{Load, Runs, Workload};

const fn at_most(contender: &'static str, most: f64) -> Target {
    let (metric, against) = (Metric::CpuMicros, Against::Contender(contender));
    Target { metric, against, bound: Bound::AtMost(most) }
}

/// The workloads through a proxy.
pub(crate) const PROXY_WORKLOADS: &[Workload] = &[
    Workload {
        name: "proxy-json",
        title: "JSON through a proxy, kept alive on both sides, 64 connections",
        path: "/json",
        load: Load::Kept { connections: 64 },
        runs: Runs::WhenNamed,
        contenders: PROXIES,
        main_metric: Metric::CpuMicros,
        targets: &[at_most("direct", 2.2), at_most("nginx", 0.6), at_most("haproxy", 0.75)],
    },
    Workload {
        name: "proxy-1m",
        title: "1 MiB through a proxy, kept alive on both sides, 16 connections",
        path: "/long",
        load: Load::Kept { connections: 16 },
        runs: Runs::WhenNamed,
        contenders: LONG_PROXIES,
        main_metric: Metric::CpuMicros,
        targets: &[at_most("nginx", 1.0)],
    },
    Workload {
        name: "proxy-upload",
        title: "1 MiB to the server behind a proxy, kept alive on both sides, 16 connections",
        path: "/upload",
        load: Load::Upload { connections: 16, bytes: 1024 * 1024 },
        runs: Runs::WhenNamed,
        contenders: UPLOAD_PROXIES,
        main_metric: Metric::CpuMicros,
        targets: &[at_most("nginx", 1.0)],
    },
    Workload {
        name: "proxy-cache",
        title: "JSON from the cache of a proxy, kept alive, 64 connections",
        path: "/json",
        load: Load::Kept { connections: 64 },
        runs: Runs::WhenNamed,
        contenders: CACHES,
        main_metric: Metric::CpuMicros,
        targets: &[],
    },
    Workload {
        name: "proxy-cache-1m",
        title: "1 MiB from the cache of a proxy, kept alive, 16 connections",
        path: "/long",
        load: Load::Kept { connections: 16 },
        runs: Runs::WhenNamed,
        contenders: LONG_CACHES,
        main_metric: Metric::CpuMicros,
        targets: &[],
    },
    Workload {
        name: "proxy-latency",
        title: "JSON through a proxy at a tenth of the slowest one's maximum, 16 connections",
        path: "/json",
        // The server behind the proxies shares a core with the sender, which is not to wait for it.
        load: Load::Paced { connections: 16, percent: 10 },
        runs: Runs::WhenNamed,
        contenders: PROXIES,
        main_metric: Metric::LatencyP99,
        targets: &[Target::at_most(Metric::LatencyP99, Against::Above("direct"), 200.0)],
    },
];
