//! Moments and shares: the two numbers that the schedule computes with.
//!
//! Owns their arithmetic, which never overflows. Never reads a clock.

use std::fmt;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

/// A second of the calendar: seconds since 1970 in UTC, without leap seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UtcSecond(i64);

impl UtcSecond {
    /// From seconds since 1970.
    pub const fn from_unix(seconds: i64) -> Self {
        Self(seconds)
    }

    /// Seconds since 1970.
    pub const fn unix(self) -> i64 {
        self.0
    }

    /// The moment some seconds later; earlier if they are negative.
    #[must_use]
    pub const fn plus(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds))
    }

    /// Seconds from another moment to this one; negative if this one is earlier.
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The time from now until this moment; none if it has passed.
    pub fn after(self, now: Self) -> Duration {
        Duration::from_secs(u64::try_from(self.since(now)).unwrap_or(0))
    }
}

impl From<SystemTime> for UtcSecond {
    fn from(time: SystemTime) -> Self {
        let seconds = |span: Duration| i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
        match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => Self(seconds(after)),
            Err(before) => Self(-seconds(before.duration())),
        }
    }
}

impl fmt::Display for UtcSecond {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_second(self.0) {
            Ok(time) => write!(out, "{time}"),
            Err(_) => write!(out, "second {}", self.0),
        }
    }
}

/// A share of something, from nothing to almost all of it: jitter, or the place of one certificate in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fraction(u32);

impl Fraction {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// Almost all.
    pub const ALL: Self = Self(u32::MAX);

    /// From 32 bits, as they come from a hash or a generator of random numbers.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The share of a number of seconds, rounded down.
    pub fn of(self, seconds: i64) -> i64 {
        let share = i128::from(seconds) * i128::from(self.0) / (i128::from(u32::MAX) + 1);
        i64::try_from(share).expect("a share is no larger than the whole")
    }
}
