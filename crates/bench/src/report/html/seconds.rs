//! A run over time: answered and failed requests, and how long they took.
//!
//! Owns how seconds become points. Never draws two scales in one plot.

use super::page::HtmlPage;
use super::plot::{Dot, Hue, Line, Plot, Shape, Weight};
use super::scale::{Axis, count_label};
use crate::limits::{PLOT_DOTS_MAXIMUM, PLOT_POINTS_MAXIMUM};
use crate::report::figures::{duration, rate};
use crate::report::run::{RunReport, SecondReport};
use crate::report::schema::Report;
use crate::report::summary::FigureSpread;

/// Nanoseconds of a second.
const SECOND_NS: u64 = 1_000_000_000;

/// One figure of a moment.
struct Figure {
    hue: Hue,
    name: &'static str,
    /// `None` if it has no value.
    of: fn(&Moment) -> Option<f64>,
    written: fn(f64) -> String,
}

const ANSWERED: Figure = Figure {
    hue: Hue::First,
    name: "answered",
    of: |moment| Some(moment.answered_per_s),
    written: |value| format!("{}/s", rate(value)),
};
const FAILED: Figure = Figure {
    hue: Hue::Bad,
    name: "failed",
    of: |moment| Some(moment.failed_per_s),
    written: |value| format!("{}/s", rate(value)),
};
const P99: Figure = Figure {
    hue: Hue::Second,
    name: "response time, p99 of each second",
    of: |moment| (moment.p99_ns > 0).then_some(moment.p99_ns as f64),
    written: duration,
};

/// One second, or several together in a long run.
struct Moment {
    /// Its middle, since the run began.
    at_s: f64,
    answered_per_s: f64,
    failed_per_s: f64,
    p99_ns: u64,
}

/// Draws rates, and times below them over the same axis.
pub(super) fn draw(report: &Report, page: &mut HtmlPage) {
    let longest = report.runs.iter().map(|run| drawn(run).len()).max().unwrap_or(0);
    if longest == 0 {
        page.leaf("p", &[], "No run was finished, so there is nothing to draw.");
        return;
    }
    let together = longest.div_ceil(PLOT_POINTS_MAXIMUM);
    let runs: Vec<Vec<Moment>> =
        report.runs.iter().map(|run| moments(drawn(run), together)).collect();
    let length_ns = report.runs.iter().map(|run| run.wall_ns).max().unwrap_or(0);
    let across =
        Axis::from_zero("seconds since the run began", length_ns as f64 / 1e9, count_label);
    let rates = lines(&runs, &[ANSWERED, FAILED]);
    let up = Axis::from_zero("requests/s", heights(&rates).fold(0.0, f64::max), count_label);
    Plot {
        description: "Requests answered and failed over time".to_owned(),
        across: across.clone(),
        up,
        legend: legend(&[ANSWERED, FAILED]),
        caption: String::new(),
        lines: rates,
    }
    .draw(page);
    let times = lines(&runs, &[P99]);
    if heights(&times).next().is_none() {
        page.leaf("p", &[], "Nothing was answered, so there are no times to plot.");
        return;
    }
    Plot {
        description: "Response time over time".to_owned(),
        across,
        up: Axis::of_times("time", heights(&times)),
        legend: legend(&[P99]),
        caption: caption(runs.len(), together),
        lines: times,
    }
    .draw(page);
}

fn caption(runs: usize, together: usize) -> String {
    let mut caption = String::new();
    if runs > 1 {
        caption.push_str("Thin: each run. Bold: the median of the runs at each moment. ");
    }
    if together > 1 {
        let text = format!("A point covers {together} s: mean rates, and the highest p99. ");
        caption.push_str(&text);
    }
    caption.push_str(
        "A second without an answer has no time. A rest of less than half a second at the end is not drawn.",
    );
    caption
}

fn legend(figures: &[Figure]) -> Vec<(Hue, Weight, String)> {
    figures.iter().map(|figure| (figure.hue, Weight::Bold, figure.name.to_owned())).collect()
}

fn heights(lines: &[Line]) -> impl Iterator<Item = f64> {
    lines.iter().flat_map(|line| &line.points).map(|point| point.1)
}

