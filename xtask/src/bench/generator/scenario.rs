//! What generators are compared in, and the targets of ours, as data.
//!
//! Never runs anything. The server is the floor throughout.

use crate::bench::contender::{Contender, FLOOR_KEPT, FLOOR_PIPELINED, FLOOR_SHORT, OURS, Start};
use crate::bench::sample::Metric;
use crate::bench::workload::{Against, Bound, Load, Runs, Target, Workload};

/// What a generator is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// As fast as answers come.
    Closed,
    /// Ours at a rate, the others as fast as answers come.
    Paced { per_second: u32 },
    /// The same while the server is stopped again and again.
    Stalled { per_second: u32 },
}

/// One comparison.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) task: Task,
    /// Contenders are generators here, each with the server that it loads.
    pub(crate) workload: Workload,
}

const fn target(metric: Metric, against: Against, bound: Bound) -> Target {
    Target { metric, against, bound }
}

const fn cost_to_wrk(most: f64) -> Target {
    target(Metric::CpuMicros, Against::Contender("wrk"), Bound::AtMost(most))
}

const fn generator(name: &'static str, start: Start) -> Contender {
    Contender { name, start }
}

const fn all(start: Start) -> [Contender; 5] {
    [
        generator("wrk", start),
        generator(OURS, start),
        generator("h2load", start),
        generator("ab", start),
        generator("oha", start),
    ]
}

const fn scenario(
    name: &'static str,
    title: &'static str,
    load: Load,
    contenders: &'static [Contender],
    (main_metric, targets): (Metric, &'static [Target]),
    task: Task,
) -> Scenario {
    let workload = Workload {
        name,
        title,
        path: "/json",
        load,
        runs: Runs::Always,
        contenders,
        main_metric,
        targets,
    };
    Scenario { task, workload }
}

const KEPT_ALL: &[Contender] = &all(FLOOR_KEPT.start);
const SHORT_ALL: &[Contender] = &all(FLOOR_SHORT.start);
const PIPELINED_ALL: &[Contender] = &all(FLOOR_PIPELINED.start);
const OURS_ALONE: &[Contender] = &[generator(OURS, FLOOR_KEPT.start)];
const WRK_AND_OURS: &[Contender] =
    &[generator("wrk", FLOOR_KEPT.start), generator(OURS, FLOOR_KEPT.start)];

/// Every comparison, in the order they run.
pub(crate) static SCENARIOS: &[Scenario] = &[
    scenario(
        "kept",
        "kept alive, closed loop, 256 connections",
        Load::Kept { connections: 256 },
        KEPT_ALL,
        (Metric::CpuMicros, &[cost_to_wrk(0.82)]),
        Task::Closed,
    ),
    scenario(
        "short",
        "a connection for each request, 60 at a time",
        Load::Short { connections: 60 },
        SHORT_ALL,
        (Metric::CpuMicros, &[cost_to_wrk(1.02)]),
        Task::Closed,
    ),
    scenario(
        "pipelined",
        "pipelined 16 deep, 256 connections",
        Load::Pipelined { connections: 256, depth: 16 },
        PIPELINED_ALL,
        (Metric::CpuMicros, &[cost_to_wrk(0.6)]),
        Task::Closed,
    ),
    scenario(
        "pacing",
        "50,000 requests a second over 64 connections: from due to sent",
        Load::Kept { connections: 64 },
        OURS_ALONE,
        (Metric::SentLateP99, &[target(Metric::SentLateP99, Against::Itself, Bound::AtMost(50.0))]),
        Task::Paced { per_second: 50_000 },
    ),
    scenario(
        "stall",
        "the server stands still for 100 ms of every second; ours at 10,000 a second, wrk closed loop: p99 shows it, or not",
        Load::Kept { connections: 64 },
        WRK_AND_OURS,
        (
            Metric::LatencyP99,
            &[target(Metric::LatencyP99, Against::Itself, Bound::AtLeast(50_000.0))],
        ),
        Task::Stalled { per_second: 10_000 },
    ),
    scenario(
        "cross",
        "cross-check: the same few connections yield the same rate",
        Load::Kept { connections: 4 },
        WRK_AND_OURS,
        (
            Metric::Rate,
            &[
                target(Metric::Rate, Against::Contender("wrk"), Bound::AtLeast(0.95)),
                target(Metric::Rate, Against::Contender("wrk"), Bound::AtMost(1.05)),
            ],
        ),
        Task::Closed,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_about_ours_and_a_generator_that_takes_part() {
        for Scenario { workload, .. } in SCENARIOS {
            let takes_part =
                |name: &str| workload.contenders.iter().any(|contender| contender.name == name);
            assert!(takes_part(OURS), "{}", workload.name);
            for target in workload.targets {
                if let Against::Contender(name) = target.against {
                    assert!(takes_part(name), "{}", workload.name);
                }
            }
        }
    }
}
