//! The values of one measurement, and the statistics over several.
//!
//! Owns the list of metrics. Does not know where a number came from.

use std::collections::BTreeMap;

/// All metrics, each with one unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Metric {
    /// Requests per second.
    Rate,
    /// CPU time per request, exact, in microseconds: of all threads of the server, or of the generator
    /// if generators are compared.
    CpuMicros,
    /// The part of it in user mode, by the ratio of clock ticks.
    UserMicros,
    SystemMicros,
    /// Percent of the server's core that was not idle.
    ServerCoreBusy,
    LoadCoreBusy,
    /// Steal time in percent of both cores.
    Steal,
    /// Failed requests of all kinds that the load reports.
    Errors,
    /// Growth of resident memory per connection.
    ResidentBytes,
    /// The anonymous part of it.
    AnonymousBytes,
    /// Microseconds from when a request was due (open loop) or sent (closed loop) to its answer.
    LatencyP50,
    LatencyP99,
    LatencyP999,
    LatencyMax,
    /// Microseconds from when a request was due to its sending, as our own generator reports.
    SentLateP99,
    /// The part of a generator's CPU time per request that was spent polling without result, as it reports.
    SpunMicros,
    /// Polls of the spinning client that found nothing, per request: near zero, the client was the bottleneck.
    LooksInVain,
    /// CPU time of a whole program.
    CpuSeconds,
    /// Peak anonymous memory of a program, in MB.
    PeakMegabytes,
    /// Growth of resident memory per waiting page.
    WaitingBytes,
    /// Answers of the harmful page in the same time.
    AskedBeside,
}

impl Metric {
    /// Its heading in a table, its key in a report, and its decimals.
    fn form(self) -> (&'static str, &'static str, usize) {
        match self {
            Metric::Rate => ("req/s", "requests_per_second", 0),
            Metric::CpuMicros => ("us/req", "cpu_us_per_request", 3),
            Metric::UserMicros => ("user", "user_us_per_request", 2),
            Metric::SystemMicros => ("system", "system_us_per_request", 2),
            Metric::ServerCoreBusy => ("server core %", "server_core_busy_percent", 1),
            Metric::LoadCoreBusy => ("load core %", "load_core_busy_percent", 1),
            Metric::Steal => ("steal %", "steal_percent", 1),
            Metric::Errors => ("errors", "errors", 0),
            Metric::ResidentBytes => ("RSS B/conn", "resident_bytes_per_connection", 0),
            Metric::AnonymousBytes => ("anon B/conn", "anonymous_bytes_per_connection", 0),
            Metric::LatencyP50 => ("p50 us", "latency_p50_us", 1),
            Metric::LatencyP99 => ("p99 us", "latency_p99_us", 1),
            Metric::LatencyP999 => ("p99.9 us", "latency_p999_us", 1),
            Metric::LatencyMax => ("max us", "latency_max_us", 0),
            Metric::SentLateP99 => ("sent late p99 us", "sent_late_p99_us", 1),
            Metric::SpunMicros => ("spun us/req", "spun_us_per_request", 3),
            Metric::LooksInVain => ("vain looks/req", "client_looks_in_vain_per_request", 2),
            Metric::CpuSeconds => ("CPU s", "cpu_seconds", 3),
            Metric::PeakMegabytes => ("peak MB", "peak_megabytes", 0),
            Metric::WaitingBytes => ("RSS B/page", "resident_bytes_per_waiting_page", 0),
            Metric::AskedBeside => ("asked beside", "asked_beside", 0),
        }
    }

    pub(crate) fn heading(self) -> &'static str {
        self.form().0
    }

    pub(crate) fn key(self) -> &'static str {
        self.form().1
    }

    pub(crate) fn show(self, value: f64) -> String {
        format!("{value:.*}", self.form().2)
    }
}

/// The numbers of one measurement.
pub(crate) type Sample = BTreeMap<Metric, f64>;

/// The median; NaN for an empty slice.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        length if length % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// Resamples of a bootstrap.
const RESAMPLES: usize = 2_000;

/// Fewest rounds for a confidence interval.
const INTERVAL_ROUNDS_MIN: usize = 5;

/// The 95 % confidence interval of the median of ratios of rounds: the percentile bootstrap (Efron, "Bootstrap
/// methods", 1979). Whole rounds are drawn, because what a round has in common (a slow minute of the machine) is in
/// both of its measurements.
pub(crate) fn interval(ratios: &[f64]) -> Option<(f64, f64)> {
    if ratios.len() < INTERVAL_ROUNDS_MIN {
        return None;
    }
    let mut random = fastrand::Rng::with_seed(1);
    let mut draw = || -> f64 {
        let drawn: Vec<f64> =
            ratios.iter().filter_map(|_| random.choice(ratios)).copied().collect();
        median(&drawn)
    };
    let mut medians: Vec<f64> = (0..RESAMPLES).map(|_| draw()).collect();
    medians.sort_by(f64::total_cmp);
    let outside = RESAMPLES / 40;
    Some((*medians.get(outside)?, *medians.get(RESAMPLES - 1 - outside)?))
}

/// Smallest and largest.
pub(crate) fn spread(values: &[f64]) -> (f64, f64) {
    let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (smallest, largest)
}

/// The counts of a generator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Count {
    pub(crate) requests: u64,
    pub(crate) per_second: f64,
    pub(crate) errors: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_holds_the_median_and_narrows_with_agreement() {
        assert_eq!(interval(&[1.0; 4]), None, "too few");
        assert_eq!(interval(&[1.5; 7]), Some((1.5, 1.5)));
        let (low, high) = interval(&[0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5]).expect("enough");
        assert!((0.9..1.2).contains(&low) && (1.2..=1.5).contains(&high), "{low} {high}");
    }

    #[test]
    fn medians_and_spreads() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
        assert_eq!(spread(&[2.0, 1.0, 3.0]), (1.0, 3.0));
    }
}
