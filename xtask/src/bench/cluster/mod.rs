//! `cargo xtask bench cluster`: what channels and the store cost on several nodes, next to one server alone, and to
//! Centrifugo on the same NATS.
//!
//! Method: the nodes on one core, NATS and the load on another; what a cluster and a server alone need is measured in
//! turns within a round; medians over rounds. CPU time is that of the nodes, not of NATS. Owns the order of the work
//! and the table. Never starts a server: `nodes` does.

mod centrifugo;
mod nodes;
mod scenario;

use std::path::PathBuf;

use serde_json::json;

use crate::arguments::Arguments;
use crate::bench::contender::Start;
use crate::bench::host;
use crate::bench::report::{aligned, write};
use crate::bench::site::Site;
use crate::failure::Failure;

use scenario::{Bench, Figure, SCENARIOS, Scenario};

/// Rounds unless `--rounds` says otherwise.
const ROUNDS: u64 = 5;

/// Seconds of each measurement unless `--seconds` says otherwise.
const SECONDS: u64 = 3;

/// Runs the verb.
pub(crate) fn run(words: &[String], mut arguments: Arguments) -> Result<(), Failure> {
    let rounds = arguments.take_number("--rounds")?.unwrap_or(ROUNDS).max(1);
    let seconds = arguments.take_number("--seconds")?.unwrap_or(SECONDS).max(1);
    let only = arguments.take_list("--only")?;
    let place = arguments.take_value("--report")?.map(PathBuf::from);
    arguments.finish()?;
    let names = SCENARIOS.map(|scenario| scenario.name());
    if let Some(other) = only.iter().find(|name| !names.contains(&name.as_str())) {
        let names = names.join(", ");
        return Err(Failure::Usage(format!("no scenario `{other}`; one of: {names}")));
    }
    let site =
        Site::with_programs([Start::Serve, Start::Channels { protocol: "events" }].into_iter())?;
    let cores = host::Cores::take()?;
    let facts = host::facts(&cores, host::raise_descriptor_limit());
    let command = format!("cargo xtask bench {}", words.join(" "));
    let mut text = format!(
        "{command}\nnodes on core {}, NATS and load on core {}; {rounds} rounds of {seconds} s; medians\n{}\n",
        cores.server,
        cores.load,
        host::text(&facts)
    );
    print!("{text}");
    let bench = Bench::new(&site, &cores, seconds);
    let mut rows = vec![HEADINGS.map(str::to_owned).to_vec()];
    let mut values = Vec::new();
    for scenario in
        SCENARIOS.iter().filter(|one| only.is_empty() || only.contains(&one.name().into()))
    {
        for figure in measured(scenario, &bench, rounds) {
            rows.push(figure.row(scenario));
            values.push(figure.to_json(scenario));
        }
    }
    let table = aligned(&rows);
    print!("{table}");
    text.push_str(&table);
    let report = json!({ "command": command, "host": facts, "rounds": rounds, "figures": values });
    write("cluster", place.as_deref(), &text, &report)
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