/// The meaningful seconds: a rest of a few milliseconds has a random rate.
fn drawn(run: &RunReport) -> &[SecondReport] {
    match run.seconds.split_last() {
        Some((last, before)) if !before.is_empty() && last.length_ns < SECOND_NS / 2 => before,
        _ => &run.seconds,
    }
}

fn moments(seconds: &[SecondReport], together: usize) -> Vec<Moment> {
    let mut begin_ns = 0u64;
    seconds
        .chunks(together)
        .map(|chunk| {
            let length_ns = chunk.iter().map(|second| second.length_ns).sum::<u64>().max(1);
            let per_second = |of: fn(&SecondReport) -> u64| {
                let sum: u64 = chunk.iter().map(of).sum();
                sum as f64 / length_ns as f64 * SECOND_NS as f64
            };
            let at_s = (begin_ns as f64 + length_ns as f64 / 2.0) / SECOND_NS as f64;
            begin_ns += length_ns;
            Moment {
                at_s,
                answered_per_s: per_second(|second| second.answered),
                failed_per_s: per_second(|second| second.failed),
                p99_ns: chunk.iter().map(|second| second.p99_ns).max().unwrap_or(0),
            }
        })
        .collect()
}

/// A thin line for each of several runs, and the bold ones of all over them.
fn lines(runs: &[Vec<Moment>], figures: &[Figure]) -> Vec<Line> {
    let line = |hue, weight, points| Line { hue, weight, points, dots: Vec::new() };
    let mut lines = Vec::new();
    for figure in figures.iter().filter(|_| runs.len() > 1) {
        for run in runs {
            let points = run.iter().filter_map(|moment| Some((moment.at_s, (figure.of)(moment)?)));
            lines.push(line(figure.hue, Weight::Thin, points.collect()));
        }
    }
    for figure in figures {
        let mut bold = line(figure.hue, Weight::Bold, medians(runs, figure));
        if bold.points.len() <= PLOT_DOTS_MAXIMUM {
            bold.dots = bold.points.iter().map(|point| dot(*point, figure)).collect();
        }
        lines.push(bold);
    }
    lines
}

fn dot(point: (f64, f64), figure: &Figure) -> Dot {
    let text = format!("{} at {} s: {}", figure.name, rate(point.0), (figure.written)(point.1));
    Dot { point, text, shape: Shape::Disc }
}

/// At each moment the median of the runs that reached it.
fn medians(runs: &[Vec<Moment>], figure: &Figure) -> Vec<(f64, f64)> {
    let longest = runs.iter().max_by_key(|run| run.len());
    let moments = longest.into_iter().flatten().enumerate();
    moments
        .filter_map(|(at, moment)| {
            let values = runs.iter().filter_map(|run| run.get(at)).filter_map(figure.of);
            Some((moment.at_s, FigureSpread::of(values)?.median))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(length_ns: u64, answered: u64, p99_ns: u64) -> SecondReport {
        SecondReport {
            length_ns,
            sent: answered,
            answered,
            failed: 1,
            answered_tenths: [0; 10],
            p50_ns: 0,
            p99_ns,
        }
    }

    #[test]
    fn seconds_together_have_mean_rates_and_the_highest_time() {
        let seconds =
            [second(SECOND_NS, 10, 5), second(SECOND_NS, 30, 9), second(SECOND_NS / 2, 10, 0)];
        let moments = moments(&seconds, 2);
        assert_eq!(moments.len(), 2);
        let first = &moments[0];
        assert_eq!((first.at_s, first.answered_per_s, first.p99_ns), (1.0, 20.0, 9));
        let last = &moments[1];
        assert_eq!((last.at_s, last.answered_per_s, last.failed_per_s), (2.25, 20.0, 2.0));
        assert_eq!((P99.of)(last), None);
    }

    #[test]
    fn the_median_is_of_the_runs_that_reached_the_moment() {
        let run = |answered: &[u64]| {
            let seconds: Vec<SecondReport> =
                answered.iter().map(|answered| second(SECOND_NS, *answered, 1)).collect();
            moments(&seconds, 1)
        };
        let runs = [run(&[10, 20]), run(&[30]), run(&[20])];
        assert_eq!(medians(&runs, &ANSWERED), [(0.5, 20.0), (1.5, 20.0)]);
    }
}
