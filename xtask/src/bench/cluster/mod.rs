//! `cargo xtask bench cluster`: what channels and the store cost on several nodes, next to one server alone, and to
//! Centrifugo on the same NATS.
//!
//! Method: the nodes on one core, NATS and the load on another; what a cluster and a server alone need is measured in
//! turns within a round; medians over rounds. CPU time is that of the nodes, not of NATS. Owns the order of the work
//! and the table. Never starts a server: `nodes` does.

mod centrifugo;
mod nodes;
mod scenario;

use crate::arguments::Arguments;
use crate::bench::contender::Start;
use crate::bench::report::aligned;
use crate::bench::run::{Report, Run, Settings};
use crate::bench::site::Site;
use crate::failure::Failure;

use scenario::{Bench, Figure, SCENARIOS, Scenario};

/// Rounds unless `--rounds` says otherwise.
const ROUNDS: u64 = 5;

/// Seconds of each measurement unless `--seconds` says otherwise.
const SECONDS: u64 = 3;

/// Runs the verb.
pub(crate) fn run(words: &[String], mut arguments: Arguments) -> Result<(), Failure> {
    let settings = Settings::take(&mut arguments, ROUNDS, SECONDS)?;
    let mut report = Report::take("cluster", &mut arguments)?;
    arguments.finish()?;
    let names = SCENARIOS.map(|scenario| scenario.name());
    if let Some(other) = settings.only.iter().find(|name| !names.contains(&name.as_str())) {
        let names = names.join(", ");
        return Err(Failure::Usage(format!("no scenario `{other}`; one of: {names}")));
    }
    let site =
        Site::with_programs([Start::Serve, Start::Channels { protocol: "events" }].into_iter())?;
    let run = Run::begin(&settings)?;
    report.begin(words, &run, ["nodes", "NATS and load"], "; medians");
    let bench = Bench::new(&site, &run);
    let mut rows = vec![HEADINGS.map(str::to_owned).to_vec()];
    let mut values = Vec::new();
    let is_chosen =
        |one: &&Scenario| settings.only.is_empty() || settings.only.contains(&one.name().into());
    for scenario in SCENARIOS.iter().filter(is_chosen) {
        for figure in measured(scenario, &bench, run.rounds) {
            rows.push(figure.row(scenario));
            values.push(figure.to_json(scenario));
        }
    }
    report.say(&aligned(&rows));
    report.note("figures", values);
    report.write()
}

const HEADINGS: [&str; 6] = ["scenario", "figure", "compared", "cluster", "ratio", "goal"];

/// The figures of a scenario over all rounds; one that cannot run is told, and the others go on.
fn measured(scenario: &Scenario, bench: &Bench<'_>, rounds: u64) -> Vec<Figure> {
    let mut figures: Vec<Figure> = Vec::new();
    for round in 0..rounds {
        match scenario.measure(bench) {
            Ok(new) if round == 0 => figures = new,
            Ok(new) => figures.iter_mut().zip(new).for_each(|(old, new)| old.append(new)),
            Err(failure) => {
                eprintln!("xtask: {}: {failure}", scenario.name());
                break;
            }
        }
    }
    figures
}
