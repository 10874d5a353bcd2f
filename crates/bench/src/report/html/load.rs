//! Times against load.
//!
//! Owns the plot of times over rates, whoever measured them: the search for the knee, or the seconds of a ramp.

use super::page::HtmlPage;
use super::plot::{Dot, Hue, Line, Plot, Shape, Weight};
use super::scale::{Axis, count_label};
use crate::limits::PLOT_DOTS_MAXIMUM;
use crate::report::figures::{duration, rate};
use crate::report::percentile::Percentile;
use crate::report::run::SecondReport;
use crate::report::schema::Report;
use crate::report::summary::FigureSpread;

/// Nanoseconds of a second.
const SECOND_NS: u64 = 1_000_000_000;

/// The hues of percentiles, in the order in which they are given.
const HUES: [Hue; Percentile::ALL.len()] =
    [Hue::First, Hue::Second, Hue::Third, Hue::Fourth, Hue::Fifth, Hue::Sixth, Hue::Seventh];

/// The response times at one rate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoadPoint {
    /// Requests in a second.
    pub(crate) rate_per_s: f64,
    /// A time for each drawn percentile.
    pub(crate) times_ns: Vec<u64>,
    /// The shape of the point.
    pub(crate) shape: Shape,
}

/// Times over rates, with reference lines.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    /// The drawn percentiles, each as a line.
    pub(crate) percentiles: Vec<Percentile>,
    /// In any order. Several points at one rate are all drawn, and the line goes through their median.
    pub(crate) points: Vec<LoadPoint>,
    /// The maximum wanted time at a percentile.
    pub(crate) limits: Vec<(Percentile, u64)>,
    /// Reference rates, with their names.
    pub(crate) rates: Vec<(Hue, &'static str, f64)>,
    pub(crate) caption: String,
}

/// A report with more than one rate: each whole second in which something was answered.
pub(super) fn of_ramp(report: &Report) -> Option<Load> {
    if !report.plan.has_many_rates() {
        return None;
    }
    let seconds = report.runs.iter().flat_map(|run| &run.seconds);
    let whole = |second: &&SecondReport| second.length_ns >= SECOND_NS && second.answered > 0;
    let point = |second: &SecondReport| LoadPoint {
        rate_per_s: second.sent as f64,
        times_ns: vec![second.p50_ns, second.p99_ns],
        shape: Shape::Disc,
    };
    let points: Vec<LoadPoint> = seconds.filter(whole).map(point).collect();
    (!points.is_empty()).then(|| Load {
        percentiles: vec![Percentile::P50, Percentile::P99],
        points,
        limits: Vec::new(),
        rates: Vec::new(),
        caption: "Each point is a second of the run.".to_owned(),
    })
}

impl Load {
    /// Draws the lines over the rate, with reference lines behind them.
    pub(crate) fn draw(&self, page: &mut HtmlPage) {
        let measured: Vec<Line> =
            self.percentiles.iter().enumerate().map(|(at, _)| self.line(at)).collect();
        let limits = self.limits.iter().map(|(_, limit_ns)| *limit_ns as f64);
        let dots = measured.iter().flat_map(|line| &line.dots).map(|dot| dot.point.1);
        let heights = measured.iter().flat_map(|line| &line.points).map(|point| point.1);
        let up = Axis::of_times("response time", heights.chain(dots).chain(limits));
        let rates = self.points.iter().map(|point| point.rate_per_s);
        let highest = rates.chain(self.rates.iter().map(|known| known.2)).fold(0.0, f64::max);
        let (mut legend, mut lines) = self.borders();
        legend.splice(0..0, self.percentiles.iter().zip(HUES).map(named));
        lines.extend(measured);
        Plot {
            description: "Response time against load".to_owned(),
            across: Axis::from_zero("requests/s", highest, count_label),
            up,
            legend,
            caption: self.caption.clone(),
            lines,
        }
        .draw(page);
    }

    /// Lines through the whole plot: at the maximum wanted times, and at the reference rates.
    fn borders(&self) -> (Vec<(Hue, Weight, String)>, Vec<Line>) {
        let (mut legend, mut lines) = (Vec::new(), Vec::new());
        let mut border = |hue, name: String, points| {
            legend.push((hue, Weight::Border, name));
            lines.push(Line { hue, weight: Weight::Border, points, dots: Vec::new() });
        };
        for (percentile, limit_ns) in &self.limits {
            let height = *limit_ns as f64;
            let name = format!("{percentile} at most {}", duration(height));
            // Values outside are drawn at an end.
            border(self.hue(*percentile), name, vec![(0.0, height), (f64::INFINITY, height)]);
        }
        for (hue, name, at) in &self.rates {
            let name = format!("{name}, {}/s", rate(*at));
            border(*hue, name, vec![(*at, 0.0), (*at, f64::INFINITY)]);
        }
        (legend, lines)
    }

    fn hue(&self, percentile: Percentile) -> Hue {
        let mut known = self.percentiles.iter().zip(HUES);
        known.find(|(known, _)| **known == percentile).map_or(Hue::First, |(_, hue)| hue)
    }

    /// The times at the percentile with that number.
    fn line(&self, at: usize) -> Line {
        let place = |point: &LoadPoint| Some((point.rate_per_s, *point.times_ns.get(at)? as f64));
        let name = self.percentiles[at];
        let dot = |point: &LoadPoint| {
            let (per_second, time) = place(point)?;
            let text = format!("{name} at {} requests/s: {}", rate(per_second), duration(time));
            Some(Dot { point: (per_second, time), text, shape: point.shape })
        };
        let dots = match self.points.len() {
            0..=PLOT_DOTS_MAXIMUM => self.points.iter().filter_map(dot).collect(),
            _ => Vec::new(),
        };
        let mut points: Vec<(f64, f64)> = self.points.iter().filter_map(place).collect();
        points.sort_by(|left, right| left.0.total_cmp(&right.0));
        let points = points.chunk_by(|left, right| left.0 == right.0).filter_map(median).collect();
        Line { hue: self.hue(name), weight: Weight::Bold, points, dots }
    }
}

fn named((percentile, hue): (&Percentile, Hue)) -> (Hue, Weight, String) {
    (hue, Weight::Bold, percentile.to_string())
}

/// The median of the times at one rate.
fn median(same: &[(f64, f64)]) -> Option<(f64, f64)> {
    Some((same.first()?.0, FigureSpread::of(same.iter().map(|point| point.1))?.median))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_through_the_median_of_each_rate() {
        let point = |rate_per_s, time_ns| LoadPoint {
            rate_per_s,
            times_ns: vec![time_ns],
            shape: Shape::Ring,
        };
        let load = Load {
            percentiles: vec![Percentile::P99],
            points: vec![point(20.0, 9), point(10.0, 2), point(20.0, 5), point(20.0, 6)],
            limits: Vec::new(),
            rates: Vec::new(),
            caption: String::new(),
        };
        let line = load.line(0);
        assert_eq!(line.points, [(10.0, 2.0), (20.0, 6.0)]);
        assert_eq!(line.dots.len(), 4);
        assert!(line.dots.iter().all(|dot| dot.shape == Shape::Ring));
    }
}
