//! How fast: as fast as answers come, or at a rate of our own.
//!
//! Owns the notation `R` and `A:B` of rates. When each request is due is in [`super::schedule`].

use std::fmt;
use std::str::FromStr;

use crate::limits::RATE_PER_SECOND_MAX;

/// What makes a request due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// The answer to the one before on its connection (closed loop).
    Closed,
    /// The time (open loop): whether or not others are answered.
    Open(Rate),
}

/// Requests per second of all threads together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// At the beginning, warm-up included.
    pub from: f64,
    /// At the end; linear in between.
    pub to: f64,
    /// How they follow each other.
    pub arrivals: Arrivals,
}

/// How requests follow each other at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// At equal distances.
    Constant,
    /// At random, as many independent people ask.
    Poisson,
}

/// What is wrong with a rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RateError {
    /// It is not a number.
    NotANumber(String),
    /// Nothing is sent at it, or more than any run can send.
    OutOfRange(String),
}

impl fmt::Display for RateError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotANumber(text) => write!(
                formatter,
                "`{text}` is not a number of requests per second; write 50000, 50k, or 1k:50k for a ramp"
            ),
            Self::OutOfRange(text) => write!(
                formatter,
                "`{text}` requests per second cannot be sent; choose more than 0 and at most {RATE_PER_SECOND_MAX}"
            ),
        }
    }
}

impl std::error::Error for RateError {}

impl Rate {
    /// The same number of requests in every second.
    pub fn steady(per_second: f64, arrivals: Arrivals) -> Self {
        Self { from: per_second, to: per_second, arrivals }
    }

    /// The same rate with other arrivals.
    #[must_use]
    pub fn with_arrivals(mut self, arrivals: Arrivals) -> Self {
        self.arrivals = arrivals;
        self
    }

    /// Whether it is the same at the end as at the beginning.
    pub fn is_steady(&self) -> bool {
        self.from == self.to
    }
}

/// `R` or `A:B`, with `k` for thousands and `m` for millions; constant arrivals.
impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let (from, to) = text.split_once(':').unwrap_or((text, text));
        Ok(Self { from: per_second(from)?, to: per_second(to)?, arrivals: Arrivals::Constant })
    }
}

fn per_second(text: &str) -> Result<f64, RateError> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1e3),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 1e6),
        _ => (text, 1.0),
    };
    // `parse` knows `inf`, `nan` and signs; a rate is digits.
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number = digits.parse::<f64>().ok().filter(|_| is_plain);
    let number = number.ok_or_else(|| RateError::NotANumber(text.to_owned()))? * unit;
    if number > 0.0 && number <= RATE_PER_SECOND_MAX {
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
        let rate: Rate = "1.5k".parse().unwrap();
        assert_eq!((rate.from, rate.to, rate.is_steady()), (1500.0, 1500.0, true));
        let ramp: Rate = "100:2M".parse().unwrap();
        assert_eq!((ramp.from, ramp.to, ramp.is_steady()), (100.0, 2e6, false));
        assert_eq!(ramp.with_arrivals(Arrivals::Poisson).arrivals, Arrivals::Poisson);
    }

    #[test]
    fn what_is_no_rate_is_refused_by_its_text() {
        for text in ["", "k", "-5", "+5", "inf", "nan", "1e5", "5 k", "1:2:3", "5:", ":5"] {
            let error = text.parse::<Rate>().unwrap_err();
            assert!(matches!(error, RateError::NotANumber(_)), "{text}: {error}");
        }
        for text in ["0", "0:5", "5:0", "1000m", "99999999999"] {
            let error = text.parse::<Rate>().unwrap_err();
            assert!(matches!(error, RateError::OutOfRange(_)), "{text}: {error}");
        }
    }
}
