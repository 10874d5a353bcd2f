//! The ratio of two medians and its confidence interval: Efron's percentile bootstrap ("Bootstrap methods:
//! another look at the jackknife", Annals of Statistics 7, 1979).
//!
//! Owns the resampling. All its random numbers come from its seed.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::limits::{BOOTSTRAP_RESAMPLES, SIGNIFICANCE};

/// The range that contains the true ratio in 95 of 100 cases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Whether a ratio is inside, ends included.
    pub fn contains(&self, ratio: f64) -> bool {
        self.low <= ratio && ratio <= self.high
    }

    /// The interval of the inverse ratio.
    pub fn mirrored(&self) -> Self {
        Self { low: 1.0 / self.high, high: 1.0 / self.low }
    }

    /// The factor, at least 1, between 1 and the end further from it.
    pub fn reach(&self) -> f64 {
        self.high.max(1.0 / self.low).max(1.0)
    }
}

/// The median; `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    median_of(&mut sorted)
}

fn median_of(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let (lower, upper) =
        (values.get((values.len().max(1) - 1) / 2)?, values.get(values.len() / 2)?);
    Some(f64::midpoint(*lower, *upper))
}

/// The interval of the ratio of the median of `second` to the median of `first`. `None` without values, or if one is
/// not above zero, because there is no ratio then.
pub fn interval(first: &[f64], second: &[f64], seed: u64) -> Option<Interval> {
    let usable = |values: &[f64]| !values.is_empty() && values.iter().all(|value| *value > 0.0);
    if !usable(first) || !usable(second) {
        return None;
    }
    // Which is drawn first depends on the values only, so that both directions draw the same.
    match order(first, second) {
        Ordering::Greater => Some(drawn(second, first, seed).mirrored()),
        Ordering::Less | Ordering::Equal => Some(drawn(first, second, seed)),
    }
}

fn order(first: &[f64], second: &[f64]) -> Ordering {
    let unlike =
        |(left, right): (&f64, &f64)| Some(left.total_cmp(right)).filter(|order| order.is_ne());
    first
        .len()
        .cmp(&second.len())
        .then_with(|| first.iter().zip(second).find_map(unlike).unwrap_or(Ordering::Equal))
}

fn drawn(first: &[f64], second: &[f64], seed: u64) -> Interval {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut places = (vec![0.0; first.len()], vec![0.0; second.len()]);
    let mut ratios: Vec<f64> = (0..BOOTSTRAP_RESAMPLES)
        .map(|_| {
            let below = resampled(first, &mut places.0, &mut random);
            resampled(second, &mut places.1, &mut random) / below
        })
        .collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let cut = (BOOTSTRAP_RESAMPLES as f64 * SIGNIFICANCE / 2.0) as usize;
    Interval { low: ratios[cut], high: ratios[BOOTSTRAP_RESAMPLES - 1 - cut] }
}

fn resampled(values: &[f64], places: &mut [f64], random: &mut fastrand::Rng) -> f64 {
    places.iter_mut().for_each(|place| *place = values[random.usize(..values.len())]);
    median_of(places).expect("who has values has a median")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_in_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn values_that_do_not_vary_have_an_interval_of_no_width() {
        assert_eq!(interval(&[2.0; 5], &[3.0; 5], 1), Some(Interval { low: 1.5, high: 1.5 }));
        assert_eq!(interval(&[2.0, 0.0], &[3.0], 1), None);
        assert_eq!(interval(&[2.0], &[], 1), None);
    }

    #[test]
    fn three_values_have_the_interval_of_all_their_resamples() {
        // Of 27 equally likely resamples of 1, 2, 4 seven have the median 1, thirteen 2 and seven 4: each beyond 2.5 %.
        let interval = interval(&[1.0], &[1.0, 2.0, 4.0], 7);
        assert_eq!(interval, Some(Interval { low: 1.0, high: 4.0 }));
    }

    #[test]
    fn the_interval_holds_the_true_ratio_about_as_often_as_it_says() {
        let mut random = fastrand::Rng::with_seed(11);
        let mut sample = || (0..15).map(|_| 100.0 + random.f64() * 10.0).collect::<Vec<f64>>();
        let held = (0..40)
            .filter(|seed| {
                let (first, second) = (sample(), sample());
                interval(&first, &second, *seed).is_some_and(|interval| interval.contains(1.0))
            })
            .count();
        assert!((35..=40).contains(&held), "{held} of 40");
    }
}
