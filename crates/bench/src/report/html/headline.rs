//! The top of the page: what was measured, whether to trust it, and the main figures.
//!
//! Never shows a figure before its verdict.

use super::date;
use super::page::HtmlPage;
use crate::report::figures::{bytes, count, duration, numbered, percent, rate};
use crate::report::hold::HoldReport;
use crate::report::measured::{Ended, PlanReport};
use crate::report::run::RunReport;
use crate::report::schema::{Report, Tool};
use crate::report::summary::{FigureSpread, Summary};
use crate::report::text::{length, median_run, pace};
use crate::report::verdict::{ResultTrust, VerdictReason};

/// The title of the page.
pub(crate) fn title(tool: &Tool, plan: &PlanReport) -> String {
    let what = match plan.targets.as_slice() {
        [target] => format!("{} {}", target.method, target.url),
        targets => numbered(targets.len() as u64, "URL"),
    };
    format!("{} {}: {what}", tool.name, plan.verb)
}

/// The measured plan, also in words, where and when.
pub(crate) fn write_plan(
    tool: &Tool,
    plan: &PlanReport,
    words: &[String],
    begun_unix_s: u64,
    page: &mut HtmlPage,
) {
    page.element("header", &[], |page| {
        page.leaf("p", &[("class", &"tool")], format_args!("{} {}", tool.name, plan.verb));
        for target in &plan.targets {
            page.element("h1", &[], |page| {
                page.text(format_args!("{} {}", target.method, target.url));
                if plan.targets.len() > 1 {
                    page.leaf("small", &[], format_args!(" weight {}", target.weight));
                }
            });
        }
        let begun = format!("begun {}", date::written(begun_unix_s));
        for line in words.iter().chain([&begun]) {
            page.leaf("p", &[("class", &"plan")], line);
        }
    });
}

/// The measured plan, and how often it was measured: in runs or steps.
pub(crate) fn plan_in_words(plan: &PlanReport, often: String) -> String {
    let mut words = vec![
        pace(plan),
        numbered(plan.connections, "connection"),
        numbered(u64::from(plan.threads), "thread"),
        length(plan),
        often,
    ];
    words.extend(plan.check.as_ref().map(|check| format!("an answer had to be {check}")));
    words.join(", ")
}

/// The verdict with every reason and note.
pub(super) fn write_verdict(report: &Report, page: &mut HtmlPage) {
    let verdict = &report.verdict;
    let (word, words) = match verdict.state {
        ResultTrust::Valid => ("VALID", "no reason to doubt these figures"),
        ResultTrust::Invalid => ("INVALID", "do not trust these figures"),
    };
    write_state(verdict.state, page, |page| {
        page.element("p", &[], |page| {
            page.leaf("strong", &[], word);
            page.text(words);
            if report.ended == Ended::Interrupted {
                page.leaf("strong", &[("class", &"partial")], "PARTIAL");
            }
        });
        write_reasons(&verdict.reasons, "", report.runs.len(), page);
        write_reasons(&verdict.notes, "note: ", report.runs.len(), page);
    });
}

/// A conclusion, in the colour that shows whether to trust it.
pub(crate) fn write_state(
    state: ResultTrust,
    page: &mut HtmlPage,
    content: impl FnOnce(&mut HtmlPage),
) {
    let class = match state {
        ResultTrust::Valid => "verdict valid",
        ResultTrust::Invalid => "verdict invalid",
    };
    page.element("section", &[("class", &class)], content);
}

fn write_reasons(reasons: &[VerdictReason], kind: &str, runs: usize, page: &mut HtmlPage) {
    if reasons.is_empty() {
        return;
    }
    page.element("ul", &[], |page| {
        for reason in reasons {
            let run = reason.run.filter(|_| runs > 1).map(|run| format!("run {run}: "));
            let text = format!("{kind}{}{}", run.unwrap_or_default(), reason.text);
            page.leaf("li", &[], text);
        }
    });
}

