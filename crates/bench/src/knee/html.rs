//! A search for a knee as an HTML page: the result, latency against load, and the steps.
//!
//! Owns the order of its parts. The report's elements are used for their looks.

use super::text::word;
use super::{KneeFound, KneeReport, KneeStep};
use crate::report::Percentile;
use crate::report::figures::{count, duration, numbered, rate};
use crate::report::html::load::{Load, LoadPoint};
use crate::report::html::plot::{Hue, Shape};
use crate::report::html::{HtmlPage, document, headline, host, section, tables};

/// The columns that the table of steps always has, besides the percentiles of the objectives.
const USUAL: [Percentile; 3] = [Percentile::P50, Percentile::P99, Percentile::P999];

/// The caption of the plot.
const CAPTION: &str = "Each point is what was measured at one rate: a disc where everything held, a ring \
                       where it did not or is not to be trusted. A line goes through the median of what was \
                       measured at a rate.";

/// The page of a search.
pub fn write_html(report: &KneeReport) -> String {
    document(&headline::title(&report.tool, &report.plan), |page| {
        let count = numbered(report.steps.len() as u64, "step");
        let words = [objectives(report), headline::plan_in_words(&report.plan, count)];
        headline::write_plan(&report.tool, &report.plan, &words, report.begun_unix_s, page);
        headline::write_state(report.state(), page, |page| {
            let (word, words) = report.conclusion();
            page.element("p", &[], |page| {
                page.leaf("strong", &[], word);
                page.text(words);
            });
        });
        figures(report, page);
        section(page, "Latency against load", |page| plot(report, page));
        section(page, "Steps", |page| steps(report, page));
        section(page, "Host", |page| host::write(&report.host, None, page));
        section(page, "Command line", |page| {
            host::write_command(&report.command, &report.tool, &report.plan, page);
        });
    })
}

fn objectives(report: &KneeReport) -> String {
    let limits = report.objectives.iter();
    let limits: Vec<String> = limits
        .map(|limit| format!("{} at most {}", limit.percentile, duration(limit.limit_ns as f64)))
        .collect();
    format!("response time: {}", limits.join(", "))
}

/// The rates on both sides of the knee, and the times at the last good one.
fn figures(report: &KneeReport, page: &mut HtmlPage) {
    let found = &report.found;
    let per_second =
        |value: Option<f64>| value.map_or("none".to_owned(), |value| format!("{} /s", rate(value)));
    let good = |step: &&KneeStep| {
        Some(step.rate_per_s) == found.last_good_per_s && step.outcome == KneeFound::Held
    };
    let good = report.steps.iter().rev().find(good);
    page.element("section", &[("class", &"tiles")], |page| {
        headline::tile(page, "last good rate", &per_second(found.last_good_per_s), None);
        headline::tile(page, "first bad rate", &per_second(found.first_bad_per_s), None);
        for limit in &report.objectives {
            let Some(time) = good.and_then(|step| step.response_ns(limit.percentile)) else {
                continue;
            };
            let below = format!("at most {}", duration(limit.limit_ns as f64));
            let name = format!("{} at the last good rate", limit.percentile);
            headline::tile(page, &name, &duration(time as f64), Some(below));
        }
        if let Some(cores) = good.and_then(|step| step.server_cores) {
            headline::tile(
                page,
                "server at the last good rate",
                &format!("{cores:.2} cores"),
                None,
            );
        }
    });
}

fn plot(report: &KneeReport, page: &mut HtmlPage) {
    let wanted = |place: &Percentile| report.objectives.iter().any(|one| one.percentile == *place);
    let percentiles: Vec<Percentile> = Percentile::ALL.into_iter().filter(wanted).collect();
    let points: Vec<LoadPoint> =
        report.steps.iter().filter_map(|step| point(step, &percentiles)).collect();
    if points.is_empty() {
        page.leaf("p", &[], "In no step was anything answered, so there is nothing to draw.");
        return;
    }
    let mut limits: Vec<(Percentile, u64)> =
        report.objectives.iter().map(|one| (one.percentile, one.limit_ns)).collect();
    limits.sort_unstable();
    let found = &report.found;
    let good = found.last_good_per_s.map(|rate| (Hue::Good, "last good rate", rate));
    let bad = found.first_bad_per_s.map(|rate| (Hue::Bad, "first bad rate", rate));
    Load {
        percentiles,
        points,
        limits,
        rates: good.into_iter().chain(bad).collect(),
        caption: CAPTION.to_owned(),
    }
    .draw(page);
}

/// `None` if nothing was answered, because there is no time.
fn point(step: &KneeStep, percentiles: &[Percentile]) -> Option<LoadPoint> {
    let times_ns = percentiles.iter().map(|place| step.response_ns(*place));
    let times_ns = times_ns.collect::<Option<Vec<u64>>>()?;
    let shape = if step.outcome == KneeFound::Held { Shape::Disc } else { Shape::Ring };
    Some(LoadPoint { rate_per_s: step.rate_per_s, times_ns, shape })
}

fn steps(report: &KneeReport, page: &mut HtmlPage) {
    let wanted = |place: &Percentile| {
        USUAL.contains(place) || report.objectives.iter().any(|one| one.percentile == *place)
    };
    let percentiles: Vec<Percentile> = Percentile::ALL.into_iter().filter(wanted).collect();
    let mut columns = vec!["due/s", "answered/s"];
    columns.extend(percentiles.iter().map(|place| place.name()));
    columns.extend(["failed", "server cores", "outcome"]);
    let rows = report.by_rate().into_iter().map(|step| cells(step, &percentiles));
    page.element("div", &[("class", &"steps")], |page| tables::write(page, &columns, rows));
}

fn cells(step: &KneeStep, percentiles: &[Percentile]) -> Vec<String> {
    let dash = || "-".to_owned();
    let time = |place: &Percentile| {
        step.response_ns(*place).map_or_else(dash, |time| duration(time as f64))
    };
    let mut outcome = word(step.outcome).to_owned();
    if !step.reasons.is_empty() {
        outcome.push_str(&format!(": {}", step.reasons.join("; ")));
    }
    let mut cells = vec![rate(step.rate_per_s), rate(step.answered_per_s)];
    cells.extend(percentiles.iter().map(time));
    cells.push(count(step.failed));
    cells.push(step.server_cores.map_or_else(dash, |cores| format!("{cores:.2}")));
    cells.push(outcome);
    cells
}
