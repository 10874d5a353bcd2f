//! The comparisons of stores, as data.
//!
//! Never runs anything. A new comparison is an entry here.

use crate::bench::contender::{Contender, FLOOR_RESP, OURS, Start};
use crate::bench::sample::Metric;
use crate::bench::target::{Against, Target};
use crate::bench::workload::{Load, Workload};

/// Keys of the scenarios that read.
pub(crate) const KEYS: u64 = 1_000_000;

/// Hot keys: they stay in the caches of the core.
pub(crate) const HOT_KEYS: u64 = 1_000;

/// The operation of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// Reads of this many keys, over this many connections with this many requests in flight.
    Read {
        keys: u64,
        connections: u32,
        pipeline: u32,
    },
    /// Writes of keys.
    Write {
        connections: u32,
    },
    Idle {
        connections: u32,
    },
    /// An import of this many rows.
    Import {
        rows: u64,
    },
}

/// One comparison.
pub(crate) struct Scenario {
    pub(crate) workload: Workload,
    pub(crate) task: Task,
}

const STORE: Contender = store("none");
const MEMCACHED: Contender = Contender { name: "memcached", start: Start::Memcached };

const fn store(sync: &'static str) -> Contender {
    Contender { name: OURS, start: Start::Store { sync } }
}

/// Ours with a log, next to ours without one.
const LOGGED: Contender = Contender { name: "log", start: Start::Store { sync: "log" } };

const fn redis(fsync: &'static str) -> Contender {
    Contender { name: "redis", start: Start::RedisStore { fsync } }
}

const READERS: &[Contender] = &[FLOOR_RESP, STORE, redis("never"), MEMCACHED];
const READERS_IN_DEPTH: &[Contender] = &[redis("never"), STORE];

const CHEAPER_THAN_REDIS: Target = Target::cpu_to("redis", 1.0);
const CHEAPER_THAN_MEMCACHED: Target = Target::cpu_to("memcached", 1.0);

const HOT: &[Target] = &[
    Target::at_most(Metric::CpuMicros, Against::Above("floor"), 0.4),
    CHEAPER_THAN_REDIS,
    CHEAPER_THAN_MEMCACHED,
];
const RANDOM: &[Target] = &[
    Target::at_most(Metric::CpuMicros, Against::Above("floor"), 0.9),
    CHEAPER_THAN_REDIS,
    CHEAPER_THAN_MEMCACHED,
    Target::at_least(Metric::Rate, Against::Itself, 100_000.0),
];
const DEEP: &[Target] = &[CHEAPER_THAN_REDIS];
const DURABLE: &[Target] = &[Target::at_least(Metric::Rate, Against::Contender("redis"), 1.0)];
const SMALL: &[Target] = &[
    Target::at_most(Metric::ResidentBytes, Against::Itself, 256.0),
    Target::at_most(Metric::ResidentBytes, Against::Contender("redis"), 0.1),
];

const fn workload(
    name: &'static str,
    title: &'static str,
    main_metric: Metric,
    contenders: &'static [Contender],
    targets: &'static [Target],
) -> Workload {
    Workload::new(name, title, "/", Load::None, contenders, targets).always().by(main_metric)
}

const fn read(
    (name, title): (&'static str, &'static str),
    (keys, connections, pipeline): (u64, u32, u32),
    targets: &'static [Target],
) -> Scenario {
    let contenders = if pipeline > 1 { READERS_IN_DEPTH } else { READERS };
    let workload = workload(name, title, Metric::CpuMicros, contenders, targets);
    Scenario { workload, task: Task::Read { keys, connections, pipeline } }
}

const fn write(
    (name, title): (&'static str, &'static str),
    connections: u32,
    contenders: &'static [Contender],
    targets: &'static [Target],
) -> Scenario {
    let workload = workload(name, title, Metric::Rate, contenders, targets);
    Scenario { workload, task: Task::Write { connections } }
}

/// All comparisons.
pub(crate) const SCENARIOS: &[Scenario] = &[
    read(("get-hot-50", "GET of a thousand hot keys, 50 connections"), (HOT_KEYS, 50, 1), HOT),
    read(("get-50", "GET of a million keys, 50 connections"), (KEYS, 50, 1), RANDOM),
    read(("get-hot-1000", "the same hot keys, 1,000 connections"), (HOT_KEYS, 1000, 1), HOT),
    read(("get-1000", "the same million, 1,000 connections"), (KEYS, 1000, 1), RANDOM),
    read(("deep-hot", "GET of hot keys, 50 connections, 16 deep"), (HOT_KEYS, 50, 16), DEEP),
    read(("deep", "GET of a million keys, 50 connections, 16 deep"), (KEYS, 50, 16), DEEP),
    write(
        ("set-commit", "SET, 1,000 connections, on disk before the answer"),
        1000,
        &[redis("always"), store("commit"), LOGGED],
        DURABLE,
    ),
    write(
        ("set-commit-50", "SET, 50 connections, on disk before the answer"),
        50,
        &[redis("always"), store("commit"), LOGGED],
        &[],
    ),
    write(
        ("set-interval", "SET, 1,000 connections, on disk within a second"),
        1000,
        &[redis("everysec"), store("interval")],
        &[],
    ),
    write(
        ("set-none", "SET, 1,000 connections, on disk whenever the kernel writes it"),
        1000,
        &[redis("no"), store("none")],
        &[],
    ),
    Scenario {
        workload: workload(
            "idle",
            "15,000 connections that have asked once and are held",
            Metric::ResidentBytes,
            &[redis("never"), STORE],
            SMALL,
        ),
        task: Task::Idle { connections: 15_000 },
    },
    Scenario {
        workload: workload(
            "import",
            "10,000,000 rows of CSV into an empty store",
            Metric::Rate,
            &[STORE],
            &[],
        ),
        task: Task::Import { rows: 10_000_000 },
    },
];
