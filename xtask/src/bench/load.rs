//! The load generators of the distribution: their command lines and the parsing of their output.
//! The light client has a module of its own.
//!
//! Never pins anything: this tool already runs on the load's core, and its children with it.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use crate::bench::light;
use crate::bench::ours;
use crate::bench::sample::{Count, Sample};
use crate::bench::site::Site;
use crate::bench::workload::Load;
use crate::client;
use crate::failure::Failure;
use crate::process;

/// A request rate that ab does not reach, so that its time limit ends it and not its count.
pub(super) const APACHE_BENCH_RATE_MAX: u64 = 80_000;

/// A request with a JSON body.
pub(crate) fn post(address: SocketAddr, path: &str, json: &str) -> String {
    let length = json.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{json}"
    )
}

/// The reason why this load cannot run here, if there is one.
pub(crate) fn missing(load: Load) -> Option<&'static str> {
    match load {
        Load::ApacheBench { .. } if !process::is_installed("ab") => {
            Some("ab is not installed (apt: apache2-utils)")
        }
        Load::Kept { .. } | Load::Pipelined { .. } | Load::Short { .. }
            if !process::is_installed("wrk") =>
        {
            Some("wrk is not installed (apt: wrk)")
        }
        _ => None,
    }
}

/// The command line of a generator for a server. A script that it needs is written first.
pub(crate) fn words(
    load: Load,
    address: SocketAddr,
    path: &str,
    duration: Duration,
    site: &Site,
) -> Result<Vec<String>, Failure> {
    let seconds = duration.as_secs().max(1).to_string();
    let url = format!("http://{address}{path}");
    let wrk = |connections: u32| {
        ["wrk", "-t1", &format!("-d{seconds}s"), &format!("-c{connections}")].map(str::to_owned)
    };
    Ok(match load {
        Load::Kept { connections } => [&wrk(connections)[..], &[url]].concat(),
        Load::Short { connections } => {
            let close = ["-H", "Connection: close"].map(str::to_owned);
            [&wrk(connections)[..], &close, &[url]].concat()
        }
        Load::Pipelined { connections, depth } => {
            let script = site.folder().join("pipeline.lua");
            std::fs::write(&script, pipeline_script(&client::request(address, path), depth))?;
            let script = ["-s".to_owned(), script.display().to_string()];
            [&wrk(connections)[..], &script, &[url]].concat()
        }
        Load::ApacheBench { connections } => {
            let most = duration.as_secs().max(1) * APACHE_BENCH_RATE_MAX;
            let words = ["ab", "-q", "-c", &connections.to_string(), "-t", &seconds, "-n"];
            [&words.map(str::to_owned)[..], &[most.to_string(), url]].concat()
        }
        Load::Few { connections } => {
            light::words(&site.floor_load()?, address, path, connections, &seconds)
        }
        Load::Fan { .. }
        | Load::Idle { .. }
        | Load::IdleStreams { .. }
        | Load::Paced { .. }
        | Load::Secure { .. }
        | Load::SecureFan { .. }
        | Load::SecurePaced { .. }
        | Load::SecureIdle { .. }
        | Load::Upload { .. }
        | Load::None => {
            return Err(Failure::Work("this load is not a program".to_owned()));
        }
    })
}

/// The command line of the client of a broadcast server whose members use this protocol.
pub(crate) fn fan_words(
    (members, lines): (u32, u32),
    address: SocketAddr,
    protocol: &str,
    duration: Duration,
    site: &Site,
) -> Result<Vec<String>, Failure> {
    let program = site.floor_fan()?.display().to_string();
    let (members, lines) = (members.to_string(), lines.to_string());
    let seconds = duration.as_secs().max(1).to_string();
    Ok(vec![program, address.to_string(), protocol.to_owned(), members, lines, seconds])
}

