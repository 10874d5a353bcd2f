//! The figures of several generators as those of one.
//!
//! Owns how each figure is put together: counts are added, distributions are merged and their percentiles computed
//! anew. Percentiles are never averaged, because no arithmetic on them gives the percentile of all.

use super::agent::{AgentReport, AgentState};
use super::encryption::{AgreementReport, EncryptionReport, sum_faults};
use super::latency::LatencyReport;
use super::measured::{Ended, PlanReport};
use super::run::{
    BytesReport, GeneratorReport, Holds, LittlesLaw, Requests, RunReport, SecondReport, ServerUsage,
};
use super::schema::Report;
use super::summary::Summary;
use super::verdict::{ReasonCode, ResultTrust, Verdict, VerdictReason};
use crate::limits::TERMS_MAXIMUM;
use crate::tally::{BlobError, ConnectionTally, FailureCounts, Latency, StreamTally};

impl LatencyReport {
    /// All times of several distributions.
    ///
    /// # Errors
    /// If a distribution cannot be read.
    pub fn together<'a>(
        parts: impl Iterator<Item = &'a LatencyReport>,
    ) -> Result<LatencyReport, BlobError> {
        let parts: Vec<&LatencyReport> = parts.collect();
        if let [one] = parts.as_slice() {
            return Ok((*one).clone());
        }
        let mut sum = Latency::new();
        for part in &parts {
            sum.merge(&Latency::from_text(&part.hdr_v2)?);
        }
        let with_times = || parts.iter().filter(|part| part.count > 0);
        let count: u64 = parts.iter().map(|part| part.count).sum();
        let total = parts.iter().map(|part| part.mean_ns * part.count as f64).sum::<f64>();
        Ok(LatencyReport {
            // These are exact in each part, and in a blob only to its precision.
            clamped: parts.iter().map(|part| part.clamped).sum(),
            min_ns: with_times().map(|part| part.min_ns).min().unwrap_or(0),
            max_ns: with_times().map(|part| part.max_ns).max().unwrap_or(0),
            mean_ns: if count == 0 { 0.0 } else { total / count as f64 },
            ..LatencyReport::of(&sum)
        })
    }
}

impl EncryptionReport {
    /// The handshakes of several generators; `None` if there were none.
    ///
    /// # Errors
    /// If a distribution cannot be read.
    pub fn together<'a>(
        parts: impl Iterator<Item = &'a EncryptionReport>,
    ) -> Result<Option<EncryptionReport>, BlobError> {
        let parts: Vec<&EncryptionReport> = parts.collect();
        if parts.is_empty() {
            return Ok(None);
        }
        let mut agreements: Vec<AgreementReport> = Vec::new();
        for one in parts.iter().flat_map(|part| &part.agreements) {
            let is_same = |known: &AgreementReport| {
                AgreementReport { connections: one.connections, ..known.clone() } == *one
            };
            match agreements.iter().position(is_same) {
                Some(at) => agreements[at].connections += one.connections,
                None if agreements.len() < TERMS_MAXIMUM => agreements.push(one.clone()),
                None => {}
            }
        }
        Ok(Some(EncryptionReport {
            handshake: LatencyReport::together(parts.iter().map(|part| &part.handshake))?,
            full: parts.iter().map(|part| part.full).sum(),
            resumed: parts.iter().map(|part| part.resumed).sum(),
            failed: sum_faults(parts.iter().copied()),
            agreements,
        }))
    }
}

impl Report {
    /// The measurement that several generators made together: for each run, their reports of it. `None` if none of them
    /// gave one.
    ///
    /// # Errors
    /// If a distribution cannot be read.
    pub fn together(
        command: Vec<String>,
        runs: Vec<Vec<Option<Report>>>,
        agents: Vec<AgentReport>,
    ) -> Result<Option<Report>, BlobError> {
        let given = || runs.iter().flatten().flatten();
        let Some(first) = given().next() else { return Ok(None) };
        let is_whole = given().all(|report| report.ended == Ended::Complete);
        let mut whole = Report {
            command,
            begun_unix_s: given().map(|report| report.begun_unix_s).min().unwrap_or(0),
            ended: if is_whole { Ended::Complete } else { Ended::Interrupted },
            plan: plan_together(&first.plan, runs.first().into_iter().flatten().flatten()),
            verdict: verdict(&runs, &agents),
            runs: Vec::new(),
            ..first.clone()
        };
        whole.plan.runs = u32::try_from(runs.len()).unwrap_or(u32::MAX);
        for run in runs {
            let parts: Vec<RunReport> =
                run.into_iter().flatten().flat_map(|report| report.runs).collect();
            whole.runs.extend(RunReport::together(&parts)?);
        }
        (whole.summary, whole.agents) = (Summary::of(&whole.runs), agents);
        Ok(Some(whole))
    }
}

