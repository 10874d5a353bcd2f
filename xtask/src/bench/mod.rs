//! `cargo xtask bench`: measurements. The others are in modules of their names; this one is `floor`, the cost of our
//! servers above the do-nothing floor, beside nginx.
//!
//! Method: the server on one core, the load on another; contenders take turns within a round, so that
//! a slow minute of the machine affects all of them; medians over rounds, and ratios within the run only.
//! Owns the order of the work. Never prints a number without its spread.

mod accounting;
mod brokers;
mod cluster;
mod contender;
mod flood;
mod generator;
mod host;
mod instructions;
mod light;
pub(crate) mod load;
mod measure;
mod memory;
mod million;
mod ours;
mod pages;
mod proxies;
mod proxy_workloads;
mod report;
mod run;
mod running;
mod sample;
mod secure;
mod secure_workloads;
mod site;
mod store;
mod stream_workloads;
mod target;
mod workload;
mod workloads;

use std::time::Duration;

use crate::arguments::Arguments;
use crate::failure::Failure;

use contender::Contender;
use report::Comparison;
use run::{Report, Run, Settings};
use running::Running;
use sample::Sample;
use site::Site;
use workload::{Runs, Workload};
use workloads::workloads;

/// Rounds unless `--rounds` says otherwise: many and short, because the speed of a shared machine changes within
/// seconds.
const ROUNDS: u64 = 20;

/// Seconds of each measurement unless `--seconds` says otherwise: with the rounds 20 s for each contender.
const SECONDS: u64 = 1;

/// Seconds of load before the first round, so that caches, clocks and buffers are warm.
const WARM_UP_SECONDS: u64 = 2;

/// Rounds of the memory workload: it counts pages, which hardly vary.
const MEMORY_ROUNDS: u64 = 3;

/// Descriptors a server needs besides its connections.
const SPARE_DESCRIPTORS: u64 = 200;

/// The comparisons of a verb.
struct Plan {
    workloads: Vec<&'static Workload>,
    warm_up: Duration,
    /// Additional servers given on the command line.
    guests: Vec<Contender>,
}

/// Runs the verb.
pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new(words);
    match arguments.take_word().as_deref() {
        Some(name @ ("floor" | "fan" | "channels" | "files" | "tls" | "h2" | "proxy")) => {
            floor(name, words, arguments)
        }
        Some("generator") => generator::run(words, arguments),
        Some("instructions") => instructions::run(arguments),
        Some("pages") => pages::run(words, arguments),
        Some("store") => store::run(words, arguments),
        Some("million") => million::run(words, arguments),
        Some("memory") => memory::run(words, arguments),
        Some("cluster") => cluster::run(words, arguments),
        Some(other) => Err(Failure::Usage(format!("there is no bench `{other}`"))),
        None => Err(Failure::Usage("name a bench".to_owned())),
    }
}

fn floor(name: &str, words: &[String], mut arguments: Arguments) -> Result<(), Failure> {
    let quick = arguments.take_switch("--quick");
    let (rounds, seconds, warm_up) =
        if quick { (1, 1, 1) } else { (ROUNDS, SECONDS, WARM_UP_SECONDS) };
    let settings = Settings::take(&mut arguments, rounds, seconds)?;
    let guests = arguments.take_list("--with")?;
    let guests = guests.iter().map(|text| {
        Contender::given(text)
            .ok_or_else(|| Failure::Usage(format!("--with {text}: it has the form NAME=PROGRAM")))
    });
    let guests = guests.collect::<Result<Vec<_>, _>>()?;
    let mut report = Report::take(name, &mut arguments)?;
    arguments.finish()?;
    let workloads = chosen(name, &settings.only)?;
    let plan = Plan { workloads, warm_up: Duration::from_secs(warm_up), guests };
    let site = Site::prepare(&plan.workloads)?;
    let run = Run::begin(&settings)?;
    let order =
        ", contenders in a new random order each; medians, below them the least and the most";
    report.begin(words, &run, ["server", "load"], order);
    if plan.workloads.iter().any(|workload| matches!(workload.load, workload::Load::Few { .. })) {
        report.say(&format!("{}\n\n", light::NOTE));
    }
    for workload in &plan.workloads {
        report.add(&run_workload(workload, &plan, &site, &run));
    }
    report.write()
}