/// Runs a generator against the server; returns its counts and its other figures.
pub(crate) fn run(load: Load, words: &[String]) -> Result<(Count, Sample), Failure> {
    let plain = |count: Count| (count, Sample::new());
    let (name, rest) = words.split_first().ok_or_else(|| Failure::Work("no words".to_owned()))?;
    let output = Command::new(name)
        .args(rest)
        .output()
        .map_err(|error| Failure::Work(format!("{name}: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let read = match load {
        Load::ApacheBench { .. } => read_apache_bench(&text).map(plain),
        Load::Few { .. } => light::read(&text),
        Load::Fan { .. } => light::read_fan(&text).map(plain),
        Load::SecureFan { .. } => ours::read_channel(&text),
        Load::Paced { .. }
        | Load::Secure { .. }
        | Load::SecurePaced { .. }
        | Load::Upload { .. } => ours::read(&text),
        _ => read_wrk(&text).map(plain),
    };
    match read {
        Some((count, sample)) if count.requests > 0 => Ok((count, sample)),
        _ => {
            let complaint = String::from_utf8_lossy(&output.stderr);
            Err(Failure::Work(format!("{name} counted nothing: {text}{complaint}")))
        }
    }
}

/// A wrk script that sends one fixed request many times at once.
fn pipeline_script(request: &str, depth: usize) -> String {
    let request = request.replace('\r', "\\r").replace('\n', "\\n");
    format!(
        "local requests = string.rep(\"{request}\", {depth})\n\
         request = function() return requests end\n"
    )
}

pub(super) fn read_wrk(text: &str) -> Option<Count> {
    let requests = text.lines().find_map(|line| line.trim().split_once(" requests in "))?.0;
    let per_second = after(text, "Requests/sec:")?;
    let mut errors = after(text, "Non-2xx or 3xx responses:").unwrap_or(0.0) as u64;
    if let Some((_, counts)) = text.split_once("Socket errors:") {
        let counts = counts.lines().next().unwrap_or_default();
        let numbers = counts.split([' ', ',']).filter_map(|word| word.parse::<u64>().ok());
        errors += numbers.sum::<u64>();
    }
    Some(Count { requests: requests.parse().ok()?, per_second, errors })
}

pub(super) fn read_apache_bench(text: &str) -> Option<Count> {
    let errors = after(text, "Failed requests:").unwrap_or(0.0)
        + after(text, "Non-2xx responses:").unwrap_or(0.0);
    Some(Count {
        requests: after(text, "Complete requests:")? as u64,
        per_second: after(text, "Requests per second:")?,
        errors: errors as u64,
    })
}

/// The number after a label.
fn after(text: &str, label: &str) -> Option<f64> {
    text.split_once(label)?.1.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrk_is_read() {
        let text = "Running 1s test @ http://127.0.0.1:1/\n  1 threads and 2 connections\n  182000 requests \
                    in 1.01s, 22.18MB read\n  Socket errors: connect 0, read 3, write 0, timeout 1\n  \
                    Non-2xx or 3xx responses: 5\nRequests/sec: 180198.02\nTransfer/sec: 21.96MB\n";
        let count = Count { requests: 182_000, per_second: 180_198.02, errors: 9 };
        assert_eq!(read_wrk(text), Some(count));
        assert_eq!(read_wrk("unable to connect"), None);
    }

    #[test]
    fn ab_is_read() {
        let text = "Complete requests:      46000\nFailed requests:        2\n\
                    Requests per second:    45999.10 [#/sec] (mean)\n";
        let count = Count { requests: 46_000, per_second: 45_999.10, errors: 2 };
        assert_eq!(read_apache_bench(text), Some(count));
    }

    #[test]
    fn the_pipeline_script_keeps_the_line_ends_escaped() {
        let script = pipeline_script("GET / HTTP/1.1\r\n\r\n", 16);
        assert!(script.contains("string.rep(\"GET / HTTP/1.1\\r\\n\\r\\n\", 16)"));
    }
}
