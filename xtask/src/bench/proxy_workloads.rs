//! The workloads through a proxy, their contenders and their targets, as data.
//!
//! Never runs anything.

use crate::bench::contender::{CACHES, LONG_CACHES, LONG_PROXIES, PROXIES, UPLOAD_PROXIES};
use crate::bench::sample::Metric;
use crate::bench::target::{Against, Target};
use crate::bench::workload::{Load, Workload};

/// The workloads through a proxy.
pub(crate) const PROXY_WORKLOADS: &[Workload] = &[
    Workload::new(
        "proxy-json",
        "JSON through a proxy, kept alive on both sides, 64 connections",
        "/json",
        Load::Kept { connections: 64 },
        PROXIES,
        &[
            Target::cpu_to("direct", 2.2),
            Target::cpu_to("nginx", 0.6),
            Target::cpu_to("haproxy", 0.75),
        ],
    ),
    Workload::new(
        "proxy-1m",
        "1 MiB through a proxy, kept alive on both sides, 16 connections",
        "/long",
        Load::Kept { connections: 16 },
        LONG_PROXIES,
        &[Target::cpu_to("nginx", 1.0)],
    ),
    Workload::new(
        "proxy-upload",
        "1 MiB to the server behind a proxy, kept alive on both sides, 16 connections",
        "/upload",
        Load::Upload { connections: 16, bytes: 1024 * 1024 },
        UPLOAD_PROXIES,
        &[Target::cpu_to("nginx", 1.0)],
    ),
    Workload::new(
        "proxy-cache",
        "JSON from the cache of a proxy, kept alive, 64 connections",
        "/json",
        Load::Kept { connections: 64 },
        CACHES,
        &[],
    ),
    Workload::new(
        "proxy-cache-1m",
        "1 MiB from the cache of a proxy, kept alive, 16 connections",
        "/long",
        Load::Kept { connections: 16 },
        LONG_CACHES,
        &[],
    ),
    Workload::new(
        "proxy-latency",
        "JSON through a proxy at a tenth of the slowest one's maximum, 16 connections",
        "/json",
        // The server behind the proxies shares a core with the sender, which is not to wait for it.
        Load::Paced { connections: 16, percent: 10 },
        PROXIES,
        &[Target::at_most(Metric::LatencyP99, Against::Above("direct"), 200.0)],
    ),
];
