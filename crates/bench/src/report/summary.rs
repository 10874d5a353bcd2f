//! The runs of a measurement in one: medians, and how much the runs differ.
//!
//! Owns the choice of figures. Never merges distributions: a mean over runs would hide the bad one.

use serde::{Deserialize, Serialize};

use crate::report::run::{LatencyReport, RunReport};

/// One figure over all runs.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FigureSpread {
    /// Half of the runs are at or below this.
    pub median: f64,
    /// The lowest of all runs.
    pub min: f64,
    /// The highest of all runs.
    pub max: f64,
    /// The difference of highest and lowest as a share of the median; zero if that is zero.
    pub spread: f64,
}

impl FigureSpread {
    /// The spread of the values of all runs; `None` without values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<FigureSpread> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let upper = *values.get(values.len() / 2)?;
        let lower = *values.get((values.len() - 1) / 2)?;
        let median = f64::midpoint(lower, upper);
        let spread = if median == 0.0 { 0.0 } else { (max - min) / median };
        Some(FigureSpread { median, min, max, spread })
    }
}

/// A distribution over all runs, figure by figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// The shortest times.
    pub min_ns: FigureSpread,
    /// The medians.
    pub p50_ns: FigureSpread,
    /// The times that nine of ten did not exceed.
    pub p90_ns: FigureSpread,
    /// The times that 19 of 20 did not exceed.
    #[serde(default)]
    pub p95_ns: FigureSpread,
    /// The times that 99 of 100 did not exceed.
    pub p99_ns: FigureSpread,
    /// The times that 999 of 1,000 did not exceed.
    pub p99_9_ns: FigureSpread,
    /// The times that 9,999 of 10,000 did not exceed.
    pub p99_99_ns: FigureSpread,
    /// The longest times.
    pub max_ns: FigureSpread,
    /// The means.
    pub mean_ns: FigureSpread,
}

impl LatencySummary {
    fn of<'a>(latencies: impl Iterator<Item = &'a LatencyReport> + Clone) -> Option<Self> {
        let figure =
            |value: fn(&LatencyReport) -> f64| FigureSpread::of(latencies.clone().map(value));
        Some(LatencySummary {
            min_ns: figure(|latency| latency.min_ns as f64)?,
            p50_ns: figure(|latency| latency.p50_ns as f64)?,
            p90_ns: figure(|latency| latency.p90_ns as f64)?,
            p95_ns: figure(|latency| latency.p95_ns as f64)?,
            p99_ns: figure(|latency| latency.p99_ns as f64)?,
            p99_9_ns: figure(|latency| latency.p99_9_ns as f64)?,
            p99_99_ns: figure(|latency| latency.p99_99_ns as f64)?,
            max_ns: figure(|latency| latency.max_ns as f64)?,
            mean_ns: figure(|latency| latency.mean_ns)?,
        })
    }
}

/// The medians of all runs, and how much the runs differ.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Answered requests a second.
    pub rate_per_s: FigureSpread,
    /// From sending a request to the last byte of the answer.
    pub service: LatencySummary,
    /// From the time a request was due to the last byte of the answer.
    pub response: LatencySummary,
    /// The server's CPU time per request; null if unknown for a run.
    pub server_cpu_per_request_ns: Option<FigureSpread>,
    /// The generator's CPU time per request; null if unknown for a run.
    pub generator_cpu_per_request_ns: Option<FigureSpread>,
}

impl Summary {
    /// The summary of all runs; `None` without a run.
    pub fn of(runs: &[RunReport]) -> Option<Summary> {
        let server = runs.iter().map(|run| run.server.as_ref()?.cpu_per_request_ns);
        let generator = runs.iter().map(|run| run.generator.cpu_per_request_ns);
        Some(Summary {
            rate_per_s: FigureSpread::of(runs.iter().map(|run| run.rate_per_s))?,
            service: LatencySummary::of(runs.iter().map(|run| &run.service))?,
            response: LatencySummary::of(runs.iter().map(|run| &run.response))?,
            server_cpu_per_request_ns: of_all(server),
            generator_cpu_per_request_ns: of_all(generator),
        })
    }
}

/// Of values that every run knows.
fn of_all(values: impl Iterator<Item = Option<f64>>) -> Option<FigureSpread> {
    FigureSpread::of(values.collect::<Option<Vec<f64>>>()?)
}
