//! `cargo xtask bench million`: very many open connections to a store on one machine, and lookups spread over them.
//!
//! Method: server and generator on this machine, each thread with a descriptor table of its own; a million keys; an
//! open loop. After a rate whose result is invalid a lower one is tried. Owns the scale that fits into this machine,
//! and the reading of the kernel's memory. Never raises a limit.

#![expect(clippy::disallowed_types, reason = "one thread and one descriptor table in this tool")]

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::bench::accounting;
use crate::bench::contender::Start;
use crate::bench::host;
use crate::bench::report::aligned;
use crate::bench::run::Report;
use crate::bench::site::{Site, shown};
use crate::failure::Failure;
use crate::server::{self, leashed};

/// Connections unless `--connections` says otherwise.
const CONNECTIONS: u64 = 1_000_000;

/// Lookups per second that are tried in turn until one is valid, unless `--rates` says otherwise.
const RATES: [&str; 4] = ["100000", "50000", "25000", "10000"];

/// Seconds of each rate unless `--seconds` says otherwise.
const SECONDS: u64 = 60;

/// Keys of the store.
const KEYS: u64 = 1_000_000;

/// Memory of the kernel and of both programs per connection with both of its ends, as measured (2.6 to 10 KiB, by
/// kernel), rounded up.
const CONNECTION_BYTES: u64 = 11 * 1024;

/// Memory that is left to other programs.
const SPARE_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// The part of each descriptor table that stays free: a hash spreads connections unevenly over tables.
const SPARE_DESCRIPTORS_PART: u64 = 8;

/// Time between two readings of the kernel's memory.
const LOOK: Duration = Duration::from_millis(500);

/// The scale of the run on this machine.
struct Scale {
    connections: u64,
    /// Threads of the server and of the generator, each.
    threads: u64,
}

