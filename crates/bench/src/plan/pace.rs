//! The pace: as fast as answers arrive, or at a fixed rate.
//!
//! Owns the notation `R` and `A:B` of rates, and rates in stages. [`super::schedule`] computes when
//! each request is due.

use std::str::FromStr;
use std::time::Duration;

use crate::limits::RATE_PER_SECOND_MAX;

/// The event that makes a request due.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestPace {
    /// The answer to the previous one on its connection (closed loop).
    Closed,
    /// The time (open loop), whether or not others were answered.
    Open(RequestRate),
}

/// Requests per second of all threads together, over time. The warm-up uses the first rate, and after
/// the last stage the last rate continues.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestRate {
    /// The stages in order; never empty.
    pub stages: Vec<RateStage>,
    /// The distribution of arrivals.
    pub arrivals: Arrivals,
}

/// A part of a run with its own rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateStage {
    /// Its requests per second.
    pub ramp: Ramp,
    /// How long it takes.
    pub lasts: Duration,
}

/// Requests per second that change linearly, or do not change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    /// At the begin.
    pub from: f64,
    /// At the end.
    pub to: f64,
}

/// The distribution of arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// At equal distances.
    Constant,
    /// At random, as from many independent clients.
    Poisson,
}

/// An error in a rate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RateError {
    /// It is not a number.
    #[error("`{0}` is not a number of requests per second; write 50000, 50k, or 1k:50k for a ramp")]
    NotANumber(String),
    /// More than any run can send.
    #[error("`{0}` requests per second cannot be sent; choose at most {RATE_PER_SECOND_MAX}")]
    OutOfRange(String),
}

impl RequestRate {
    /// The same rate for all of that time.
    pub fn steady(per_second: f64, lasts: Duration, arrivals: Arrivals) -> Self {
        let ramp = Ramp { from: per_second, to: per_second };
        Self { stages: vec![RateStage { ramp, lasts }], arrivals }
    }

    /// Whether any request is due.
    pub fn asks(&self) -> bool {
        self.stages.iter().any(|stage| stage.ramp.from > 0.0 || stage.ramp.to > 0.0)
    }
}

impl Ramp {
    /// Whether it is the same at the end as at the begin.
    pub fn is_steady(&self) -> bool {
        self.from == self.to
    }
}

/// `R` or `A:B`, with `k` for thousands and `m` for millions.
impl FromStr for Ramp {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let (from, to) = text.split_once(':').unwrap_or((text, text));
        Ok(Self { from: per_second(from)?, to: per_second(to)? })
    }
}

fn per_second(text: &str) -> Result<f64, RateError> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1e3),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 1e6),
        _ => (text, 1.0),
    };
    // `parse` accepts `inf`, `nan` and signs; a rate consists of digits.
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number = digits.parse::<f64>().ok().filter(|_| is_plain);
    let number = number.ok_or_else(|| RateError::NotANumber(text.to_owned()))? * unit;
    if number <= RATE_PER_SECOND_MAX {
        Ok(number)
    } else {
        Err(RateError::OutOfRange(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_with_their_units() {
        let rate: Ramp = "1.5k".parse().unwrap();
        assert_eq!((rate.from, rate.to, rate.is_steady()), (1500.0, 1500.0, true));
        let ramp: Ramp = "100:2M".parse().unwrap();
        assert_eq!((ramp.from, ramp.to, ramp.is_steady()), (100.0, 2e6, false));
        let fall: Ramp = "5k:0".parse().unwrap();
        assert_eq!((fall.from, fall.to), (5000.0, 0.0));
    }

    #[test]
    fn invalid_rate_is_refused_with_its_text() {
        for text in ["", "k", "-5", "+5", "inf", "nan", "1e5", "5 k", "1:2:3", "5:", ":5"] {
            let error = text.parse::<Ramp>().unwrap_err();
            assert!(matches!(error, RateError::NotANumber(_)), "{text}: {error}");
        }
        for text in ["1000m", "1:99999999999"] {
            let error = text.parse::<Ramp>().unwrap_err();
            assert!(matches!(error, RateError::OutOfRange(_)), "{text}: {error}");
        }
    }

    #[test]
    fn a_rate_asks_when_one_of_its_stages_does() {
        let lasts = Duration::from_secs(1);
        let stage = |from, to| RateStage { ramp: Ramp { from, to }, lasts };
        let rate = |stages| RequestRate { stages, arrivals: Arrivals::Constant };
        assert!(!rate(vec![stage(0.0, 0.0), stage(0.0, 0.0)]).asks());
        assert!(rate(vec![stage(0.0, 0.0), stage(0.0, 1.0)]).asks());
    }
}
