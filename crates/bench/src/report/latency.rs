//! A distribution of times as stored.
//!
//! Owns its figures and their names. Never computes one: the distribution does.

use serde::{Deserialize, Serialize};

use crate::tally::Latency;

/// A distribution of times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyReport {
    /// The number of times.
    pub count: u64,
    /// How many of them were longer than the maximum of a histogram, and are recorded as that.
    pub clamped: u64,
    /// The shortest.
    pub min_ns: u64,
    /// Half of them were no longer.
    pub p50_ns: u64,
    /// Nine of ten were no longer.
    pub p90_ns: u64,
    /// 19 of 20 were no longer.
    #[serde(default)]
    pub p95_ns: u64,
    /// 99 of 100 were no longer.
    pub p99_ns: u64,
    /// 999 of 1,000 were no longer.
    pub p99_9_ns: u64,
    /// 9,999 of 10,000 were no longer.
    pub p99_99_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The mean, exact.
    pub mean_ns: f64,
    /// The whole distribution: HDR V2, compressed, base64.
    pub hdr_v2: String,
}

impl LatencyReport {
    /// The figures of a distribution, and all of it.
    pub fn of(latency: &Latency) -> LatencyReport {
        LatencyReport {
            count: latency.count(),
            clamped: latency.clamped(),
            min_ns: latency.minimum_ns(),
            p50_ns: latency.quantile_ns(0.5),
            p90_ns: latency.quantile_ns(0.9),
            p95_ns: latency.quantile_ns(0.95),
            p99_ns: latency.quantile_ns(0.99),
            p99_9_ns: latency.quantile_ns(0.999),
            p99_99_ns: latency.quantile_ns(0.9999),
            max_ns: latency.maximum_ns(),
            mean_ns: latency.mean_ns(),
            hdr_v2: latency.to_text(),
        }
    }
}