/// Runs the verb.
pub(crate) fn run(words: &[String], mut arguments: Arguments) -> Result<(), Failure> {
    let wanted = arguments.take_number("--connections")?.unwrap_or(CONNECTIONS).max(1);
    let seconds = arguments.take_number("--seconds")?.unwrap_or(SECONDS).max(1);
    let rates = arguments.take_list("--rates")?;
    let mut report = Report::take("million", &mut arguments)?;
    arguments.finish()?;
    let rates = if rates.is_empty() { RATES.map(str::to_owned).to_vec() } else { rates };
    let site = Site::with_programs([Start::Store { sync: "none" }].into_iter())?;
    let scale = scale(wanted, available_bytes()?, host::raise_descriptor_limit());
    let command = report.note_command(words);
    report.say(&format!("{command}\n{}", scaled(&scale, wanted)));
    let mut rows = vec![
        [
            "lookups/s",
            "valid",
            "open",
            "opened/s",
            "asked",
            "answered",
            "p50 ms",
            "p99 ms",
            "p99.9 ms",
            "server us/req",
            "server B/conn",
            "generator B/conn",
            "kernel B/conn",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    let mut runs = Vec::new();
    for rate in &rates {
        let (measured, kernel_bytes) = match measure(&site, &scale, (rate, seconds)) {
            Ok(measured) => measured,
            Err(failure) => {
                report.say(&format!("  {rate} a second: {failure}\n"));
                continue;
            }
        };
        rows.push(row(rate, &measured, kernel_bytes / scale.connections as f64));
        let is_valid = measured["verdict"]["state"] == "valid";
        for reason in measured["verdict"]["reasons"].as_array().into_iter().flatten() {
            let text = reason["text"].as_str().unwrap_or_default();
            report.say(&format!("  {rate} a second: {text}\n"));
        }
        runs.push(json!({ "rate": rate, "kernel_bytes": kernel_bytes, "report": measured }));
        if is_valid {
            break;
        }
    }
    report.say(&aligned(&rows));
    report.note("connections", scale.connections);
    report.note("threads", scale.threads);
    report.note("seconds", seconds);
    report.note("runs", runs);
    report.write()
}

/// The scale that fits into this much memory and tables with this many descriptors.
fn scale(wanted: u64, available_bytes: u64, descriptors: u64) -> Scale {
    let fits = available_bytes.saturating_sub(SPARE_BYTES) / CONNECTION_BYTES;
    let connections = wanted.min(fits).max(1);
    let in_a_table = descriptors - descriptors / SPARE_DESCRIPTORS_PART;
    Scale { connections, threads: connections.div_ceil(in_a_table.max(1)) }
}

fn scaled(scale: &Scale, wanted: u64) -> String {
    let Scale { connections, threads } = scale;
    let mut text = format!(
        "{connections} connections, {threads} schedulers, {threads} threads of the generator\n"
    );
    if *connections < wanted {
        text.push_str(&format!(
            "the memory of this machine is enough for {connections} of {wanted} connections: {} KiB each \
             with both ends\n",
            CONNECTION_BYTES / 1024
        ));
    }
    text
}

/// One rate: a server that is started anew, filled, and loaded over all connections. Returns the report, and the
/// additional memory of the kernel.
fn measure(
    site: &Site,
    scale: &Scale,
    (rate, seconds): (&str, u64),
) -> Result<(Value, f64), Failure> {
    let folder = site.folder().join("million");
    std::fs::create_dir_all(folder.join("site"))?;
    // Each scheduler gets its share of the limit, and a hash does not spread connections evenly.
    let bound = scale.connections + scale.connections / SPARE_DESCRIPTORS_PART;
    let configuration = format!("[limits]\nconnections = {bound}\n");
    std::fs::write(folder.join("site/velodrome.toml"), configuration)?;
    let address = server::free_address()?;
    let velodrome = shown(&site.velodrome()?);
    let line = format!(
        "serve {} --store {} --schedulers {} --listen 127.0.0.1:0 --listen-resp {address}",
        shown(&folder.join("site")),
        shown(&folder.join("data")),
        scale.threads
    );
    let words: Vec<&str> = std::iter::once(&*velodrome).chain(line.split(' ')).collect();
    let guarded = server::start(leashed(&words), "million", site.folder(), address, b"")?;
    let fill =
        format!("bench store {address} --json --fill --keys {KEYS} -c 64 -t 2 -d 1s --warmup 0s");
    ask(&velodrome, &fill)?;
    let before = kernel_bytes()?;
    let line = format!(
        "bench store {address} --json --hold -c {} -t {} --rate {rate} -d {seconds}s --keys {KEYS} \
         --timeout 30s",
        scale.connections, scale.threads
    );
    // Files, because a report is longer than the capacity of a pipe.
    let (said, complaint) = (folder.join("report.json"), folder.join("complaint"));
    let mut command = Command::new(&velodrome);
    command.args(line.split(' ')).stdout(File::create(&said)?).stderr(File::create(&complaint)?);
    let mut generator = command.spawn()?;
    let mut most = before;
    while generator.try_wait()?.is_none() {
        most = most.max(kernel_bytes()?);
        std::thread::sleep(LOOK);
    }
    drop(guarded);
    let report = read(&std::fs::read(&said)?).map_err(|failure| {
        let complaint = std::fs::read_to_string(&complaint).unwrap_or_default();
        Failure::Work(format!("{failure}: {}", complaint.trim()))
    })?;
    Ok((report, most - before))
}

fn ask(program: &str, line: &str) -> Result<Value, Failure> {
    read(&Command::new(program).args(line.split(' ')).stderr(Stdio::null()).output()?.stdout)
}

fn read(output: &[u8]) -> Result<Value, Failure> {
    serde_json::from_slice(output)
        .map_err(|error| Failure::Work(format!("the generator gave no report: {error}")))
}

fn row(rate: &str, report: &Value, kernel_bytes: f64) -> Vec<String> {
    let (run, hold) = (&report["runs"][0], &report["hold"]);
    let shown = |value: &Value, scale: f64, decimals: usize| {
        value.as_f64().map_or("-".to_owned(), |value| format!("{:.*}", decimals, value / scale))
    };
    vec![
        rate.to_owned(),
        report["verdict"]["state"].as_str().unwrap_or("-").to_owned(),
        shown(&hold["open"], 1.0, 0),
        shown(&hold["opened_per_s"], 1.0, 0),
        shown(&run["requests"]["asked"], 1.0, 0),
        shown(&run["requests"]["answered"], 1.0, 0),
        shown(&run["response"]["p50_ns"], 1e6, 2),
        shown(&run["response"]["p99_ns"], 1e6, 2),
        shown(&run["response"]["p99_9_ns"], 1e6, 2),
        shown(&run["server"]["cpu_per_request_ns"], 1e3, 1),
        shown(&hold["server_bytes_per_connection"], 1.0, 0),
        shown(&hold["generator_bytes_per_connection"], 1.0, 0),
        format!("{kernel_bytes:.0}"),
    ]
}

/// The kernel's own memory: its objects, and the buffers of sockets.
fn kernel_bytes() -> Result<f64, Failure> {
    let text = std::fs::read_to_string("/proc/meminfo")?;
    let names = ["Slab:", "KernelStack:", "PageTables:", "Percpu:"];
    Ok(names.iter().filter_map(|name| accounting::bytes(&text, name)).sum::<u64>() as f64)
}

fn available_bytes() -> Result<u64, Failure> {
    let text = std::fs::read_to_string("/proc/meminfo")?;
    accounting::bytes(&text, "MemAvailable:").ok_or_else(|| {
        Failure::Work("the kernel does not say how much memory is available".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_machine_holds_what_fits_and_says_so() {
        let large = scale(1_000_000, 24 << 30, 20_000);
        assert_eq!((large.connections, large.threads), (1_000_000, 58));
        assert!(!scaled(&large, 1_000_000).contains("enough"));
        let small = scale(1_000_000, 4 << 30, 1_024);
        assert_eq!(small.connections, (2 << 30) / CONNECTION_BYTES);
        assert_eq!(small.threads, small.connections.div_ceil(896));
        assert!(scaled(&small, 1_000_000).contains("of 1000000 connections"));
        assert_eq!(scale(5, 0, 20_000).connections, 1);
    }
}