/// The plan of all parts.
fn plan_together<'a>(first: &PlanReport, parts: impl Iterator<Item = &'a Report>) -> PlanReport {
    let plans: Vec<&PlanReport> = parts.map(|report| &report.plan).collect();
    let rate = |of: fn(&PlanReport) -> Option<f64>| plans.iter().map(|plan| of(plan)).sum();
    let mut stages = first.stages.clone();
    for (at, stage) in stages.iter_mut().enumerate() {
        let each = || plans.iter().filter_map(|plan| plan.stages.get(at));
        stage.from_per_s = each().map(|stage| stage.from_per_s).sum();
        stage.to_per_s = each().map(|stage| stage.to_per_s).sum();
    }
    PlanReport {
        connections: plans.iter().map(|plan| plan.connections).sum(),
        threads: plans.iter().map(|plan| plan.threads).sum(),
        rate_from_per_s: rate(|plan| plan.rate_from_per_s),
        rate_to_per_s: rate(|plan| plan.rate_to_per_s),
        count: plans.iter().map(|plan| plan.count).sum(),
        stages,
        ..first.clone()
    }
}

/// The verdict of each generator on its part, and the agents that were lost.
fn verdict(runs: &[Vec<Option<Report>>], agents: &[AgentReport]) -> Verdict {
    let mut reasons: Vec<VerdictReason> = Vec::new();
    let mut notes: Vec<VerdictReason> = Vec::new();
    for (run, number) in runs.iter().zip(1..) {
        for (report, agent) in run.iter().zip(agents) {
            let Some(report) = report else { continue };
            let told = |reason: &VerdictReason| VerdictReason {
                run: Some(number),
                text: format!("agent {}: {}", agent.address, reason.text),
                ..reason.clone()
            };
            reasons.extend(report.verdict.reasons.iter().map(told));
            notes.extend(report.verdict.notes.iter().map(told));
        }
    }
    for agent in agents.iter().filter(|agent| agent.state == AgentState::Lost) {
        let text = agent.why_not().unwrap_or_default();
        reasons.push(VerdictReason { code: ReasonCode::AgentLost, run: None, text });
    }
    let state = if reasons.is_empty() { ResultTrust::Valid } else { ResultTrust::Invalid };
    Verdict { state, reasons, notes }
}

impl RunReport {
    /// The run that several generators made together; `None` without any.
    ///
    /// # Errors
    /// If a distribution cannot be read.
    pub fn together(parts: &[RunReport]) -> Result<Option<RunReport>, BlobError> {
        let Some(first) = parts.first() else { return Ok(None) };
        let latency =
            |of: fn(&RunReport) -> &LatencyReport| LatencyReport::together(parts.iter().map(of));
        let requests = requests(parts);
        let outcomes = requests.answered + requests.failed;
        let sum = |of: fn(&RunReport) -> u64| parts.iter().map(of).sum::<u64>();
        Ok(Some(RunReport {
            wall_ns: parts.iter().map(|part| part.wall_ns).max().unwrap_or(first.wall_ns),
            // Each counted for its own time; the times differ by microseconds.
            rate_per_s: parts.iter().map(|part| part.rate_per_s).sum(),
            connections: parts.iter().fold(ConnectionTally::default(), |mut sum, part| {
                sum.merge(&part.connections);
                sum
            }),
            bytes: BytesReport {
                read: sum(|part| part.bytes.read),
                written: sum(|part| part.bytes.written),
            },
            service: latency(|part| &part.service)?,
            response: latency(|part| &part.response)?,
            connect: latency(|part| &part.connect)?,
            tls: EncryptionReport::together(parts.iter().filter_map(|part| part.tls.as_ref()))?,
            http2: StreamTally::together(parts.iter().filter_map(|part| part.http2.as_ref())),
            late: latency(|part| &part.late)?,
            seconds: seconds(parts),
            generator: generator(parts, outcomes),
            server: server(parts, outcomes),
            steal_share: parts.iter().filter_map(|part| part.steal_share).reduce(f64::max),
            // Each judges its own clocks; those of the first stand for all.
            clock: first.clock,
            littles_law: littles_law(parts),
            requests,
        }))
    }
}

