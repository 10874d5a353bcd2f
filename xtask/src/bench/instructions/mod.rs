//! `cargo xtask bench instructions`: how many instructions a request takes, in the simulator.
//!
//! Method: callgrind over `simulated_requests` with N and with 2 N requests; the difference, divided by N,
//! is one request without the start-up. What of that is the simulator's and the runtime's shows the twin
//! workload whose service does nothing. No clock and no cache takes part, so a busy machine gives the same
//! figures as a quiet one; another compiler or C library does not.

mod baseline;
mod callgrind;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::bench::host;
use crate::bench::report::aligned;
use crate::bench::run::Report;
use crate::failure::Failure;
use crate::process;
use crate::scratch::Scratch;
use crate::workspace;

use baseline::{Baseline, Figures, difference};
use callgrind::{Function, Shares, greatest};

/// The workloads of `simulated_requests`.
const WORKLOADS: [&str; 6] = ["json", "plaintext", "pipelined", "pipelined-json", "short", "file"];

/// Requests unless `--requests` says otherwise: a multiple of what one pipelined write holds.
const REQUESTS: u64 = 8_000;

/// Requests of one pipelined write: the difference of two runs has to be whole writes.
const PIPELINED: u64 = 16;

/// Functions that are listed for each workload.
const FUNCTIONS: usize = 10;

/// Characters of a function's name that are shown.
const NAME_CHARACTERS: usize = 96;

/// The cost of one workload.
struct Difference {
    name: &'static str,
    /// With our service, and with one that does nothing.
    ours: Shares,
    twin: Shares,
}

impl Difference {
    fn figures(&self) -> Figures {
        Figures { total: self.ours.total, simulator: self.twin.total }
    }
}

/// Runs the verb.
pub(crate) fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let save = arguments.take_switch("--save");
    let requests = arguments.take_number("--requests")?.unwrap_or(REQUESTS);
    let requests = requests.max(1).next_multiple_of(PIPELINED);
    let only = arguments.take_list("--only")?;
    let mut report = Report::take("instructions", &mut arguments)?;
    arguments.finish()?;
    if let Some(stranger) = only.iter().find(|name| !WORKLOADS.contains(&name.as_str())) {
        let names = WORKLOADS.join(", ");
        return Err(Failure::Usage(format!("no workload `{stranger}`; one of: {names}")));
    }
    if !process::is_installed("valgrind") {
        return Err(Failure::Work("valgrind is not installed (apt: valgrind)".to_owned()));
    }
    let program = build()?;
    let name = format!("bench/instructions-scratch-{}", std::process::id());
    let folder = Scratch::at(workspace::target_folder()?.join(name))?;
    let (kept, kept_by) = baseline::read()?;
    report.say(&heading(requests));
    if let Some(compiler) = kept_by.filter(|compiler| *compiler != host::compiler()) {
        report.say(&format!("the kept figures are of {compiler}: not the same code\n\n"));
    }
    let mut outcomes = Vec::new();
    let mut left_out = String::new();
    for name in WORKLOADS {
        if !only.is_empty() && !only.iter().any(|wanted| wanted == name) {
            continue;
        }
        let measured = |name: &str| measure(&program, name, requests, folder.path());
        match measured(name).and_then(|ours| Ok((ours, measured(&format!("null-{name}"))?))) {
            Ok((ours, twin)) => outcomes.push(Difference { name, ours, twin }),
            // Older versions of valgrind lack system calls that serving files takes.
            Err(failure) => left_out.push_str(&format!("{name} left out: {failure}\n")),
        }
    }
    report.say(&(tables(&outcomes, &kept) + "\n" + &left_out));
    report.note("compiler", host::compiler());
    report.note("commit", host::commit());
    report.note("requests", requests);
    report.note("workloads", to_json(&outcomes, &kept));
    report.write()?;
    if save {
        let figures: Baseline =
            outcomes.iter().map(|outcome| (outcome.name.to_owned(), outcome.figures())).collect();
        baseline::save(&figures, &host::compiler())?;
        println!("saved: {}", baseline::PATH);
    }
    if outcomes.is_empty() {
        return Err(Failure::Work("nothing could be measured".to_owned()));
    }
    Ok(())
}

