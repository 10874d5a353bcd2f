//! The scenarios in which generators are compared, and our targets, as data.
//!
//! Never runs anything. The server is always the floor.

use crate::bench::contender::{Contender, FLOOR_KEPT, FLOOR_PERSISTENT, FLOOR_PIPELINED};
use crate::bench::contender::{FLOOR_SHORT, FLOOR_STALLING, FLOOR_TICKING, OURS, Start};
use crate::bench::sample::Metric;
use crate::bench::target::{Against, Target};
use crate::bench::workload::{Load, Workload};

/// Our generator as a closed loop, to compare it with itself at a rate.
pub(crate) const OURS_CLOSED: &str = "velodrome closed";

/// The load of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// As fast as answers arrive.
    Closed,
    /// Ours at a rate, the others as fast as answers arrive.
    Paced { per_second: u32 },
}

/// One comparison.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) task: Task,
    /// The contenders are generators here, each with the server that it loads.
    pub(crate) workload: Workload,
}

const fn generator(name: &'static str, start: Start) -> Contender {
    Contender { name, start }
}

/// Only ab may need a server that announces that it keeps the connection.
const fn all(start: Start, for_ab: Start) -> [Contender; 5] {
    [
        generator("wrk", start),
        generator(OURS, start),
        generator("h2load", start),
        generator("ab", for_ab),
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
    let workload = Workload::new(name, title, "/json", load, contenders, targets);
    Scenario { task, workload: workload.always().by(main_metric) }
}

const KEPT_ALL: &[Contender] = &all(FLOOR_KEPT.start, FLOOR_PERSISTENT.start);
const SHORT_ALL: &[Contender] = &all(FLOOR_SHORT.start, FLOOR_SHORT.start);
const PIPELINED_ALL: &[Contender] = &all(FLOOR_PIPELINED.start, FLOOR_PIPELINED.start);
const TICKING_ALL: &[Contender] = &all(FLOOR_TICKING.start, FLOOR_TICKING.start);
const OURS_ALONE: &[Contender] = &[generator(OURS, FLOOR_KEPT.start)];
const STALLED: &[Contender] = &[
    generator("wrk", FLOOR_STALLING.start),
    generator(OURS, FLOOR_STALLING.start),
    generator(OURS_CLOSED, FLOOR_STALLING.start),
];

/// All scenarios, in the order they run.
pub(crate) static SCENARIOS: &[Scenario] = &[
    scenario(
        "kept",
        "kept alive, closed loop, 256 connections",
        Load::Kept { connections: 256 },
        KEPT_ALL,
        (Metric::CpuMicros, &[Target::cpu_to("wrk", 0.82)]),
        Task::Closed,
    ),
    scenario(
        "short",
        "a connection for each request, 60 at a time",
        Load::Short { connections: 60 },
        SHORT_ALL,
        (Metric::CpuMicros, &[Target::cpu_to("wrk", 1.02)]),
        Task::Closed,
    ),
    scenario(
        "pipelined",
        "pipelined 16 deep, 256 connections",
        Load::Pipelined { connections: 256, depth: 16 },
        PIPELINED_ALL,
        (Metric::CpuMicros, &[Target::cpu_to("wrk", 0.6)]),
        Task::Closed,
    ),
    scenario(
        "pacing",
        "50,000 requests a second over 64 connections: from due to sent",
        Load::Kept { connections: 64 },
        OURS_ALONE,
        (
            Metric::SentLateP99,
            &[
                Target::at_most(Metric::SentLateP99, Against::Itself, 50.0),
                // Waiting for a free connection does not count as late: a rate that was not kept shows here.
                Target::at_least(Metric::Rate, Against::Itself, 49_500.0),
            ],
        ),
        Task::Paced { per_second: 50_000 },
    ),
    scenario(
        "stall",
        "the server stands still for 100 ms of every second: p99 from when requests were due (ours, 10,000 \
         a second), from their send (ours, closed loop), and with samples added for what was not sent \
         meanwhile (wrk 4, closed loop)",
        Load::Kept { connections: 64 },
        STALLED,
        (Metric::LatencyP99, &[Target::at_least(Metric::LatencyP99, Against::Itself, 50_000.0)]),
        Task::Paced { per_second: 10_000 },
    ),
    scenario(
        "cross",
        "cross-check: the server answers whoever has asked, at each millisecond: 32 connections yield \
         32,000 a second",
        Load::Kept { connections: 32 },
        TICKING_ALL,
        (
            Metric::Rate,
            &[
                Target::at_least(Metric::Rate, Against::Contender("wrk"), 0.95),
                Target::at_most(Metric::Rate, Against::Contender("wrk"), 1.05),
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

    #[test]
    fn rates_are_compared_where_the_server_decides_them() {
        let is_rate =
            |target: &&Target| target.metric == Metric::Rate && target.against != Against::Itself;
        let compared = SCENARIOS
            .iter()
            .filter(|scenario| scenario.workload.targets.iter().any(|target| is_rate(&target)));
        let mut count = 0;
        for Scenario { workload, .. } in compared {
            for contender in workload.contenders {
                assert_eq!(contender.start, FLOOR_TICKING.start, "{}", workload.name);
            }
            count += 1;
        }
        assert_eq!(count, 1);
    }
}