fn requests(parts: &[RunReport]) -> Requests {
    let sum = |of: fn(&Requests) -> u64| parts.iter().map(|part| of(&part.requests)).sum::<u64>();
    let mut failed_by = FailureCounts::default();
    for part in parts {
        failed_by.merge(&part.requests.failed_by);
    }
    Requests {
        asked: sum(|part| part.asked),
        sent: sum(|part| part.sent),
        waited: sum(|part| part.waited),
        answered: sum(|part| part.answered),
        failed: sum(|part| part.failed),
        unasked: sum(|part| part.unasked),
        failed_by,
        in_flight_start: sum(|part| part.in_flight_start),
        in_flight_end: sum(|part| part.in_flight_end),
        found: sum(|part| part.found),
        missing: sum(|part| part.missing),
        unsent_start: sum(|part| part.unsent_start),
        unsent_end: sum(|part| part.unsent_end),
    }
}

/// Second by second. A second has no distribution here, so its percentiles are the highest of all generators.
fn seconds(parts: &[RunReport]) -> Vec<SecondReport> {
    let mut sums: Vec<SecondReport> = Vec::new();
    for second in parts.iter().flat_map(|part| part.seconds.iter().enumerate()) {
        let (at, one) = second;
        let Some(sum) = sums.get_mut(at) else {
            sums.push(one.clone());
            continue;
        };
        sum.length_ns = sum.length_ns.max(one.length_ns);
        sum.sent += one.sent;
        sum.answered += one.answered;
        sum.failed += one.failed;
        sum.p50_ns = sum.p50_ns.max(one.p50_ns);
        sum.p99_ns = sum.p99_ns.max(one.p99_ns);
        for (sum, one) in sum.answered_tenths.iter_mut().zip(one.answered_tenths) {
            *sum += one;
        }
    }
    sums
}

fn generator(parts: &[RunReport], outcomes: u64) -> GeneratorReport {
    let cpu_ns = parts.iter().map(|part| part.generator.cpu_ns).sum();
    GeneratorReport {
        cpu_ns,
        cpu_per_request_ns: each(Some(cpu_ns as f64), outcomes),
        threads: parts.iter().flat_map(|part| part.generator.threads.clone()).collect(),
    }
}

/// The servers that the generators have seen: those with the same processes are the same one.
fn server(parts: &[RunReport], outcomes: u64) -> Option<ServerUsage> {
    let mut seen: Vec<(&ServerUsage, u64)> = Vec::new();
    for part in parts {
        let of_part = part.requests.answered + part.requests.failed;
        if let Some(server) = &part.server
            && seen.iter().all(|(known, _)| known.pids != server.pids)
        {
            seen.push((server, of_part));
        }
    }
    let part_ns = |of: fn(&ServerUsage) -> Option<f64>| {
        let sums = seen.iter().map(|(server, outcomes)| Some(of(server)? * *outcomes as f64));
        sums.sum::<Option<f64>>()
    };
    let cpu_ns = seen.iter().map(|(server, _)| server.cpu_ns).sum::<u64>();
    let highest =
        |of: fn(&ServerUsage) -> f64| seen.iter().map(|(server, _)| of(server)).fold(0.0, f64::max);
    let (first, _) = seen.first()?;
    Some(ServerUsage {
        name: first.name.clone(),
        pids: seen.iter().flat_map(|(server, _)| server.pids.clone()).collect(),
        threads: seen.iter().map(|(server, _)| server.threads).sum(),
        cpu_ns,
        cpu_per_request_ns: each(Some(cpu_ns as f64), outcomes),
        user_per_request_ns: each(part_ns(|server| server.user_per_request_ns), outcomes),
        system_per_request_ns: each(part_ns(|server| server.system_per_request_ns), outcomes),
        busiest_thread_share: highest(|server| server.busiest_thread_share),
        waited_share: highest(|server| server.waited_share),
        resident_bytes: seen.iter().map(|(server, _)| server.resident_bytes).sum(),
    })
}

/// Each generator has its own connections, so the law holds if it holds for each.
fn littles_law(parts: &[RunReport]) -> LittlesLaw {
    let each = || parts.iter().map(|part| &part.littles_law);
    let holds = [Holds::No, Holds::NotChecked]
        .into_iter()
        .find(|holds| each().any(|law| law.holds == *holds))
        .unwrap_or(Holds::Yes);
    LittlesLaw {
        holds,
        expected: each().map(|law| law.expected).sum(),
        measured: each().map(|law| law.measured).sum(),
        tolerance: each().map(|law| law.tolerance).sum(),
    }
}

fn each(sum: Option<f64>, outcomes: u64) -> Option<f64> {
    sum.filter(|_| outcomes > 0).map(|sum| sum / outcomes as f64)
}
