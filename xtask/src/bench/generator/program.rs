//! The generators: the command line for a scenario, and the parsing of their output.
//!
//! Never starts one.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;

use crate::bench::contender::OURS;
use crate::bench::generator::scenario::{OURS_CLOSED, Scenario, Task};
use crate::bench::load;
use crate::bench::ours;
use crate::bench::sample::Count;
use crate::bench::sample::{Metric, Sample};
use crate::bench::site::Site;
use crate::bench::workload::Load;
use crate::failure::Failure;
use crate::process;

/// A request rate over kept connections that ab does not reach, so that its time limit ends it.
const APACHE_BENCH_KEPT_RATE_MAX: u64 = 300_000;

/// The packages of the distribution's generators.
const INSTALL: &str = "apt: wrk nghttp2-client apache2-utils";

/// The reason why a generator cannot take part, if there is one.
pub(crate) fn missing(name: &str, load: Load) -> Option<String> {
    let reason = match (name, load) {
        ("ab" | "oha", Load::Pipelined { .. }) => "it does not pipeline",
        ("h2load", Load::Short { .. }) => "it opens no connection for each request",
        (OURS | OURS_CLOSED, _) => return None,
        _ if process::is_installed(name) => return None,
        ("oha", _) => "oha is not installed (cargo install oha)",
        _ => return Some(format!("{name} is not installed ({INSTALL})")),
    };
    Some(reason.to_owned())
}

/// The command line of a generator.
pub(crate) fn words(
    name: &str,
    scenario: &Scenario,
    address: SocketAddr,
    duration: Duration,
    site: &Site,
) -> Result<Vec<String>, Failure> {
    let load = scenario.workload.load;
    let path = scenario.workload.path;
    let seconds = duration.as_secs().max(1);
    let url = format!("http://{address}{path}");
    let (connections, depth) = match load {
        Load::Kept { connections } | Load::Short { connections } => (connections, 1),
        Load::Pipelined { connections, depth } => (connections, depth),
        _ => return Err(Failure::Work("no load of a generator".to_owned())),
    };
    let line = match name {
        "wrk" => {
            let mut words = load::words(load, address, path, duration, site)?;
            words.insert(1, "--latency".to_owned());
            return Ok(words);
        }
        "ab" => {
            let (keep, rate_max) = match load {
                Load::Short { .. } => ("", load::APACHE_BENCH_RATE_MAX),
                _ => ("-k ", APACHE_BENCH_KEPT_RATE_MAX),
            };
            let most = seconds * rate_max;
            format!("ab -q {keep}-c {connections} -t {seconds} -n {most} {url}")
        }
        "h2load" => format!("h2load --h1 -t 1 -c {connections} -m {depth} -D {seconds} {url}"),
        "oha" => {
            let close =
                if matches!(load, Load::Short { .. }) { " --disable-keepalive" } else { "" };
            format!("oha --no-tui --output-format json -z {seconds}s -c {connections}{close} {url}")
        }
        _ => {
            let way = match (load, scenario.task) {
                (_, Task::Paced { per_second }) if name == OURS => {
                    format!("--warmup 1s --rate {per_second}")
                }
                (Load::Short { .. }, _) => "--warmup 0s --close".to_owned(),
                _ => format!("--warmup 0s --pipeline {depth}"),
            };
            return ours::words(site, ("http", &url), connections, duration, &way);
        }
    };
    Ok(split(&line).collect())
}

fn split(line: &str) -> impl Iterator<Item = String> {
    line.split_whitespace().map(str::to_owned)
}

/// The counts of a generator, and its other figures.
pub(crate) fn read(name: &str, text: &str) -> Option<(Count, Sample)> {
    match name {
        "wrk" => {
            let p99 = text.lines().find_map(|line| line.trim().strip_prefix("99%"));
            let sample = p99.and_then(|word| micros(word.trim()));
            let sample = sample.map(|micros| (Metric::LatencyP99, micros)).into_iter().collect();
            Some((load::read_wrk(text)?, sample))
        }
        "ab" => Some((load::read_apache_bench(text)?, Sample::new())),
        "h2load" => Some((read_h2load(text)?, Sample::new())),
        "oha" => Some((read_oha(text)?, Sample::new())),
        _ => ours::read(text),
    }
}

