//! The search for the highest rate at which an objective holds: up by a factor until it is violated, then between the
//! last good and the first bad rate until they are close.
//!
//! Owns the choice of rates. Never measures: it is given a function for that.

use serde::{Deserialize, Serialize};

use crate::limits::{KNEE_INTERVAL_FACTOR, KNEE_RATES_MAXIMUM, KNEE_STEP_FACTOR};

/// The result of a measurement at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KneeFound {
    /// Every objective held.
    Held,
    /// One did not.
    Broken,
    /// The result cannot be trusted: the generator or its host was the limit.
    Untrusted,
    /// It was stopped.
    Stopped,
}

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchResult {
    /// How it ended.
    pub end: End,
    /// The highest rate below all bad ones at which everything held; null if there is none.
    pub last_good_per_s: Option<f64>,
    /// The lowest rate at which it did not; null if there is none.
    pub first_bad_per_s: Option<f64>,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The knee is between the last good and the first bad rate.
    Found,
    /// It held at the highest rate too.
    NeverBroke,
    /// It did not hold at the lowest rate.
    BrokenFromStart,
    /// Beyond the last good rate the generator or its host is the limit.
    GeneratorLimit,
    /// It was stopped, or too many rates were tried.
    Stopped,
}

/// Searches between two rates. A rate that is not good is measured again, and a third time if the two disagree: what
/// happens once on a busy host is not a knee.
///
/// # Errors
/// Those of `measure`, which end the search.
pub fn search<Error>(
    lowest: f64,
    highest: f64,
    mut measure: impl FnMut(f64) -> Result<KneeFound, Error>,
) -> Result<SearchResult, Error> {
    let mut good = None;
    let mut bad: Option<(f64, KneeFound)> = None;
    let mut is_stopped = false;
    for _ in 0..KNEE_RATES_MAXIMUM {
        let Some(rate) = next(good, bad.map(|(rate, _)| rate), lowest, highest) else { break };
        match confirmed(rate, &mut measure)? {
            KneeFound::Held => good = Some(rate),
            KneeFound::Stopped => {
                is_stopped = true;
                break;
            }
            outcome => bad = Some((rate, outcome)),
        }
    }
    let bad_rate = bad.map(|(rate, _)| rate);
    let is_done = next(good, bad_rate, lowest, highest).is_none();
    let end = match (good, bad) {
        _ if is_stopped || !is_done => End::Stopped,
        (_, Some((_, KneeFound::Untrusted))) => End::GeneratorLimit,
        (Some(_), Some(_)) => End::Found,
        (None, Some(_)) => End::BrokenFromStart,
        (_, None) => End::NeverBroke,
    };
    Ok(SearchResult { end, last_good_per_s: good, first_bad_per_s: bad_rate })
}

/// The next rate to try; `None` if nothing is left to find out.
fn next(good: Option<f64>, bad: Option<f64>, lowest: f64, highest: f64) -> Option<f64> {
    match (good, bad) {
        (None, None) => Some(lowest),
        (None, Some(_)) => None,
        (Some(good), None) => (good < highest).then(|| (good * KNEE_STEP_FACTOR).min(highest)),
        (Some(good), Some(bad)) => (bad / good > KNEE_INTERVAL_FACTOR).then(|| (good * bad).sqrt()),
    }
}

