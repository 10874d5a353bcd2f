//! Times by percentile.
//!
//! Owns which quantiles are drawn: up to the last one that the number of times supports.

use super::page::HtmlPage;
use super::plot::{Dot, Hue, Line, Plot, Shape, Weight};
use super::scale::{Axis, Mark};
use crate::report::figures::duration;
use crate::report::run::{LatencyReport, RunReport};
use crate::report::schema::Report;
use crate::report::summary::FigureSpread;
use crate::tally::Latency;

/// Points of a curve for each nine, that is, from 99 % to 99.9 %.
const POINTS_PER_NINE: u32 = 40;

/// Maximum nines that are drawn, 9 (99.9999999 %), which needs a billion times.
const NINES_MAXIMUM: f64 = 9.0;

/// One kind of time.
struct Kind {
    hue: Hue,
    name: &'static str,
    of: fn(&RunReport) -> &LatencyReport,
}

const SERVICE: Kind = Kind { hue: Hue::First, name: "service time", of: |run| &run.service };
const RESPONSE: Kind = Kind { hue: Hue::Second, name: "response time", of: |run| &run.response };

/// Draws service and response time; in a closed loop they are one.
pub(super) fn draw(report: &Report, page: &mut HtmlPage) {
    let is_open = report.plan.rate_from_per_s.is_some();
    let kinds = if is_open { vec![SERVICE, RESPONSE] } else { vec![SERVICE] };
    let mut unreadable = 0;
    let (mut lines, mut legend) = (Vec::new(), Vec::new());
    for kind in kinds {
        let latencies: Vec<Latency> = report
            .runs
            .iter()
            .filter(|run| (kind.of)(run).count > 0)
            .filter_map(|run| {
                let read = Latency::from_text(&(kind.of)(run).hdr_v2).ok();
                unreadable += usize::from(read.is_none());
                read
            })
            .collect();
        lines.extend(curves(&latencies, &kind));
        let name = if is_open { kind.name } else { "service time, which is the response time" };
        legend.push((kind.hue, Weight::Bold, name.to_owned()));
    }
    // The medians are drawn last, over everything thin.
    lines.sort_by_key(|line| line.weight == Weight::Bold);
    if lines.is_empty() {
        page.leaf("p", &[], "No time was measured, so there is nothing to draw.");
        return;
    }
    let nines = lines.iter().flat_map(|line| line.points.last()).map(|point| point.0);
    let values = lines.iter().flat_map(|line| line.points.iter()).map(|point| point.1);
    let plot = Plot {
        description: "Time by percentile".to_owned(),
        across: nines_axis(nines.fold(1.0, f64::max)),
        up: Axis::of_times("time", values),
        caption: caption(report.runs.len(), unreadable),
        lines,
        legend,
    };
    plot.draw(page);
}

fn caption(runs: usize, unreadable: usize) -> String {
    let mut caption = "Each step to the right leaves a tenth as many requests that took longer. \
                       A curve ends at the longest time."
        .to_owned();
    if runs > 1 {
        caption.push_str(" Thin: each run. Bold: the median of the runs at each percentile.");
    }
    if unreadable > 0 {
        caption.push_str(&format!(" {unreadable} histograms cannot be read and are not drawn."));
    }
    caption
}

/// A thin curve for each of several runs, and the bold one of all.
fn curves(latencies: &[Latency], kind: &Kind) -> Vec<Line> {
    let nines = latencies.iter().map(|latency| (latency.count() as f64).log10());
    let Some(nines) = nines.reduce(f64::max).map(|nines| nines.clamp(1.0, NINES_MAXIMUM)) else {
        return Vec::new();
    };
    let steps = (nines * f64::from(POINTS_PER_NINE)).floor() as u32;
    let regular = (0..=steps).map(|step| f64::from(step) / f64::from(POINTS_PER_NINE));
    let places: Vec<f64> = regular.chain([nines]).collect();
    let line = |weight, of: &dyn Fn(f64) -> f64| Line {
        hue: kind.hue,
        weight,
        points: places.iter().map(|place| (*place, of(*place))).collect(),
        dots: Vec::new(),
    };
    let median = |place| {
        let values = latencies.iter().map(|latency| at(latency, place));
        FigureSpread::of(values).map_or(0.0, |spread| spread.median)
    };
    let mut lines = Vec::new();
    if latencies.len() > 1 {
        lines.extend(latencies.iter().map(|one| line(Weight::Thin, &|place| at(one, place))));
    }
    let mut bold = line(Weight::Bold, &median);
    bold.dots = nines_marks(nines)
        .into_iter()
        .map(|mark| Dot {
            point: (mark.value, median(mark.value)),
            text: format!("{} {}: {}", kind.name, mark.label, duration(median(mark.value))),
            shape: Shape::Disc,
        })
        .collect();
    lines.push(bold);
    lines
}

fn at(latency: &Latency, nines: f64) -> f64 {
    latency.quantile_ns(1.0 - 10f64.powf(-nines)) as f64
}

fn nines_axis(nines: f64) -> Axis {
    Axis::with_marks("percentile", 0.0, nines, nines_marks(nines))
}

/// 0, 50, 90, 99, 99.9 ... up to a number of nines.
fn nines_marks(nines: f64) -> Vec<Mark> {
    let mark = |value: f64, label: &str| Mark { value, label: label.to_owned() };
    let mut marks = vec![mark(0.0, "0 %"), mark(2f64.log10(), "50 %"), mark(1.0, "90 %")];
    for whole in 2..=nines as usize {
        let digits = if whole == 2 { String::new() } else { format!(".{}", "9".repeat(whole - 2)) };
        marks.push(mark(whole as f64, &format!("99{digits} %")));
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_has_a_mark_for_every_nine() {
        let marks = nines_marks(4.3);
        let labels: Vec<&str> = marks.iter().map(|mark| mark.label.as_str()).collect();
        assert_eq!(labels, ["0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %"]);
    }

    #[test]
    fn a_curve_goes_from_the_shortest_to_the_longest_time() {
        let mut latency = Latency::new();
        (1..=1000u64).for_each(|at| latency.record(at * 1000));
        let lines = curves(&[latency.clone(), latency], &SERVICE);
        assert_eq!(lines.len(), 3);
        for line in &lines {
            assert_eq!(line.points[0].1.round() as u64 / 1000, 1);
            let last = line.points[line.points.len() - 1];
            assert!((last.0 - 3.0).abs() < 1e-9 && last.1 > 998_000.0, "{last:?}");
            assert!(line.points.is_sorted_by(|left, right| left.1 <= right.1));
        }
    }
}
