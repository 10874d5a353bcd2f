//! Times against load.
//!
//! Owns the plot of steps, whoever made them: the search for the knee, or the seconds of a ramp.

use super::page::Page;
use super::plot::{Dot, Hue, Line, Plot, Weight};
use super::scale::{Axis, count_label};
use crate::limits::PLOT_DOTS_MAXIMUM;
use crate::report::schema::{Report, SecondReport};
use crate::report::text::{duration, rate};

/// The response times at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadPoint {
    /// Requests a second that were due.
    pub rate_per_s: f64,
    /// Half of the response times were no longer, in nanoseconds.
    pub p50_ns: u64,
    /// 99 of 100 were no longer.
    pub p99_ns: u64,
    /// 999 of 1,000 were no longer; none where that is not known.
    pub p99_9_ns: Option<u64>,
}

/// The lines, in the order of their hues.
type Figure = (Hue, &'static str, fn(&LoadPoint) -> Option<u64>);
const FIGURES: [Figure; 3] = [
    (Hue::First, "p50", |point| Some(point.p50_ns)),
    (Hue::Second, "p99", |point| Some(point.p99_ns)),
    (Hue::Third, "p99.9", |point| point.p99_9_ns),
];

/// The points of a report whose rate was not one: each whole second in which something was answered.
pub(super) fn points_of(report: &Report) -> Vec<LoadPoint> {
    if report.plan.rate_from_per_s == report.plan.rate_to_per_s {
        return Vec::new();
    }
    let seconds = report.runs.iter().flat_map(|run| &run.seconds);
    let whole = |second: &&SecondReport| second.length_ns >= SECOND_NS && second.answered > 0;
    seconds
        .filter(whole)
        .map(|second| LoadPoint {
            rate_per_s: second.sent as f64,
            p50_ns: second.p50_ns,
            p99_ns: second.p99_ns,
            p99_9_ns: None,
        })
        .collect()
}

/// Nanoseconds of a second.
const SECOND_NS: u64 = 1_000_000_000;

/// Draws the points as lines over the rate.
pub(super) fn draw(points: &[LoadPoint], page: &mut Page) {
    let mut points = points.to_vec();
    points.sort_by(|left, right| left.rate_per_s.total_cmp(&right.rate_per_s));
    let is_known = |figure: &&Figure| points.iter().any(|point| (figure.2)(point).is_some());
    let known: Vec<&Figure> = FIGURES.iter().filter(is_known).collect();
    let lines: Vec<Line> = known.iter().map(|figure| line(&points, figure)).collect();
    let heights = lines.iter().flat_map(|line| &line.points).map(|point| point.1);
    let highest = points.iter().map(|point| point.rate_per_s).fold(0.0, f64::max);
    Plot {
        description: "Response time against load".to_owned(),
        across: Axis::from_zero("requests/s", highest, count_label),
        up: Axis::of_times("response time", heights),
        legend: known.iter().map(|(hue, name, _)| (*hue, (*name).to_owned())).collect(),
        caption: "Each point is what was measured at one rate.".to_owned(),
        lines,
    }
    .draw(page);
}

fn line(points: &[LoadPoint], (hue, name, of): &Figure) -> Line {
    let placed = points
        .iter()
        .filter_map(|point| of(point).map(|time_ns| (point.rate_per_s, time_ns as f64)));
    let points: Vec<(f64, f64)> = placed.collect();
    let dot = |point: &(f64, f64)| {
        let text = format!("{name} at {} requests/s: {}", rate(point.0), duration(point.1));
        Dot { point: *point, text }
    };
    let dots = match points.len() {
        0..=PLOT_DOTS_MAXIMUM => points.iter().map(dot).collect(),
        _ => Vec::new(),
    };
    Line { hue: *hue, weight: Weight::Bold, points, dots }
}