fn confirmed<Error>(
    rate: f64,
    measure: &mut impl FnMut(f64) -> Result<KneeFound, Error>,
) -> Result<KneeFound, Error> {
    let first = measure(rate)?;
    if matches!(first, KneeFound::Held | KneeFound::Stopped) {
        return Ok(first);
    }
    match measure(rate)? {
        KneeFound::Held => measure(rate),
        second => Ok(second),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// Searches with a server; also returns the rates that were tried.
    fn searched(
        lowest: f64,
        highest: f64,
        mut server: impl FnMut(f64) -> KneeFound,
    ) -> (SearchResult, Vec<f64>) {
        let mut tried = Vec::new();
        let found = search::<Infallible>(lowest, highest, |rate| {
            tried.push(rate);
            Ok(server(rate))
        });
        let Ok(found) = found;
        (found, tried)
    }

    fn held_if(holds: bool) -> KneeFound {
        if holds { KneeFound::Held } else { KneeFound::Broken }
    }

    /// The 99th percentile of the response time of M/M/1 is below 5 ms: ln(100) / (50,000 - rate) seconds.
    fn queue(rate: f64) -> KneeFound {
        held_if(rate < 50_000.0 && 100.0_f64.ln() / (50_000.0 - rate) < 0.005)
    }

    #[test]
    fn the_knee_of_a_queue_is_found_to_five_percent() {
        let knee = 50_000.0 - 100.0_f64.ln() / 0.005;
        let (found, tried) = searched(1_000.0, 1e6, queue);
        assert_eq!(found.end, End::Found);
        let (good, bad) = (found.last_good_per_s.unwrap(), found.first_bad_per_s.unwrap());
        assert!(good <= knee && knee <= bad && bad / good <= 1.05, "{good} {knee} {bad}");
        assert!(tried.len() <= 20, "{tried:?}");
    }

    #[test]
    fn a_noisy_server_is_not_broken_by_one_bad_moment() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..100 {
            let mut calm = 0;
            let (found, tried) = searched(1_000.0, 1e6, |rate| {
                // Never two in three measurements.
                let hiccup = calm >= 2 && random.f64() < 0.3;
                calm = if hiccup { 0 } else { calm + 1 };
                if hiccup { KneeFound::Broken } else { queue(rate) }
            });
            let (good, bad) = (found.last_good_per_s.unwrap(), found.first_bad_per_s.unwrap());
            assert!(good < 50_000.0 && bad > 46_000.0, "{found:?} {tried:?}");
            assert!(tried.len() <= 3 * 20, "{tried:?}");
        }
    }

    #[test]
    fn one_that_never_breaks_is_tried_up_to_the_highest_rate() {
        let (found, tried) = searched(1_000.0, 10_000.0, |_| KneeFound::Held);
        assert_eq!((found.end, found.first_bad_per_s), (End::NeverBroke, None));
        assert_eq!(tried, [1_000.0, 2_000.0, 4_000.0, 8_000.0, 10_000.0]);
        let (_, tried) = searched(1e-3, f64::INFINITY, |_| KneeFound::Held);
        assert_eq!(tried.len(), KNEE_RATES_MAXIMUM);
    }

    #[test]
    fn one_broken_from_the_start_is_told_so() {
        let (found, tried) = searched(1_000.0, 1e6, |_| KneeFound::Broken);
        assert_eq!((found.end, found.last_good_per_s), (End::BrokenFromStart, None));
        assert_eq!(tried, [1_000.0, 1_000.0]);
    }

    #[test]
    fn the_limit_of_the_generator_is_no_knee() {
        let limited = |rate| if rate < 30_000.0 { KneeFound::Held } else { KneeFound::Untrusted };
        let (found, _) = searched(1_000.0, 1e6, limited);
        assert_eq!(found.end, End::GeneratorLimit);
        assert!(found.first_bad_per_s.unwrap() < 32_000.0, "{found:?}");
        // A violation below the generator's limit is the server's.
        let both =
            |rate| if rate > 20_000.0 { KneeFound::Untrusted } else { held_if(rate < 10_000.0) };
        assert_eq!(searched(1_000.0, 1e6, both).0.end, End::Found);
    }

    #[test]
    fn stopped_search_reports_best_result() {
        let stopped = |rate| if rate < 3_000.0 { KneeFound::Held } else { KneeFound::Stopped };
        let (found, tried) = searched(1_000.0, 1e6, stopped);
        assert_eq!(
            (found.end, found.last_good_per_s, tried.len()),
            (End::Stopped, Some(2_000.0), 3)
        );
    }
}