/// The workloads of a verb, or those that `--only` names.
fn chosen(name: &str, only: &[String]) -> Result<Vec<&'static Workload>, Failure> {
    for wanted in only {
        if !workloads().any(|workload| workload.answers_to(wanted)) {
            let names: Vec<&str> = workloads().map(|workload| workload.name).collect();
            let names = names.join(", ");
            return Err(Failure::Usage(format!("no workload `{wanted}`; one of: {names}")));
        }
    }
    let group = match name {
        "fan" => Some("fan-"),
        "channels" => Some("channels-"),
        "files" => Some("file-"),
        "tls" => Some("tls-"),
        "h2" => Some("h2-"),
        "proxy" => Some("proxy-"),
        _ => None,
    };
    let chosen = |workload: &&Workload| {
        if let Some(group) = group
            && only.is_empty()
        {
            return workload.name.starts_with(group);
        }
        let by_itself = only.is_empty() && workload.runs == Runs::Always;
        by_itself || only.iter().any(|wanted| workload.answers_to(wanted))
    };
    Ok(workloads().filter(chosen).collect())
}

fn run_workload(workload: &'static Workload, plan: &Plan, site: &Site, run: &Run) -> Comparison {
    let mut outcome = Comparison::with_guests(workload, &plan.guests);
    if let Some(reason) = load::missing(workload.load) {
        outcome.skip_all(reason);
        return outcome;
    }
    let measuring = measure::Measuring { workload, site, run };
    let contenders = workload.contenders.iter().chain(&plan.guests);
    let mut running = start_each(contenders, &mut outcome, |contender| {
        let server = Running::start(contender, workload, site, &run.cores)?;
        Ok((server.command.clone(), server))
    });
    if let Some((_, server)) = running.last() {
        outcome.note_load(&measuring.load_command(server, run.duration));
    }
    // The same rate for all in the open loop, otherwise their tails could not be compared.
    let mut slowest = f64::INFINITY;
    keep(&mut running, &mut outcome, |_, server| {
        slowest = slowest.min(measuring.closed_loop_maximum(server, run.duration)?);
        Ok(None)
    });
    let percent = match workload.load {
        workload::Load::Paced { percent, .. } => percent,
        _ => 100,
    };
    let rate = slowest * f64::from(percent) / 100.0;
    keep(&mut running, &mut outcome, |_, server| {
        measuring.warm_up(server, plan.warm_up, rate).map(|()| None)
    });
    let rounds = if workload.is_memory() { run.rounds.min(MEMORY_ROUNDS) } else { run.rounds };
    let mut random = fastrand::Rng::with_seed(rounds);
    for _ in 0..rounds {
        // So that effects on the next contender (caches, the clock of the core) do not always affect the same one.
        random.shuffle(&mut running);
        keep(&mut running, &mut outcome, |contender, server| {
            if workload.is_memory() {
                // Growth is measured from a fresh start.
                *server = Running::start(contender, workload, site, &run.cores)?;
            }
            measuring.once(server, run.duration, rate).map(Some)
        });
    }
    outcome
}

/// Starts each contender: `start` returns its command and what is measured. One that cannot run (not installed, not
/// built) is reported, and the others continue.
fn start_each<'c, T>(
    contenders: impl Iterator<Item = &'c Contender>,
    outcome: &mut Comparison,
    mut start: impl FnMut(&Contender) -> Result<(String, T), Failure>,
) -> Vec<(Contender, T)> {
    let mut running = Vec::new();
    for contender in contenders {
        match start(contender) {
            Ok((command, one)) => {
                outcome.note_command(contender.name, &command);
                running.push((*contender, one));
            }
            Err(failure) => outcome.skip(contender.name, failure.to_string()),
        }
    }
    running
}

/// Runs a function with each contender that still takes part. One that fails is reported and ended, so that the
/// figures of the others are not lost.
fn keep<T>(
    running: &mut Vec<(Contender, T)>,
    outcome: &mut Comparison,
    mut work: impl FnMut(&Contender, &mut T) -> Result<Option<Sample>, Failure>,
) {
    running.retain_mut(|(contender, one)| match work(contender, one) {
        Ok(sample) => {
            sample.into_iter().for_each(|sample| outcome.add(contender.name, sample));
            true
        }
        Err(failure) => {
            outcome.skip(contender.name, failure.to_string());
            false
        }
    });
}