/// The figures, large.
pub(super) fn write_figures(report: &Report, page: &mut HtmlPage) {
    if let Some(hold) = &report.hold {
        write_hold(hold, page);
    }
    let Some((summary, run)) = report.summary.as_ref().zip(median_run(report)) else { return };
    let is_open = report.plan.rate_from_per_s.is_some();
    let (kind, times) = match is_open {
        true => ("response time", &summary.response),
        false => ("service time", &summary.service),
    };
    page.element("section", &[("class", &"tiles")], |page| {
        let several = report.runs.len() > 1;
        let of =
            |spread: &FigureSpread| several.then(|| format!("spread {}", percent(spread.spread)));
        let per_s = &summary.rate_per_s;
        tile(page, "rate", &format!("{} /s", rate(per_s.median)), of(per_s));
        // Without an answer there is no time, and 0 ns would be one.
        let is_measured = report.runs.iter().any(|run| run.service.count > 0);
        let shown = [("p50", &times.p50_ns), ("p99", &times.p99_ns), ("p99.9", &times.p99_9_ns)];
        for (name, spread) in shown {
            let figure = if is_measured { duration(spread.median) } else { "none".to_owned() };
            tile(page, &format!("{kind}, {name}"), &figure, of(spread).filter(|_| is_measured));
        }
        write_failures(report, page);
        write_cpu(summary, run, page);
    });
}

/// The result of holding connections.
fn write_hold(hold: &HoldReport, page: &mut HtmlPage) {
    let each = |figure: Option<f64>| figure.map_or_else(|| "unknown".to_owned(), bytes);
    let opening = format!("in {}", duration(hold.opening_ns as f64));
    let end = format!("{} at the end", each(hold.server_bytes_per_connection_end));
    let (server, generator) =
        (hold.server_bytes_per_connection, hold.generator_bytes_per_connection);
    page.element("section", &[("class", &"tiles")], |page| {
        let dead = format!("{} dead", count(hold.dead));
        tile(page, "connections held", &count(hold.open), Some(dead));
        tile(page, "opened", &format!("{} /s", rate(hold.opened_per_s)), Some(opening));
        tile(page, "server memory per connection", &each(server), Some(end));
        tile(page, "generator memory per connection", &each(generator), None);
    });
}

fn write_failures(report: &Report, page: &mut HtmlPage) {
    let sum = |of: fn(&RunReport) -> u64| report.runs.iter().map(of).sum::<u64>();
    let (failed, answered) = (sum(|run| run.requests.failed), sum(|run| run.requests.answered));
    let below = format!("{} answered", count(answered));
    tile(page, "failed", &count(failed), Some(below));
    let all_ns = sum(|run| run.wall_ns).max(1) as f64;
    let per_s = |sum: u64| bytes(sum as f64 / all_ns * 1e9);
    let below = format!("{}/s out", per_s(sum(|run| run.bytes.written)));
    tile(page, "bytes", &format!("{}/s in", per_s(sum(|run| run.bytes.read))), Some(below));
}

fn write_cpu(summary: &Summary, run: &RunReport, page: &mut HtmlPage) {
    if let Some(server) = &run.server {
        let cpu_ns = summary.server_cpu_per_request_ns.map(|spread| spread.median);
        if let Some(cpu_ns) = cpu_ns.or(server.cpu_per_request_ns) {
            let below = format!("busiest thread {}", percent(server.busiest_thread_share));
            tile(page, "server CPU per request", &duration(cpu_ns), Some(below));
        }
    }
    if let Some(cpu) = summary.generator_cpu_per_request_ns {
        let threads = run.generator.threads.iter();
        let busiest = threads.map(|thread| thread.busy_share).fold(0.0, f64::max);
        let below = format!("busiest thread {}", percent(busiest));
        tile(page, "generator CPU per request", &duration(cpu.median), Some(below));
    }
}

/// One large figure with its name and a comment.
pub(crate) fn tile(page: &mut HtmlPage, name: &str, figure: &str, below: Option<String>) {
    page.element("div", &[], |page| {
        page.leaf("span", &[("class", &"name")], name);
        page.leaf("span", &[("class", &"figure")], figure);
        if let Some(below) = below {
            page.leaf("span", &[("class", &"below")], below);
        }
    });
}