fn build() -> Result<PathBuf, Failure> {
    let words = ["--package", "velodrome-server", "--example", "simulated_requests"];
    workspace::build_release(&words)?;
    Ok(workspace::target_folder()?.join("release/examples/simulated_requests"))
}

fn measure(program: &Path, name: &str, requests: u64, folder: &Path) -> Result<Shares, Failure> {
    let count =
        |requests: u64| callgrind::count(program, &[name.to_owned(), requests.to_string()], folder);
    Ok(count(2 * requests)?.per_request(&count(requests)?, requests))
}

fn heading(requests: u64) -> String {
    format!(
        "instructions per request: valgrind --tool=callgrind simulated_requests [null-]WORKLOAD N, \n\
         (count of {} - count of {requests}) / {requests}; release build, {}, commit {}\n\
         simulator: the same with a service that does nothing; server: the rest\n\
         code lines: 64 bytes of code of which each request executes something\n\
         in percent: against {}\n\n",
        2 * requests,
        host::compiler(),
        host::commit(),
        baseline::PATH,
    )
}

fn tables(outcomes: &[Difference], kept: &Baseline) -> String {
    let names = ["workload", "total", "", "simulator", "server", "", "code lines"];
    let mut rows = vec![names.map(str::to_owned).to_vec()];
    for outcome in outcomes {
        let now = outcome.figures();
        let before = kept.get(outcome.name);
        rows.push(vec![
            outcome.name.to_owned(),
            format!("{:.1}", now.total),
            difference(before.map(|before| before.total), now.total),
            format!("{:.1}", now.simulator),
            format!("{:.1}", now.server()),
            difference(before.map(Figures::server), now.server()),
            format!("{} ({} of the simulator)", outcome.ours.lines, outcome.twin.lines),
        ]);
    }
    let mut text = aligned(&rows);
    for outcome in outcomes {
        text.push_str(&format!(
            "\n{}: self instructions, and what the simulator takes of them\n",
            outcome.name
        ));
        for Function { name, ours, twin } in greatest(&outcome.ours, &outcome.twin, FUNCTIONS) {
            let name: String = name.chars().take(NAME_CHARACTERS).collect();
            text.push_str(&format!("  {ours:>9.1} {twin:>9.1}  {name}\n"));
        }
    }
    text
}

fn to_json(outcomes: &[Difference], kept: &Baseline) -> Vec<Value> {
    let workloads = outcomes.iter().map(|outcome| {
        let figures = outcome.figures();
        json!({
            "name": outcome.name,
            "total": figures.total,
            "simulator": figures.simulator,
            "server": figures.server(),
            "code_lines": outcome.ours.lines,
            "code_lines_of_simulator": outcome.twin.lines,
            "kept": kept.get(outcome.name).map(|before| json!({
                "total": before.total, "simulator": before.simulator, "server": before.server(),
            })),
            "functions": greatest(&outcome.ours, &outcome.twin, FUNCTIONS)
                .iter()
                .map(|function| json!({
                    "name": function.name, "self": function.ours, "simulator": function.twin,
                }))
                .collect::<Vec<_>>(),
        })
    });
    workloads.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_splits_a_request_and_compares_it() {
        let shares = |work: f64, world: f64| Shares {
            total: work + world,
            lines: 12.0,
            of_functions: [("work".to_owned(), work), ("world".to_owned(), world)].into(),
        };
        let outcome =
            Difference { name: "json", ours: shares(300.0, 100.0), twin: shares(0.0, 100.0) };
        let kept = [("json".to_owned(), Figures { total: 420.0, simulator: 120.0 })].into();
        let text = tables(&[outcome], &kept);
        let words: Vec<&str> = text.lines().nth(1).expect("a row").split_whitespace().collect();
        assert_eq!(words[..8], ["json", "400.0", "-4.8", "%", "100.0", "300.0", "+0.0", "%"]);
        assert_eq!(words[8..].join(" "), "12 (12 of the simulator)");
        assert!(text.contains("    300.0       0.0  work\n"), "{text}");
    }
}
