//! Percentiles by their names.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::report::run::LatencyReport;
use crate::report::summary::{FigureSpread, LatencySummary};

/// A place in a distribution of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Percentile {
    /// The median.
    #[serde(rename = "p50")]
    P50,
    /// 9 of 10 do not exceed it.
    #[serde(rename = "p90")]
    P90,
    /// 19 of 20 do not exceed it.
    #[serde(rename = "p95")]
    P95,
    /// 99 of 100 do not exceed it.
    #[serde(rename = "p99")]
    P99,
    /// 999 of 1,000 do not exceed it.
    #[serde(rename = "p99.9")]
    P999,
    /// 9,999 of 10,000 do not exceed it.
    #[serde(rename = "p99.99")]
    P9999,
    /// The longest.
    #[serde(rename = "max")]
    Max,
}

impl Percentile {
    /// All of them.
    pub const ALL: [Percentile; 7] =
        [Self::P50, Self::P90, Self::P95, Self::P99, Self::P999, Self::P9999, Self::Max];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
            Self::P9999 => "p99.99",
            Self::Max => "max",
        }
    }

    /// The share of times that may be longer.
    pub fn share_beyond(self) -> f64 {
        match self {
            Self::P50 => 0.5,
            Self::P90 => 0.1,
            Self::P95 => 0.05,
            Self::P99 => 0.01,
            Self::P999 => 0.001,
            Self::P9999 => 0.0001,
            Self::Max => 0.0,
        }
    }

    /// The same for a summary of runs.
    pub fn of_summary(self, summary: &LatencySummary) -> FigureSpread {
        match self {
            Self::P50 => summary.p50_ns,
            Self::P90 => summary.p90_ns,
            Self::P95 => summary.p95_ns,
            Self::P99 => summary.p99_ns,
            Self::P999 => summary.p99_9_ns,
            Self::P9999 => summary.p99_99_ns,
            Self::Max => summary.max_ns,
        }
    }

    /// The time at that place, in nanoseconds.
    pub fn of(self, latency: &LatencyReport) -> u64 {
        match self {
            Self::P50 => latency.p50_ns,
            Self::P90 => latency.p90_ns,
            Self::P95 => latency.p95_ns,
            Self::P99 => latency.p99_ns,
            Self::P999 => latency.p99_9_ns,
            Self::P9999 => latency.p99_99_ns,
            Self::Max => latency.max_ns,
        }
    }
}

impl fmt::Display for Percentile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// A text that is not the name of a percentile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a percentile; write p50, p90, p95, p99, p99.9, p99.99 or max")]
pub struct NoPercentile(pub String);

impl FromStr for Percentile {
    type Err = NoPercentile;

    fn from_str(text: &str) -> Result<Self, NoPercentile> {
        let known = Self::ALL.into_iter().find(|percentile| percentile.name() == text);
        known.ok_or_else(|| NoPercentile(text.to_owned()))
    }
}
