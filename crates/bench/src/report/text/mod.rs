//! The report as text for a terminal.
//!
//! Owns the layout: rate first, verdict last. Never shows a figure without its unit, and never
//! hides a failure behind a median: counts are of all runs.

pub(crate) mod encryption;
pub(in crate::report) mod table;

use std::fmt::{self, Write};

use crate::report::agent::write_agents;
use crate::report::figures::{
    bytes, count, duration, name, numbered, numbered_plural, percent, rate,
};
use crate::report::measured::{Ended, PlanReport, StageReport};
use crate::report::run::RunReport;
use crate::report::schema::Report;
use crate::report::summary::FigureSpread;
use crate::report::verdict::{ResultTrust, Verdict, VerdictReason};
use crate::tally::StreamTally;

/// Seconds from nanoseconds.
const SECOND_NS: f64 = 1e9;

/// Writes the report.
///
/// # Errors
/// Those of the writer.
pub fn write_text(report: &Report, out: &mut impl Write) -> fmt::Result {
    plan(report, out)?;
    if let Some((summary, run)) = report.summary.as_ref().zip(median_run(report)) {
        writeln!(out)?;
        rates(report, &summary.rate_per_s, out)?;
        requests(report, out)?;
        connections(run, out)?;
        encryption::write(report, run, out)?;
        http2(report, out)?;
        writeln!(out)?;
        table::write(report, summary, run, out)?;
        writeln!(out)?;
        server(report, run, out)?;
        generator(report, run, out)?;
    }
    if let Some(hold) = &report.hold {
        hold.write_text(out)?;
    }
    if let Some(own_writes) = &report.own_writes {
        own_writes.write_text(out)?;
    }
    host(report, out)?;
    write_agents(&report.agents, out)?;
    writeln!(out)?;
    verdict(&report.verdict, report.runs.len(), out)?;
    for result in &report.fail_if {
        let word = if result.met { "FAILED" } else { "passed" };
        writeln!(out, "{word}: {} (--fail-if '{}')", result.text, result.condition)?;
    }
    Ok(())
}

/// The run whose rate is closest to the median: figures without a median of their own come from it.
pub(in crate::report) fn median_run(report: &Report) -> Option<&RunReport> {
    let median = report.summary.as_ref()?.rate_per_s.median;
    let distance = |run: &RunReport| (run.rate_per_s - median).abs();
    report.runs.iter().min_by(|left, right| distance(left).total_cmp(&distance(right)))
}

/// The length of a run, and what comes before it.
pub(in crate::report) fn length(plan: &PlanReport) -> String {
    let of_ns = |nanoseconds: u64| duration(nanoseconds as f64);
    let length = match plan.count {
        Some(requests) => numbered(requests, "request"),
        None => of_ns(plan.duration_ns),
    };
    format!("{length} after {} of warm-up", of_ns(plan.warmup_ns))
}

