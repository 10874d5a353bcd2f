//! `cargo xtask bench pages`: pages of ours beside nginx with its Lua module, yaws and a handler in Rust.
//!
//! Method: the server on one core, the load on another; contenders take turns within a round; medians over rounds, and
//! ratios within the run only. Owns the order of the work; each comparison is in a module of its own.

mod answer;
mod beside;
mod collision;
mod fibonacci;
mod folder;
mod scenario;
mod steady;
mod waiting;

use crate::arguments::Arguments;
use crate::bench::contender::Contender;
use crate::bench::report::Comparison;
use crate::bench::run::{Report, Run, Settings};
use crate::bench::running::Running;
use crate::bench::site::Site;
use crate::bench::workload::{Workload, choose_among};
use crate::bench::{ROUNDS, SECONDS, start_each};
use crate::client;
use crate::failure::Failure;
use crate::server;

use scenario::{SCENARIOS, Scenario, Task};

/// How often a program computes the function, by default and with `--full`.
const FIBONACCI_TIMES: u32 = 1;
const FIBONACCI_TIMES_FULL: u32 = 5;

/// The constants of all comparisons of a run.
#[derive(Clone, Copy)]
struct Conditions<'a> {
    run: &'a Run,
    fibonacci_times: u32,
    site: &'a Site,
}

impl Conditions<'_> {
    /// Starts a server of pages, which must answer this page.
    fn start(&self, contender: &Contender, path: &str) -> Result<Running, Failure> {
        let address = server::free_address()?;
        let words = folder::words(contender.start, self.site, address)?;
        let request = client::request(address, &folder::path_at(contender.start, path));
        let name = contender.name;
        Running::launch(name, address, request.as_bytes(), &words, self.site, &self.run.cores)
    }

    /// Starts all servers that can be started; the others are reported.
    fn start_all(
        &self,
        workload: &Workload,
        outcome: &mut Comparison,
    ) -> Vec<(Contender, Running)> {
        start_each(workload.contenders.iter(), outcome, |contender| {
            let server = self.start(contender, workload.path)?;
            Ok((server.command.clone(), server))
        })
    }
}

/// Runs the verb.
pub(crate) fn run(words: &[String], mut arguments: Arguments) -> Result<(), Failure> {
    let quick = arguments.take_switch("--quick");
    let (rounds, seconds) = if quick { (1, 1) } else { (ROUNDS, SECONDS) };
    let settings = Settings::take(&mut arguments, rounds, seconds)?;
    let full = arguments.take_switch("--full");
    let fibonacci_times = if full { FIBONACCI_TIMES_FULL } else { FIBONACCI_TIMES };
    let mut report = Report::take("pages", &mut arguments)?;
    arguments.finish()?;
    let chosen = choose_among(SCENARIOS, &settings.only, |scenario| &scenario.workload)?;
    let site = prepare(&chosen)?;
    let run = Run::begin(&settings)?;
    report.begin(
        words,
        &run,
        ["server", "load"],
        ", contenders in turn; medians, below them the least and the most",
    );
    report.say(&format!("{}\n\n", answer::NOTE));
    report.note("fibonacci_times", fibonacci_times);
    let conditions = Conditions { run: &run, fibonacci_times, site: &site };
    for scenario in chosen {
        report.add(&compare(scenario, &conditions));
    }
    report.write()
}

/// Builds what the comparisons need and writes the files of the servers.
fn prepare(chosen: &[&Scenario]) -> Result<Site, Failure> {
    let contenders = chosen.iter().flat_map(|scenario| scenario.workload.contenders);
    let site = Site::with_programs(contenders.map(|contender| contender.start))?;
    folder::write(&site)?;
    if chosen.iter().any(|scenario| scenario.task == Task::Fibonacci) {
        fibonacci::build(&site)?;
    }
    Ok(site)
}

fn compare(scenario: &'static Scenario, conditions: &Conditions) -> Comparison {
    let workload = &scenario.workload;
    match scenario.task {
        Task::Page(fields) => steady::compare(workload, fields, conditions),
        Task::Fibonacci => fibonacci::compare(workload, conditions.fibonacci_times, conditions),
        Task::Waiting(waits_for) => waiting::compare(workload, waits_for, conditions),
        Task::Beside(harm) => beside::compare(workload, &harm, conditions),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_are_chosen_by_letter_or_name_and_strangers_are_refused() {
        let chosen =
            choose_among(SCENARIOS, &["a".to_owned(), "d-10".to_owned(), "e".to_owned()], |one| {
                &one.workload
            })
            .expect("all exist");
        let names: Vec<&str> = chosen.iter().map(|scenario| scenario.workload.name).collect();
        assert_eq!(names, ["a-1", "a-10", "a-100", "d-10", "e"]);
        assert_eq!(
            choose_among(SCENARIOS, &[], |one: &Scenario| &one.workload).expect("all").len(),
            SCENARIOS.len()
        );
        assert!(
            choose_among(SCENARIOS, &["z".to_owned()], |one: &Scenario| &one.workload).is_err()
        );
    }
}
