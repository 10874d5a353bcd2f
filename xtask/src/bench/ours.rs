//! `velodrome bench http` and `channel` as the load of a benchmark: their command lines, and the parsing of their JSON.
//!
//! Never starts them.

use std::time::Duration;

use serde_json::Value;

use crate::bench::sample::Count;
use crate::bench::sample::{Metric, Sample};
use crate::bench::site::Site;
use crate::failure::Failure;

/// The command line of this measurement, which has one thread, because it has one core. For `channel` each connection
/// is a subscriber, and one message goes out at a time. `way` has the other flags of the load.
pub(crate) fn words(
    site: &Site,
    (measurement, url): (&str, &str),
    connections: u32,
    duration: Duration,
    way: &str,
) -> Result<Vec<String>, Failure> {
    let seconds = duration.as_secs().max(1);
    site.ours(&format!(
        "bench {measurement} {url} -t 1 -c {connections} -d {seconds}s --json {way}"
    ))
}

/// The counts of `channel`, and the server's CPU time for a delivery, which leaves out the handshakes.
pub(crate) fn read_channel(text: &str) -> Option<(Count, Sample)> {
    let report: Value = serde_json::from_str(text).ok()?;
    let received = report["received"].as_u64()?;
    let wanted = report["published"].as_u64()? * report["wanted"].as_u64()?;
    let count = Count {
        requests: received,
        per_second: report["deliveries_per_s"].as_f64()?,
        errors: wanted.saturating_sub(received),
    };
    let mut sample = Sample::new();
    let cpu = report["server_cpu_ns_per_delivery"].as_f64()?;
    sample.insert(Metric::CpuMicros, cpu / 1_000.0);
    for (name, metric) in [("p50_ns", Metric::LatencyP50), ("p99_ns", Metric::LatencyP99)] {
        sample.insert(metric, report["delivery"][name].as_f64()? / 1_000.0);
    }
    Some((count, sample))
}

/// Its counts, and its other figures.
pub(crate) fn read(text: &str) -> Option<(Count, Sample)> {
    let report: Value = serde_json::from_str(text).ok()?;
    let run = &report["runs"][0];
    let count = Count {
        requests: run["requests"]["answered"].as_u64()?,
        per_second: run["rate_per_s"].as_f64()?,
        errors: run["requests"]["failed"].as_u64()?,
    };
    let mut sample = Sample::new();
    for (name, metric) in [
        ("p50_ns", Metric::LatencyP50),
        ("p99_ns", Metric::LatencyP99),
        ("p99_9_ns", Metric::LatencyP999),
        ("max_ns", Metric::LatencyMax),
    ] {
        if let Some(nanoseconds) = run["response"][name].as_f64() {
            sample.insert(metric, nanoseconds / 1_000.0);
        }
    }
    if run["late"]["count"].as_u64() > Some(0) {
        sample.insert(Metric::SentLateP99, run["late"]["p99_ns"].as_f64()? / 1_000.0);
    }
    let threads = run["generator"]["threads"].as_array().into_iter().flatten();
    let spun: u64 = threads.filter_map(|thread| thread["spun_ns"].as_u64()).sum();
    sample.insert(Metric::SpunMicros, spun as f64 / 1_000.0 / count.requests.max(1) as f64);
    Some((count, sample))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_of_channel_is_read() {
        let text = r#"{"wanted":50,"published":268,"received":13390,"deliveries_per_s":13338.5,
            "delivery":{"p50_ns":880000,"p99_ns":13950000},"server_cpu_ns_per_delivery":8396.0}"#;
        let (count, sample) = read_channel(text).expect("its report");
        assert_eq!(count, Count { requests: 13_390, per_second: 13_338.5, errors: 10 });
        let expected = [
            (Metric::CpuMicros, 8.396),
            (Metric::LatencyP50, 880.0),
            (Metric::LatencyP99, 13_950.0),
        ];
        assert_eq!(sample, Sample::from(expected));
        assert!(read_channel("{}").is_none());
    }

    #[test]
    fn its_report_is_read() {
        let text = r#"{"runs":[{"rate_per_s":1000.5,"requests":{"answered":1000,"failed":2},
            "response":{"p50_ns":1000,"p99_ns":90000000},"late":{"count":1002,"p99_ns":12500},
            "generator":{"threads":[{"spun_ns":500000},{"spun_ns":1500000}]}}]}"#;
        let (count, sample) = read(text).expect("its report");
        assert_eq!(count, Count { requests: 1_000, per_second: 1_000.5, errors: 2 });
        let expected = Sample::from([
            (Metric::LatencyP50, 1.0),
            (Metric::LatencyP99, 90_000.0),
            (Metric::SentLateP99, 12.5),
            (Metric::SpunMicros, 2.0),
        ]);
        assert_eq!(sample, expected);
        let closed = text.replace("\"count\":1002", "\"count\":0");
        let (_, sample) = read(&closed).expect("its report");
        assert_eq!(sample.get(&Metric::SentLateP99), None);
        assert!(read(r#"{"runs":[]}"#).is_none());
    }
}
