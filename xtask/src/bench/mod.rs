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

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use crate::arguments::Arguments;
use crate::failure::Failure;

use contender::Contender;
use report::Comparison;
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

/// The settings of a run.
struct Plan {
    rounds: u64,
    duration: Duration,
    warm_up: Duration,
    workloads: Vec<&'static Workload>,
    /// Additional servers given on the command line.
    guests: Vec<Contender>,
    /// The arguments after the verb.
    words: String,
    /// Where the report is written besides the target folder.
    place: Option<PathBuf>,
}

/// Runs the verb.
pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new(words);
    match arguments.take_word().as_deref() {
        Some(name @ ("floor" | "fan" | "channels" | "files" | "tls" | "h2" | "proxy")) => {
            floor(name, read_plan(words, arguments)?)
        }
        Some("generator") => generator::run(arguments),
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

fn read_plan(words: &[String], mut arguments: Arguments) -> Result<Plan, Failure> {
    let quick = arguments.take_switch("--quick");
    let (rounds, seconds, warm_up) =
        if quick { (1, 1, 1) } else { (ROUNDS, SECONDS, WARM_UP_SECONDS) };
    let rounds = arguments.take_number("--rounds")?.unwrap_or(rounds).max(1);
    let seconds = arguments.take_number("--seconds")?.unwrap_or(seconds).max(1);
    let only = arguments.take_list("--only")?;
    let guests = arguments.take_list("--with")?;
    let guests = guests.iter().map(|text| {
        Contender::given(text)
            .ok_or_else(|| Failure::Usage(format!("--with {text}: it has the form NAME=PROGRAM")))
    });
    let guests = guests.collect::<Result<Vec<_>, _>>()?;
    let place = arguments.take_value("--report")?.map(PathBuf::from);
    arguments.finish()?;
    for wanted in &only {
        if !workloads().any(|workload| workload.answers_to(wanted)) {
            let names: Vec<&str> = workloads().map(|workload| workload.name).collect();
            let names = names.join(", ");
            return Err(Failure::Usage(format!("no workload `{wanted}`; one of: {names}")));
        }
    }
    let group = match words.first().map(String::as_str) {
        Some("fan") => Some("fan-"),
        Some("channels") => Some("channels-"),
        Some("files") => Some("file-"),
        Some("tls") => Some("tls-"),
        Some("h2") => Some("h2-"),
        Some("proxy") => Some("proxy-"),
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
    Ok(Plan {
        rounds,
        duration: Duration::from_secs(seconds),
        warm_up: Duration::from_secs(warm_up),
        workloads: workloads().filter(chosen).collect(),
        guests,
        words: words.join(" "),
        place,
    })
}

fn floor(name: &str, plan: Plan) -> Result<(), Failure> {
    // Builds first: a build may use every core, and from then on this process has one.
    let site = Site::prepare(&plan.workloads)?;
    let cores = host::Cores::take()?;
    let descriptors = host::raise_descriptor_limit();
    // Read before the load, so that the load average shows what else ran.
    let facts = host::facts(&cores, descriptors);
    let mut text = heading(&plan, &cores, &facts);
    print!("{text}");
    let mut outcomes = Vec::new();
    for workload in &plan.workloads {
        let outcome = run_workload(workload, &plan, &site, &cores, descriptors);
        let table = outcome.table() + "\n";
        print!("{table}");
        text.push_str(&table);
        outcomes.push(outcome.to_json());
    }
    let report = json!({
        "command": format!("cargo xtask bench {}", plan.words),
        "host": facts,
        "rounds": plan.rounds,
        "seconds": plan.duration.as_secs(),
        "workloads": outcomes,
    });
    report::write(name, plan.place.as_deref(), &text, &report)
}

/// The settings and the host, without which a table means nothing.
fn heading(plan: &Plan, cores: &host::Cores, facts: &serde_json::Value) -> String {
    let mut text = format!(
        "cargo xtask bench {}\nserver on core {}, load on core {}; {} rounds of {} s, contenders in a new \
         random order each; medians, below them the least and the most\n{}\n",
        plan.words,
        cores.server,
        cores.load,
        plan.rounds,
        plan.duration.as_secs(),
        host::text(facts)
    );
    let between = plan.workloads.iter().filter_map(|workload| match workload.load {
        workload::Load::Few { between, .. } => Some(between),
        _ => None,
    });
    let mut explained = Vec::new();
    for between in between {
        if !explained.contains(&between) {
            text.push_str(&format!("{}\n\n", light::note(between)));
            explained.push(between);
        }
    }
    text
}

fn run_workload(
    workload: &'static Workload,
    plan: &Plan,
    site: &Site,
    cores: &host::Cores,
    descriptors: u64,
) -> Comparison {
    let mut outcome = Comparison::with_guests(workload, &plan.guests);
    if let Some(reason) = load::missing(workload.load) {
        outcome.skip_all(reason);
        return outcome;
    }
    let measuring = measure::Measuring { workload, site, cores, descriptors };
    let contenders = workload.contenders.iter().chain(&plan.guests);
    let mut running = start_each(contenders, &mut outcome, |contender| {
        let server = Running::start(contender, workload, site, cores)?;
        Ok((server.command.clone(), server))
    });
    if let Some((_, server)) = running.last() {
        outcome.note_load(&measuring.load_command(server, plan.duration));
    }
    // The same rate for all in the open loop, otherwise their tails could not be compared.
    let mut slowest = f64::INFINITY;
    keep(&mut running, &mut outcome, |_, server| {
        slowest = slowest.min(measuring.closed_loop_maximum(server, plan.duration)?);
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
    let rounds = if workload.is_memory() { plan.rounds.min(MEMORY_ROUNDS) } else { plan.rounds };
    let mut random = fastrand::Rng::with_seed(rounds);
    for _ in 0..rounds {
        // So that effects on the next contender (caches, the clock of the core) do not always affect the same one.
        random.shuffle(&mut running);
        keep(&mut running, &mut outcome, |contender, server| {
            if workload.is_memory() {
                // Growth is measured from a fresh start.
                *server = Running::start(contender, workload, site, cores)?;
            }
            measuring.once(server, plan.duration, rate).map(Some)
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
