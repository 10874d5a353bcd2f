//! `cargo xtask bench store`: the store next to redis-server and memcached, and above the do-nothing floor.
//!
//! Method: as in `bench floor`. `velodrome bench store` is the load and reads the server's CPU time; every value that a
//! store returns is checked against its key. Owns the order of the work.

mod disk;
mod import;
mod scenario;
mod servers;

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::arguments::Arguments;
use crate::bench::contender::{Contender, Start};
use crate::bench::report::Comparison;
use crate::bench::run::{Report, Run, Settings};
use crate::bench::running::Running;
use crate::bench::sample::{Metric, Sample};
use crate::bench::site::Site;
use crate::bench::workload::choose_among;
use crate::bench::{ROUNDS, SECONDS, keep, start_each};
use crate::failure::Failure;

use scenario::{SCENARIOS, Scenario, Task};

/// Rounds of scenarios that start their servers anew each time.
const FRESH_ROUNDS: u64 = 3;

/// Runs the verb.
pub(crate) fn run(words: &[String], mut arguments: Arguments) -> Result<(), Failure> {
    let quick = arguments.take_switch("--quick");
    let rounds = if quick { 1 } else { ROUNDS };
    let settings = Settings::take(&mut arguments, rounds, SECONDS)?;
    let mut report = Report::take("store", &mut arguments)?;
    arguments.finish()?;
    let chosen = choose_among(SCENARIOS, &settings.only, |scenario| &scenario.workload)?;
    let contenders = chosen.iter().flat_map(|scenario| scenario.workload.contenders);
    let site = Site::with_programs(contenders.map(|contender| contender.start))?;
    let run = Run::begin(&settings)?;
    let syncs = disk::syncs_per_second(site.folder())?;
    report.begin(
        words,
        &run,
        ["server", "load"],
        ", contenders in a new random order each; medians, below them the least and the most",
    );
    report.say(&format!(
        "the disk takes {syncs:.0} writes of a page with fdatasync a second, one after the other\n\n"
    ));
    report.note("syncs_per_second", syncs);
    for scenario in chosen {
        report.add(&compare(scenario, &run, &site));
    }
    report.write()
}

fn compare(scenario: &'static Scenario, run: &Run, site: &Site) -> Comparison {
    let mut outcome = Comparison::new(&scenario.workload);
    if let Task::Import { rows } = scenario.task {
        match import::measure(rows, site) {
            Ok(sample) => outcome.add(crate::bench::contender::OURS, sample),
            Err(failure) => outcome.skip_all(&failure.to_string()),
        }
        return outcome;
    }
    let mut last_load = String::new();
    let contenders = scenario.workload.contenders.iter();
    let mut running = start_each(contenders, &mut outcome, |contender| {
        let (server, load) = prepared(contender, scenario.task, run, site)?;
        last_load = load;
        Ok((server.command.clone(), server))
    });
    outcome.note_load(&last_load);
    let is_fresh = matches!(scenario.task, Task::Idle { .. });
    let rounds = if is_fresh { run.rounds.min(FRESH_ROUNDS) } else { run.rounds };
    let mut random = fastrand::Rng::with_seed(rounds);
    for _ in 0..rounds {
        random.shuffle(&mut running);
        keep(&mut running, &mut outcome, |contender, server| {
            if is_fresh {
                *server = servers::start(contender, site, &run.cores)?;
            }
            measure(contender, server, scenario.task, (run.duration, site)).map(Some)
        });
    }
    outcome
}

/// Starts a filled store; returns it with the command of its load.
fn prepared(
    contender: &Contender,
    task: Task,
    run: &Run,
    site: &Site,
) -> Result<(Running, String), Failure> {
    let server = servers::start(contender, site, &run.cores)?;
    if let (Task::Read { keys, .. }, false) = (task, matches!(contender.start, Start::Floor { .. }))
    {
        let way = format!("--fill --keys {keys} -d 1s --warmup 0s");
        ask(&servers::words(contender.start, server.address, site, &way)?)?;
    }
    let words = servers::words(contender.start, server.address, site, &way(task, 1))?;
    Ok((server, words.join(" ")))
}

