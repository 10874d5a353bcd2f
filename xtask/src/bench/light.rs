//! The light client of `crates/floor`: its command line and the parsing of its output.
//!
//! Does not decide when it is used: for few connections, where wrk costs more than the servers.

use std::net::SocketAddr;
use std::path::Path;

use serde_json::Value;

use crate::bench::sample::Count;
use crate::bench::sample::{Metric, Sample};

/// A note for the reader of its figures.
pub(crate) const NOTE: &str = "floor-load spins: one thread that sends, then receives without blocking until the \
                               answer is whole: its own way out of a sleep, as long as the answer and the same for \
                               every server, is no part of the rate. A server that spins as well then never sleeps; \
                               its processor time says what that costs. Hardly any looks in vain: the client was the \
                               limit, not the server.";

/// Its command line.
pub(crate) fn words(
    program: &Path,
    address: SocketAddr,
    path: &str,
    connections: u32,
    seconds: &str,
) -> Vec<String> {
    vec![
        program.display().to_string(),
        address.to_string(),
        path.to_owned(),
        connections.to_string(),
        seconds.to_owned(),
    ]
}

/// Parses its line.
pub(crate) fn read(text: &str) -> Option<(Count, Sample)> {
    let line: Value = serde_json::from_str(text.trim()).ok()?;
    let micros = |key: &str| Some(line[key].as_f64()? / 1_000.0);
    let sample = Sample::from([
        (Metric::LatencyP50, micros("latency_p50_ns")?),
        (Metric::LatencyP99, micros("latency_p99_ns")?),
        (Metric::LatencyP999, micros("latency_p999_ns")?),
        (Metric::LatencyMax, micros("latency_max_ns")?),
        (Metric::LooksInVain, line["looks_in_vain_per_request"].as_f64()?),
    ]);
    let count = Count {
        requests: line["requests"].as_u64()?,
        per_second: line["requests_per_second"].as_f64()?,
        errors: line["errors"].as_u64()?,
    };
    Some((count, sample))
}

/// Parses the line of `floor-fan`, which counts deliveries.
pub(crate) fn read_fan(text: &str) -> Option<Count> {
    let line: Value = serde_json::from_str(text.trim()).ok()?;
    Some(Count {
        requests: line["deliveries"].as_u64()?,
        per_second: line["deliveries_per_second"].as_f64()?,
        errors: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_line_is_read() {
        let text = "{\"requests\":4480,\"requests_per_second\":2950.1,\"latency_p50_ns\":28287,\
                    \"latency_p99_ns\":11993087,\"latency_p999_ns\":20054015,\
                    \"latency_max_ns\":72157920,\"errors\":1,\"looks_in_vain_per_request\":2.5,\
                    \"connections\":1}\n";
        let (count, sample) = read(text).expect("a line");
        assert_eq!(count, Count { requests: 4_480, per_second: 2_950.1, errors: 1 });
        assert_eq!(sample.get(&Metric::LatencyP50), Some(&28.287));
        assert_eq!(sample.get(&Metric::LooksInVain), Some(&2.5));
        assert!(read("floor-load: no answer").is_none());
    }
}
