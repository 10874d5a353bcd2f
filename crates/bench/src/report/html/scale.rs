//! Axes: from a value to a position, and the marks.
//!
//! Owns the choice of range and marks. Never draws.

use crate::report::figures::{count, duration};

/// The approximate number of marks of an axis.
const MARKS_WANTED: f64 = 6.0;

/// Ratio of the highest to the lowest value from which on a linear scale would press most of a curve against the axis.
const WIDE_RATIO: f64 = 30.0;

/// A mark at an axis. Plain data.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mark {
    pub(crate) value: f64,
    /// Its text.
    pub(crate) label: String,
}

/// How values become distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Distances {
    /// Equal differences are equal distances.
    Linear,
    /// Equal ratios are equal distances.
    Logarithmic,
}

/// An axis of a plot.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    name: String,
    distances: Distances,
    low: f64,
    high: f64,
    marks: Vec<Mark>,
}

impl Axis {
    /// An axis from `low` to `high` with given marks.
    pub(super) fn with_marks(name: &str, low: f64, high: f64, marks: Vec<Mark>) -> Axis {
        Axis { name: name.to_owned(), distances: Distances::Linear, low, high, marks }
    }

    /// From zero to a little above the highest value, with round marks.
    pub(super) fn from_zero(name: &str, highest: f64, label: fn(f64) -> String) -> Axis {
        let highest = if highest.is_finite() && highest > 0.0 { highest } else { 1.0 };
        let step = round_step(highest / MARKS_WANTED);
        let steps = (highest / step).ceil().max(1.0);
        let marks = (0..=steps as u32).map(|at| mark(f64::from(at) * step, label)).collect();
        Axis::with_marks(name, 0.0, steps * step, marks)
    }

    /// Times in nanoseconds: from zero, or logarithmic if they are far apart.
    pub(super) fn of_times(name: &str, values: impl Iterator<Item = f64>) -> Axis {
        let (mut lowest, mut highest) = (f64::INFINITY, 0.0f64);
        for value in values.filter(|value| *value > 0.0) {
            lowest = lowest.min(value);
            highest = highest.max(value);
        }
        if highest <= lowest * WIDE_RATIO {
            return Axis::from_zero(name, highest, time_label);
        }
        let (first, last) = (lowest.log10().floor() as i32, highest.log10().ceil() as i32);
        let factors: &[f64] = if last - first <= 3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let values =
            (first..=last).flat_map(|power| factors.iter().map(move |f| f * 10f64.powi(power)));
        let high = values.clone().find(|value| *value >= highest).unwrap_or(highest);
        let low = values.clone().rfind(|value| *value <= lowest).unwrap_or(lowest);
        let inside = values.filter(|value| (low..=high).contains(value));
        Axis {
            name: format!("{name}, logarithmic"),
            distances: Distances::Logarithmic,
            low,
            high,
            marks: inside.map(|value| mark(value, time_label)).collect(),
        }
    }

    /// The quantity that it shows, with the unit if the marks have none.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// The position of a value, 0 at the low end and 1 at the high one. Values outside are at the end.
    pub(super) fn place(&self, value: f64) -> f64 {
        let place = match self.distances {
            Distances::Linear => (value - self.low) / (self.high - self.low),
            Distances::Logarithmic => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        if place.is_nan() { 0.0 } else { place.clamp(0.0, 1.0) }
    }
}

/// The marks of rates and other counts.
pub(super) fn count_label(value: f64) -> String {
    if value.fract() == 0.0 { count(value as u64) } else { shortened(&format!("{value:.3}")) }
}

/// The marks of times, without insignificant digits.
pub(super) fn time_label(nanoseconds: f64) -> String {
    if nanoseconds == 0.0 {
        return "0".to_owned();
    }
    let written = duration(nanoseconds);
    written
        .split_once(' ')
        .map_or(written.clone(), |(number, unit)| format!("{} {unit}", shortened(number)))
}

fn shortened(number: &str) -> String {
    if !number.contains('.') {
        return number.to_owned();
    }
    number.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn mark(value: f64, label: fn(f64) -> String) -> Mark {
    Mark { value, label: label(value) }
}

/// The smallest of 1, 2, 5, 10 ... times a power of ten that is not less.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= least);
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.marks.iter().map(|mark| mark.label.as_str()).collect()
    }

    #[test]
    fn marks_are_round_and_reach_beyond_the_highest_value() {
        let axis = Axis::from_zero("requests/s", 43_210.0, count_label);
        assert_eq!(labels(&axis), ["0", "10,000", "20,000", "30,000", "40,000", "50,000"]);
        assert_eq!(axis.place(25_000.0), 0.5);
        let axis = Axis::from_zero("failed/s", 0.0, count_label);
        assert_eq!((axis.place(0.0), axis.place(1.0)), (0.0, 1.0));
    }

    #[test]
    fn times_far_apart_are_drawn_by_ratios() {
        let near = Axis::of_times("time", [1.0e6, 2.9e6].into_iter());
        assert_eq!(labels(&near), ["0", "500 us", "1 ms", "1.5 ms", "2 ms", "2.5 ms", "3 ms"]);
        let far = Axis::of_times("time", [12_000.0, 0.0, 900_000.0].into_iter());
        assert_eq!(far.distances, Distances::Logarithmic);
        assert_eq!(labels(&far), ["10 us", "20 us", "50 us", "100 us", "200 us", "500 us", "1 ms"]);
        assert!((far.place(100_000.0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn value_outside_scale_is_drawn_at_its_end() {
        let axis = Axis::of_times("time", [12_000.0, 900_000.0].into_iter());
        let places = [0.0, -1.0, f64::NAN, f64::INFINITY, 1e12].map(|value| axis.place(value));
        assert_eq!(places, [0.0, 0.0, 0.0, 1.0, 1.0]);
        assert!(Axis::of_times("time", std::iter::empty()).place(5.0).is_finite());
    }
}