/// The load flags of a task.
fn way(task: Task, seconds: u64) -> String {
    match task {
        Task::Read { keys, connections, pipeline } => {
            format!(
                "--keys {keys} -c {connections} --pipeline {pipeline} -d {seconds}s --warmup 200ms"
            )
        }
        Task::Write { connections } => {
            let keys = scenario::KEYS;
            format!("--sets 100 --keys {keys} -c {connections} -d {seconds}s --warmup 200ms")
        }
        Task::Idle { connections } => {
            format!("--hold -c {connections} --rate 100 --keys 1 -d {seconds}s --warmup 0s")
        }
        Task::Import { .. } => String::new(),
    }
}

fn measure(
    contender: &Contender,
    server: &Running,
    task: Task,
    (duration, site): (Duration, &Site),
) -> Result<Sample, Failure> {
    let way = way(task, duration.as_secs());
    let words = servers::words(contender.start, server.address, site, &way)?;
    let report = ask(&words)?;
    read(&report, task).ok_or_else(|| Failure::Work(format!("it measured nothing: {report}")))
}

/// Runs `velodrome bench store`; returns its report, even if it is invalid.
fn ask(words: &[String]) -> Result<Value, Failure> {
    let (program, rest) =
        words.split_first().ok_or_else(|| Failure::Work("no program is named".to_owned()))?;
    let output = Command::new(program).args(rest).output()?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        Failure::Work(format!("it said {}", String::from_utf8_lossy(&output.stderr).trim()))
    })
}

fn read(report: &Value, task: Task) -> Option<Sample> {
    let run = &report["runs"][0];
    let mut sample = Sample::from([(Metric::Errors, run["requests"]["failed"].as_f64()?)]);
    if let Task::Idle { .. } = task {
        sample
            .insert(Metric::ResidentBytes, report["hold"]["server_bytes_per_connection"].as_f64()?);
        return Some(sample);
    }
    sample.insert(Metric::Rate, run["rate_per_s"].as_f64()?);
    let server = &run["server"];
    for (name, metric) in [
        ("cpu_per_request_ns", Metric::CpuMicros),
        ("user_per_request_ns", Metric::UserMicros),
        ("system_per_request_ns", Metric::SystemMicros),
    ] {
        sample.extend(server[name].as_f64().map(|nanoseconds| (metric, nanoseconds / 1_000.0)));
    }
    for (name, metric) in [("p50_ns", Metric::LatencyP50), ("p99_ns", Metric::LatencyP99)] {
        sample.extend(run["service"][name].as_f64().map(|time| (metric, time / 1_000.0)));
    }
    Some(sample)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_is_read_by_its_task() {
        let report = json!({
            "runs": [{"rate_per_s": 1000.5, "requests": {"failed": 2}, "service": {"p50_ns": 1000, "p99_ns": 90000},
                "server": {"cpu_per_request_ns": 12500, "user_per_request_ns": null, "system_per_request_ns": 8000}}],
            "hold": {"server_bytes_per_connection": 240.0},
        });
        let expected = Sample::from([
            (Metric::Errors, 2.0),
            (Metric::Rate, 1000.5),
            (Metric::CpuMicros, 12.5),
            (Metric::SystemMicros, 8.0),
            (Metric::LatencyP50, 1.0),
            (Metric::LatencyP99, 90.0),
        ]);
        assert_eq!(read(&report, Task::Write { connections: 1 }), Some(expected));
        let expected = Sample::from([(Metric::Errors, 2.0), (Metric::ResidentBytes, 240.0)]);
        assert_eq!(read(&report, Task::Idle { connections: 1 }), Some(expected));
        assert_eq!(read(&json!({}), Task::Write { connections: 1 }), None);
    }
}
