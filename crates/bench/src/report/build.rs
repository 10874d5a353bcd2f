//! Makes the report from the measurements.
//!
//! Owns the arithmetic of rates and shares. Never concludes: the verdict does.

use crate::host::{ServerUse, ThreadUse};
use crate::limits::{LITTLES_LAW_FAILED_MAXIMUM, LITTLES_LAW_SHARE_MAXIMUM, REPORT_SCHEMA};
use crate::report::encryption::EncryptionReport;
use crate::report::measured::{Measured, PlanReport, RunMeasured};
use crate::report::own_writes::OwnWritesReport;
use crate::report::run::Holds;
use crate::report::run::{
    BytesReport, GeneratorReport, LatencyReport, LittlesLaw, Requests, RunReport, SecondReport,
    ServerUsage, ThreadReport,
};
use crate::report::schema::{Report, Tool};
use crate::report::summary::Summary;
use crate::report::verdict::{ReasonCode, ResultTrust, Verdict, VerdictReason};
use crate::tally::{Seconds, Tally};

/// Nanoseconds of a second.
const SECOND_NS: u64 = 1_000_000_000;

impl Report {
    /// The report of a measurement.
    pub fn of(measured: Measured) -> Report {
        let Measured { begun_unix_s, command, plan, ended, host, runs, hold } = measured;
        let runs: Vec<RunReport> = runs.iter().map(|run| RunReport::of(run, &plan)).collect();
        Report {
            schema: REPORT_SCHEMA,
            tool: Tool {
                name: "velodrome bench".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
            begun_unix_s,
            command,
            ended,
            verdict: Verdict::of(&runs, &host, ended, &plan),
            summary: Summary::of(&runs),
            plan,
            host,
            runs,
            fail_if: Vec::new(),
            agents: Vec::new(),
            own_writes: None,
            hold,
        }
    }

    /// Adds the check of own writes; what violates it makes the report invalid.
    pub fn add_own_writes(&mut self, own_writes: OwnWritesReport) {
        let violations = own_writes.violations().into_iter();
        self.verdict.reasons.extend(violations.map(|text| VerdictReason {
            code: ReasonCode::OwnWrites,
            run: None,
            text,
        }));
        if !self.verdict.reasons.is_empty() {
            self.verdict.state = ResultTrust::Invalid;
        }
        self.own_writes = Some(own_writes);
    }
}

impl RunReport {
    /// The report of one run of a plan.
    pub fn of(run: &RunMeasured, plan: &PlanReport) -> RunReport {
        let tally = &run.tally;
        let outcomes = tally.answered + tally.failed.total();
        RunReport {
            wall_ns: run.wall_ns,
            rate_per_s: per_second(tally.answered, run.wall_ns),
            requests: requests(tally),
            connections: tally.connections,
            bytes: BytesReport { read: tally.bytes_in, written: tally.bytes_out },
            service: LatencyReport::of(tally.service()),
            response: LatencyReport::of(tally.response()),
            connect: LatencyReport::of(tally.connect()),
            tls: tally.handshakes.as_deref().map(EncryptionReport::of),
            http2: tally.streams.as_deref().cloned(),
            late: LatencyReport::of(tally.late()),
            seconds: seconds(tally.seconds(), run.wall_ns),
            generator: generator(&run.generator, outcomes),
            server: run.server.as_ref().map(|server| server_report(server, run.wall_ns, outcomes)),
            steal_share: run.steal_share,
            clock: run.clock,
            littles_law: littles_law(run, plan),
        }
    }
}

fn requests(tally: &Tally) -> Requests {
    Requests {
        asked: tally.asked,
        sent: tally.sent,
        waited: tally.waited,
        answered: tally.answered,
        failed: tally.failed.total(),
        failed_by: tally.failed,
        unasked: tally.unasked,
        found: tally.values.found,
        missing: tally.values.missing,
        in_flight_start: tally.in_flight_start,
        in_flight_end: tally.in_flight(),
        unsent_start: tally.unsent_start,
        unsent_end: tally.unsent_end,
    }
}

/// Every second of the run, including those at its end in which nothing happened. Events after the end, on threads
/// that noticed it late, belong to the last second.
fn seconds(series: &Seconds, wall_ns: u64) -> Vec<SecondReport> {
    let length = usize::try_from(wall_ns.div_ceil(SECOND_NS)).unwrap_or(usize::MAX);
    let counted = series.counts();
    let mut reports: Vec<SecondReport> = (0..length.min(series.capacity()))
        .map(|second| {
            let counts = counted.get(second).copied().unwrap_or_default();
            let before_ns = second as u64 * SECOND_NS;
            SecondReport {
                length_ns: SECOND_NS.min(wall_ns - before_ns),
                sent: counts.sent,
                answered: counts.answered,
                failed: counts.failed,
                answered_tenths: counts.answered_tenths,
                p50_ns: series.quantile_ns(second, 0.5),
                p99_ns: series.quantile_ns(second, 0.99),
            }
        })
        .collect();
    if let (Some(last), Some(after)) = (reports.last_mut(), counted.get(length..)) {
        last.sent += after.iter().map(|second| second.sent).sum::<u64>();
        last.answered += after.iter().map(|second| second.answered).sum::<u64>();
        last.failed += after.iter().map(|second| second.failed).sum::<u64>();
    }
    reports
}

fn generator(threads: &[ThreadUse], outcomes: u64) -> GeneratorReport {
    let worked = |thread: &ThreadUse| thread.cpu_ns.saturating_sub(thread.spun_ns);
    let cpu_ns = threads.iter().map(worked).sum();
    let threads = threads.iter().map(|thread| ThreadReport {
        core: thread.core,
        cpu_ns: thread.cpu_ns,
        spun_ns: thread.spun_ns,
        waited_ns: thread.waited_ns,
        longest_wait_ns: thread.longest_wait_ns,
        busy_share: thread.busy(),
    });
    GeneratorReport {
        cpu_ns,
        cpu_per_request_ns: per_request(cpu_ns, outcomes),
        threads: threads.collect(),
    }
}

fn server_report(server: &ServerUse, wall_ns: u64, outcomes: u64) -> ServerUsage {
    let part = |part_ns: Option<u64>| part_ns.and_then(|part_ns| per_request(part_ns, outcomes));
    ServerUsage {
        name: server.name.clone(),
        pids: server.pids.clone(),
        threads: server.threads,
        cpu_ns: server.cpu_ns,
        cpu_per_request_ns: per_request(server.cpu_ns, outcomes),
        user_per_request_ns: part(server.user_ns),
        system_per_request_ns: part(server.system_ns),
        busiest_thread_share: share(server.busiest_thread_ns as f64, wall_ns),
        waited_share: share(server.longest_waiting_thread_ns as f64, wall_ns),
        resident_bytes: server.resident_bytes,
    }
}

/// In a closed loop every connection is always in use: with a request, whatever its result, or being opened.
fn littles_law(run: &RunMeasured, plan: &PlanReport) -> LittlesLaw {
    let tally = &run.tally;
    let used_ns = tally.service().sum_ns().saturating_add(tally.spent.sum_ns());
    let measured = share(used_ns as f64, run.wall_ns);
    if plan.rate_from_per_s.is_some() {
        return LittlesLaw { holds: Holds::NotChecked, expected: None, measured, tolerance: None };
    }
    let expected = tally.connections.open as f64 * f64::from(plan.pipeline);
    let edges = expected * share(tally.service().mean_ns(), run.wall_ns).min(1.0);
    let tolerance = LITTLES_LAW_SHARE_MAXIMUM * expected + run.generator.len() as f64 + edges;
    let failed = tally.failed.total() as f64;
    let outcomes = tally.answered as f64 + failed;
    // A batch that is answered one by one and sent again as a whole uses less than its depth; a connection that ends is
    // reopened together with others.
    let ends_often = tally.connections.closed as f64 > LITTLES_LAW_FAILED_MAXIMUM * outcomes;
    let is_steady = plan.pipeline == 1 && plan.requests_per_connection.is_none() && !ends_often;
    let too_few = is_steady && measured < expected - tolerance;
    let holds = if outcomes == 0.0 || failed > LITTLES_LAW_FAILED_MAXIMUM * outcomes {
        Holds::NotChecked
    } else if too_few || measured > expected + tolerance {
        Holds::No
    } else {
        Holds::Yes
    };
    LittlesLaw { holds, expected: Some(expected), measured, tolerance: Some(tolerance) }
}

fn per_second(count: u64, wall_ns: u64) -> f64 {
    share(count as f64, wall_ns) * SECOND_NS as f64
}

fn per_request(part_ns: u64, outcomes: u64) -> Option<f64> {
    (outcomes > 0).then(|| part_ns as f64 / outcomes as f64)
}

fn share(part: f64, whole_ns: u64) -> f64 {
    if whole_ns == 0 { 0.0 } else { part / whole_ns as f64 }
}