fn plan(report: &Report, out: &mut impl Write) -> fmt::Result {
    let plan = &report.plan;
    write!(out, "{} {}: {}, ", report.tool.name, report.tool.version, plan.verb)?;
    write!(out, "{}, ", pace(plan))?;
    write!(out, "{}, ", numbered(plan.connections, "connection"))?;
    write!(out, "{}, ", numbered(u64::from(plan.threads), "thread"))?;
    write!(out, "{}", length(plan))?;
    if report.runs.len() > 1 {
        write!(out, ", {} runs", report.runs.len())?;
    }
    if report.ended == Ended::Interrupted {
        write!(out, ", PARTIAL")?;
    }
    writeln!(out)?;
    for target in &plan.targets {
        write!(out, "  {} {}", target.method, target.url)?;
        if plan.targets.len() > 1 {
            write!(out, ", weight {}", target.weight)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// How requests arrive and how connections are used, in words.
pub(in crate::report) fn pace(plan: &PlanReport) -> String {
    let mut words = match (plan.rate_from_per_s, plan.rate_to_per_s) {
        _ if plan.stages.len() > 1 => stages(plan),
        (Some(from), Some(to)) if from == to => {
            format!("open loop of {} requests/s ({})", rate(from), plan.pace)
        }
        (Some(from), Some(to)) => {
            format!("open loop from {} to {} requests/s ({})", rate(from), rate(to), plan.pace)
        }
        _ => "closed loop".to_owned(),
    };
    match plan.requests_per_connection {
        Some(1) => words.push_str(", a connection per request"),
        Some(requests) => words.push_str(&format!(", {} requests per connection", count(requests))),
        None => {}
    }
    if plan.http2 {
        words.push_str(&format!(", HTTP/2 with {} a connection", streams(plan)));
    } else if plan.pipeline > 1 {
        words.push_str(&format!(", pipelines of {}", plan.pipeline));
    }
    words
}

/// How many streams a connection has.
fn streams(plan: &PlanReport) -> String {
    numbered(u64::from(plan.pipeline), "stream")
}

/// The rates of a run, one after the other.
fn stages(plan: &PlanReport) -> String {
    let told = |stage: &StageReport| {
        let lasts = duration(stage.duration_ns as f64);
        let (from, to) = (stage.from_per_s, stage.to_per_s);
        if from == to {
            format!("{} for {lasts}", rate(from))
        } else {
            format!("from {} to {} in {lasts}", rate(from), rate(to))
        }
    };
    let words: Vec<String> = plan.stages.iter().map(told).collect();
    format!("open loop, requests/s {} ({})", words.join(", then "), plan.pace)
}

fn rates(report: &Report, spread: &FigureSpread, out: &mut impl Write) -> fmt::Result {
    name(out, "rate")?;
    write!(out, "{} requests/s", rate(spread.median))?;
    if report.runs.len() > 1 {
        let (lowest, highest) = (rate(spread.min), rate(spread.max));
        write!(out, ", the median of {lowest} to {highest} (spread {})", percent(spread.spread))?;
    }
    writeln!(out)?;
    let all_ns: u64 = report.runs.iter().map(|run| run.wall_ns).sum();
    let per_second = |bytes_of: fn(&RunReport) -> u64| {
        let sum: u64 = report.runs.iter().map(bytes_of).sum();
        bytes(if all_ns == 0 { 0.0 } else { sum as f64 / all_ns as f64 * SECOND_NS })
    };
    name(out, "bytes")?;
    let read = per_second(|run| run.bytes.read);
    let written = per_second(|run| run.bytes.written);
    writeln!(out, "{read}/s in, {written}/s out")
}

/// Counts of all runs, so that no failure is hidden behind a median.
fn sum_of(report: &Report, of: fn(&RunReport) -> u64) -> u64 {
    report.runs.iter().map(of).sum()
}

fn requests(report: &Report, out: &mut impl Write) -> fmt::Result {
    let sum = |of: fn(&RunReport) -> u64| count(sum_of(report, of));
    name(out, "requests")?;
    write!(
        out,
        "{} asked, {} sent, ",
        sum(|run| run.requests.asked),
        sum(|run| run.requests.sent)
    )?;
    write!(out, "{} answered, ", sum(|run| run.requests.answered))?;
    write!(out, "{} failed", sum(|run| run.requests.failed))?;
    if report.runs.iter().any(|run| run.requests.waited > 0) {
        write!(out, ", {} waited for a connection", sum(|run| run.requests.waited))?;
    }
    writeln!(out)?;
    let (found, missing) =
        (sum_of(report, |run| run.requests.found), sum_of(report, |run| run.requests.missing));
    if found + missing > 0 {
        name(out, "keys")?;
        let share = percent(found as f64 / (found + missing) as f64);
        writeln!(out, "{} found, {} missing: {share}", count(found), count(missing))?;
    }
    name(out, "failed by")?;
    for (at, kind) in report.plan.failure_kinds().enumerate() {
        let separator = if at == 0 { "" } else { ", " };
        let failed: u64 = report.runs.iter().map(|run| run.requests.failed_by.of(kind)).sum();
        write!(out, "{separator}{} {}", kind.name(), count(failed))?;
    }
    writeln!(out)
}

fn connections(run: &RunReport, out: &mut impl Write) -> fmt::Result {
    let connections = &run.connections;
    name(out, "connections")?;
    write!(out, "{} asked, {} open, ", count(connections.asked), count(connections.open))?;
    writeln!(out, "{} opened, {} refused", count(connections.opened), count(connections.refused))
}

/// The events of the streams of all runs.
fn http2(report: &Report, out: &mut impl Write) -> fmt::Result {
    let runs = report.runs.iter().filter_map(|run| run.http2.as_ref());
    let lines = StreamTally::together(runs).map_or(Vec::new(), |streams| streams.lines());
    for (line, at) in lines.iter().zip(0..) {
        name(out, if at == 0 { "http2" } else { "" })?;
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn server(report: &Report, run: &RunReport, out: &mut impl Write) -> fmt::Result {
    name(out, "server")?;
    let Some(server) = &run.server else {
        return writeln!(out, "not on this host, or not to be seen by this user");
    };
    let median = report.summary.as_ref().and_then(|summary| summary.server_cpu_per_request_ns);
    // Without a median of all runs, this run's own.
    let cpu_ns = median.map_or(server.cpu_per_request_ns, |spread| Some(spread.median));
    if let Some(cpu_ns) = cpu_ns {
        write!(out, "{} of CPU per request", duration(cpu_ns))?;
        if let Some((user, system)) = server.user_per_request_ns.zip(server.system_per_request_ns) {
            write!(out, " (user {}, system {})", duration(user), duration(system))?;
        }
        write!(out, ", ")?;
    }
    writeln!(out, "busiest thread {} of its core", percent(server.busiest_thread_share))?;
    name(out, "")?;
    write!(
        out,
        "{}, {}, ",
        server.name,
        numbered_plural(server.pids.len() as u64, "process", "es")
    )?;
    write!(out, "{}, ", numbered(u64::from(server.threads), "thread"))?;
    writeln!(out, "{} in RAM", bytes(server.resident_bytes as f64))
}

fn generator(report: &Report, run: &RunReport, out: &mut impl Write) -> fmt::Result {
    name(out, "generator")?;
    let median = report.summary.as_ref().and_then(|summary| summary.generator_cpu_per_request_ns);
    if let Some(median) = median {
        write!(out, "{} of CPU per request, ", duration(median.median))?;
    }
    let threads = run.generator.threads.iter();
    let busiest = threads.map(|thread| thread.busy_share).fold(0.0, f64::max);
    writeln!(out, "busiest thread {} of its core", percent(busiest))
}

fn host(report: &Report, out: &mut impl Write) -> fmt::Result {
    let host = &report.host;
    name(out, "host")?;
    write!(out, "Linux {}, ", host.kernel.as_deref().unwrap_or("of unknown release"))?;
    write!(out, "{}, ", host.cpu_model.as_deref().unwrap_or(&host.architecture))?;
    write!(out, "{} to use", numbered(host.cpus_allowed.len() as u64, "core"))?;
    let steal = report.runs.iter().filter_map(|run| run.steal_share).reduce(f64::max);
    if let Some(steal) = steal {
        write!(out, ", {} stolen", percent(steal))?;
    }
    writeln!(out)
}

fn verdict(verdict: &Verdict, runs: usize, out: &mut impl Write) -> fmt::Result {
    let of_run = |reason: &VerdictReason| match reason.run {
        Some(run) if runs > 1 => format!("run {run}: {}", reason.text),
        _ => reason.text.clone(),
    };
    for note in &verdict.notes {
        writeln!(out, "note: {}", of_run(note))?;
    }
    if verdict.state == ResultTrust::Valid {
        return writeln!(out, "VALID: no reason to doubt these figures");
    }
    writeln!(out, "INVALID: do not trust these figures")?;
    for reason in &verdict.reasons {
        writeln!(out, "  - {}", of_run(reason))?;
    }
    Ok(())
}