/// A time printed by wrk, in microseconds.
fn micros(word: &str) -> Option<f64> {
    let units = [("us", 1.0), ("ms", 1_000.0), ("s", 1_000_000.0), ("m", 60_000_000.0)];
    let (number, factor) =
        units.iter().find_map(|(unit, factor)| Some((word.strip_suffix(unit)?, factor)))?;
    Some(number.parse::<f64>().ok()? * factor)
}

fn read_h2load(text: &str) -> Option<Count> {
    let line = |start: &str| text.lines().find_map(|line| line.strip_prefix(start));
    let part = |line: &str, unit: &str| {
        line.split(',').find_map(|part| part.trim().strip_suffix(unit)?.trim().parse::<f64>().ok())
    };
    let requests = line("requests:")?;
    let bad: f64 = ["failed", "timeout"].into_iter().filter_map(|unit| part(requests, unit)).sum();
    let codes = line("status codes:").unwrap_or_default();
    let unwanted: f64 =
        ["3xx", "4xx", "5xx"].into_iter().filter_map(|unit| part(codes, unit)).sum();
    Some(Count {
        requests: part(requests, "succeeded")? as u64,
        per_second: part(line("finished in ")?, "req/s")?,
        errors: (bad + unwanted) as u64,
    })
}

fn read_oha(text: &str) -> Option<Count> {
    let report: Value = serde_json::from_str(text).ok()?;
    let counts = |key: &str| -> Vec<(String, u64)> {
        let entries = report[key].as_object().into_iter().flatten();
        entries.map(|(name, count)| (name.clone(), count.as_u64().unwrap_or(0))).collect()
    };
    let statuses = counts("statusCodeDistribution");
    let unwanted = statuses.iter().filter(|(status, _)| !status.starts_with('2'));
    // Requests in flight at the end are not errors.
    let errors = counts("errorDistribution");
    let errors = errors.iter().filter(|(name, _)| !name.contains("deadline"));
    Some(Count {
        requests: statuses.iter().map(|(_, count)| count).sum(),
        per_second: report["summary"]["requestsPerSec"].as_f64()?,
        errors: unwanted.chain(errors).map(|(_, count)| count).sum(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrk_is_read_with_its_tail() {
        let text = "  Latency Distribution\n     50%    1.20ms\n     99%    2.50ms\n  \
                    100 requests in 1.01s, 22.18MB read\nRequests/sec: 99.02\n";
        let (count, sample) = read("wrk", text).expect("its lines");
        assert_eq!(count, Count { requests: 100, per_second: 99.02, errors: 0 });
        assert_eq!(sample.get(&Metric::LatencyP99), Some(&2_500.0));
        assert_eq!((micros("870.00us"), micros("1.50s")), (Some(870.0), Some(1_500_000.0)));
        assert_eq!(micros("soon"), None);
    }

    #[test]
    fn unsupported_workload_of_generator_is_reported() {
        let (kept, short) = (Load::Kept { connections: 1 }, Load::Short { connections: 1 });
        let pipelined = Load::Pipelined { connections: 1, depth: 2 };
        for (name, load, reason) in [
            ("ab", pipelined, "it does not pipeline"),
            ("h2load", short, "it opens no connection for each request"),
            ("no-such-generator", kept, "no-such-generator is not installed (apt: wrk"),
        ] {
            let said = missing(name, load).expect("it cannot");
            assert!(said.starts_with(reason), "{name}: {said}");
        }
        for name in [OURS, OURS_CLOSED] {
            assert_eq!(missing(name, pipelined), None);
        }
    }

    #[test]
    fn h2load_is_read() {
        let text = "finished in 1.00s, 123456.50 req/s, 20.00MB/s\nrequests: 900 total, 910 started, 900 \
                    done, 890 succeeded, 10 failed, 10 errored, 2 timeout\nstatus codes: 885 2xx, 0 3xx, 5 \
                    4xx, 0 5xx\n";
        let (count, _) = read("h2load", text).expect("its lines");
        assert_eq!(count, Count { requests: 890, per_second: 123_456.5, errors: 17 });
        assert!(read("h2load", "starting benchmark...").is_none());
    }

    #[test]
    fn oha_is_read() {
        let text = r#"{"summary":{"requestsPerSec":50.5,"total":2.0},
            "statusCodeDistribution":{"200":100,"503":2},
            "errorDistribution":{"aborted due to deadline":60,"connection refused":3}}"#;
        let (count, _) = read("oha", text).expect("its report");
        assert_eq!(count, Count { requests: 102, per_second: 50.5, errors: 5 });
        assert!(read("oha", "{}").is_none());
    }
}
