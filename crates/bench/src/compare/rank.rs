//! The rank test of Mann and Whitney ("On a test of whether one of two random variables is stochastically larger than
//! the other", Annals of Mathematical Statistics 18, 1947).
//!
//! Owns the probability, and never decides what is rare enough. It assumes nothing about the distribution of the
//! figures.

use crate::limits::RANK_EXACT_RUNS_MAXIMUM;

/// The probability that two samples of the same distribution are ordered at least as unevenly as these, in either
/// direction. Exact for few values, including ties: every way to assign the ranks to the two samples is counted. 1 if a
/// sample is empty.
pub fn probability(first: &[f64], second: &[f64]) -> f64 {
    if first.is_empty() || second.is_empty() {
        return 1.0;
    }
    let ranks = doubled_ranks(first, second);
    if ranks.len() <= RANK_EXACT_RUNS_MAXIMUM {
        exact(&ranks, first.len())
    } else {
        approximate(&ranks, first.len())
    }
}

/// The smallest possible probability for samples of these sizes: all of one below all of the other.
pub fn smallest_probability(first: usize, second: usize) -> f64 {
    let ways: f64 = (1..=first).map(|at| (second + at) as f64 / at as f64).product();
    (2.0 / ways).min(1.0)
}

/// Twice the rank of each value among all, those of the first sample first. Equal values share the mean of their ranks,
/// which doubled is an integer.
fn doubled_ranks(first: &[f64], second: &[f64]) -> Vec<usize> {
    let all: Vec<f64> = first.iter().chain(second).copied().collect();
    let doubled = |value: &f64| {
        let below = all.iter().filter(|other| *other < value).count();
        let equal = all.iter().filter(|other| *other == value).count();
        2 * below + equal + 1
    };
    all.iter().map(doubled).collect()
}

/// By counting: `ways[taken][sum]` is the number of ways in which this many ranks add up to that sum.
fn exact(ranks: &[usize], first: usize) -> f64 {
    let whole: usize = ranks.iter().sum();
    let observed: usize = ranks.iter().take(first).sum();
    let mut ways = vec![vec![0.0_f64; whole + 1]; first + 1];
    ways[0][0] = 1.0;
    for (seen, rank) in ranks.iter().enumerate() {
        for taken in (1..=first.min(seen + 1)).rev() {
            let (fewer, more) = ways.split_at_mut(taken);
            let reached = more[0][*rank..].iter_mut();
            reached.zip(&fewer[taken - 1]).for_each(|(way, before)| *way += before);
        }
    }
    let sums = &ways[first];
    let all: f64 = sums.iter().sum();
    let lower: f64 = sums[..=observed].iter().sum();
    let upper: f64 = sums[observed..].iter().sum();
    (2.0 * lower.min(upper) / all).min(1.0)
}

/// By the normal distribution, with the correction for ties and for continuity (Lehmann, "Nonparametrics", 1975, 1.5).
fn approximate(ranks: &[usize], first: usize) -> f64 {
    let (sizes, count) = ((first as f64, (ranks.len() - first) as f64), ranks.len() as f64);
    let sum = ranks.iter().take(first).sum::<usize>() as f64 / 2.0;
    let mean = sizes.0 * (count + 1.0) / 2.0;
    // Summed over values, a group of t ties comes t times: t^3 - t of it is the sum of t^2 - 1.
    let tied = |rank: &usize| ranks.iter().filter(|other| *other == rank).count() as f64;
    let ties: f64 = ranks.iter().map(|rank| tied(rank).powi(2) - 1.0).sum();
    let variance = sizes.0 * sizes.1 / 12.0 * (count + 1.0 - ties / (count * (count - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let deviation = ((sum - mean).abs() - 0.5).max(0.0) / variance.sqrt();
    beyond(deviation).min(1.0)
}

/// The probability that a normal number is at least this many deviations from its mean: Abramowitz and Stegun,
/// "Handbook of Mathematical Functions", 7.1.26, to 1.5e-7.
fn beyond(deviations: f64) -> f64 {
    let at = deviations / std::f64::consts::SQRT_2;
    let step = 1.0 / (1.0 + 0.327_591_1 * at);
    let terms = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    terms.iter().fold(0.0, |sum, term| sum * step + term) * step * (-at * at).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(value: f64, expected: f64, distance: f64) {
        assert!((value - expected).abs() <= distance, "{value} is not {expected}");
    }

    #[test]
    fn published_examples_come_out() {
        // Hollander and Wolfe, "Nonparametric Statistical Methods", 1973, table 4.1: one-sided 0.1272 for a sum of 35
        // above the least.
        let term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let weeks = [1.15, 0.88, 0.90, 0.74, 1.21];
        assert_near(probability(&term, &weeks), 2.0 * 0.1272, 0.0001);
    }

    #[test]
    fn the_table_of_mann_and_whitney_comes_out() {
        // Complete order: two of the binomial coefficient. U = 2 of five and five: 1 + 1 + 2 orders of 252.
        assert_near(probability(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 2.0 / 20.0, 1e-12);
        assert_near(probability(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]), 2.0 / 70.0, 1e-12);
        let low = [1.0, 2.0, 3.0, 4.0, 7.0];
        assert_near(probability(&low, &[5.0, 6.0, 8.0, 9.0, 10.0]), 8.0 / 252.0, 1e-12);
        assert_near(smallest_probability(5, 5), 2.0 / 252.0, 1e-12);
        assert_near(smallest_probability(3, 3), 0.1, 1e-12);
        assert_near(smallest_probability(0, 3), 1.0, 1e-12);
    }

    #[test]
    fn ties_are_counted_exactly() {
        // Doubled ranks 2, 5, 5, 8: of six pairs two have the sum 7.
        assert_near(probability(&[1.0, 2.0], &[2.0, 3.0]), 2.0 / 3.0, 1e-12);
        assert_near(probability(&[4.0; 5], &[4.0; 5]), 1.0, 1e-12);
        assert_near(probability(&[4.0; 40], &[4.0; 40]), 1.0, 1e-12);
        assert_near(probability(&[], &[4.0]), 1.0, 1e-12);
    }

    #[test]
    fn the_approximation_is_near_the_exact_count() {
        assert_near(beyond(1.959_964), 0.05, 1e-6);
        assert_near(beyond(0.0), 1.0, 1e-6);
        for shift in [0, 3, 6, 9] {
            let first: Vec<f64> = (0..20).map(f64::from).collect();
            for parts in [1.0, 4.0] {
                let second: Vec<f64> = (0..20)
                    .map(|at| (f64::from(at + shift) / parts).floor() * parts + 0.5)
                    .collect();
                let ranks = doubled_ranks(&first, &second);
                assert_near(approximate(&ranks, 20), exact(&ranks, 20), 0.01);
            }
        }
    }
}
