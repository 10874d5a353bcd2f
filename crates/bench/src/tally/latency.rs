//! A distribution of times.
//!
//! Owns the range and precision of every histogram. Never fails to record: what is out of range is clamped and counted.

use std::fmt::{self, Write};

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::blob::StoredLatency;
use crate::limits::{LATENCY_DIGITS, LATENCY_MAXIMUM_NS};

/// A distribution of times in nanoseconds, each known to a thousandth of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "StoredLatency", try_from = "StoredLatency")]
pub struct Latency {
    histogram: Histogram<u64>,
    /// The exact sum, for an exact mean. Times beyond the maximum are in it as they were.
    sum_ns: u64,
    clamped: u64,
}

impl Latency {
    /// An empty distribution.
    pub fn new() -> Latency {
        let histogram = Histogram::new_with_max(LATENCY_MAXIMUM_NS, LATENCY_DIGITS)
            .expect("the maximum is above 2 and the digits are at most 5");
        Latency { histogram, sum_ns: 0, clamped: 0 }
    }

    /// Adds one time.
    #[inline]
    pub fn record(&mut self, nanoseconds: u64) {
        self.sum_ns = self.sum_ns.saturating_add(nanoseconds);
        self.clamped += u64::from(nanoseconds > LATENCY_MAXIMUM_NS);
        self.histogram.saturating_record(nanoseconds.min(LATENCY_MAXIMUM_NS));
    }

    /// Adds `count` times of one value, as a foreign histogram holds them.
    pub(super) fn record_many(&mut self, nanoseconds: u64, count: u64) {
        self.sum_ns = self.sum_ns.saturating_add(nanoseconds.saturating_mul(count));
        if nanoseconds > LATENCY_MAXIMUM_NS {
            self.clamped += count;
        }
        self.histogram.saturating_record_n(nanoseconds.min(LATENCY_MAXIMUM_NS), count);
    }

    /// Its counts, to be written in the format of other tools.
    pub(super) fn histogram(&self) -> &Histogram<u64> {
        &self.histogram
    }

    /// The same with the sum and the number that were counted when its times were recorded.
    pub(super) fn counted(self, sum_ns: u64, clamped: u64) -> Latency {
        Latency { sum_ns, clamped, ..self }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.histogram.reset();
        self.sum_ns = 0;
        self.clamped = 0;
    }

    /// Adds all times of another distribution.
    pub fn merge(&mut self, other: &Latency) {
        self.histogram.add(&other.histogram).expect("all of them have the same range");
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.clamped += other.clamped;
    }

    /// Writes the percentiles in the form of HdrHistogram's `outputPercentileDistribution`, in milliseconds.
    pub fn write_hgrm(&self, ticks: u32, out: &mut impl Write) -> fmt::Result {
        writeln!(
            out,
            "{:>12} {:>14} {:>10} {:>14}\n",
            "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
        )?;
        let mut total = 0;
        for step in self.histogram.iter_quantiles(ticks) {
            total += step.count_since_last_iteration();
            let (value, share) =
                (step.value_iterated_to() as f64 / 1e6, step.quantile_iterated_to());
            write!(out, "{value:12.3} {share:14.12} {total:10}")?;
            if share < 1.0 {
                write!(out, " {:14.2}", 1.0 / (1.0 - share))?;
            }
            writeln!(out)?;
        }
        let (mean, deviation) = (self.mean_ns() / 1e6, self.histogram.stdev() / 1e6);
        writeln!(out, "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]")?;
        let most = self.maximum_ns() as f64 / 1e6;
        writeln!(out, "#[Max     = {most:12.3}, Total count    = {:12}]", self.count())?;
        let (buckets, steps) = (self.histogram.buckets(), self.histogram.distinct_values());
        writeln!(out, "#[Buckets = {buckets:12}, SubBuckets     = {steps:12}]")
    }

    /// How many times were recorded.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.histogram.is_empty()
    }

    /// How many of them were longer than [`LATENCY_MAXIMUM_NS`] and stand in the distribution as that.
    pub fn clamped(&self) -> u64 {
        self.clamped
    }

    /// The sum of all times, in nanoseconds.
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// The mean, in nanoseconds; zero when empty.
    pub fn mean_ns(&self) -> f64 {
        if self.is_empty() { 0.0 } else { self.sum_ns as f64 / self.count() as f64 }
    }

    /// The shortest time, in nanoseconds; zero when empty.
    pub fn minimum_ns(&self) -> u64 {
        self.histogram.min()
    }

    /// The longest time, in nanoseconds; zero when empty.
    pub fn maximum_ns(&self) -> u64 {
        self.histogram.max().min(LATENCY_MAXIMUM_NS)
    }

    /// The time that the given share (0 to 1) of all does not exceed, in nanoseconds; zero when empty.
    pub fn quantile_ns(&self, share: f64) -> u64 {
        self.histogram.value_at_quantile(share).min(self.maximum_ns())
    }
}

impl Default for Latency {
    fn default() -> Latency {
        Latency::new()
    }
}
