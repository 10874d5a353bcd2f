//! `cargo xtask bench generator`: the CPU cost of `velodrome bench http`, beside other generators.
//!
//! Method: the floor on one core, the generators on another, taking turns within a round;
//! medians over rounds, and ratios within the run only. Owns the order of the work.

pub(super) mod program;
mod scenario;
pub(super) mod trial;

use crate::arguments::Arguments;
use crate::bench::contender::{Contender, FLOOR_KEPT, SERVE};
use crate::bench::report::Comparison;
use crate::bench::run::{Report, Run, Settings};
use crate::bench::running::Running;
use crate::bench::site::Site;
use crate::bench::workload::choose_among;
use crate::bench::{ROUNDS, SECONDS, keep, start_each};
use crate::failure::Failure;

use scenario::{SCENARIOS, Scenario};

/// A note for the reader of the report.
const NOTE: &str = "us/req: processor time of the whole generator, as the kernel counted it, for each \
                    request it reports. spun: the part of ours that looked for work in vain, which us/req \
                    holds too. Start and end of the program are in us/req: of ours, which looks for the \
                    server's processes and reads the host's facts, some tens of milliseconds of each run, \
                    of the others a few. Longer runs (--seconds) make it less.";

/// A generator and the server it loads.
struct Pair {
    words: Vec<String>,
    _server: Running,
}

/// Runs the verb.
pub(crate) fn run(words: &[String], mut arguments: Arguments) -> Result<(), Failure> {
    let settings = Settings::take(&mut arguments, ROUNDS, SECONDS)?;
    let mut report = Report::take("generator", &mut arguments)?;
    arguments.finish()?;
    let chosen = choose_among(SCENARIOS, &settings.only, |scenario| &scenario.workload)?;
    let site = Site::with_programs([FLOOR_KEPT.start, SERVE.start].into_iter())?;
    let run = Run::begin(&settings)?;
    report.begin(
        words,
        &run,
        ["floor", "generators"],
        ", in turn; medians, below them the least and the most",
    );
    report.say(&format!("{NOTE}\n\n"));
    let mut skipped = 0;
    for scenario in chosen {
        let outcome = compare(scenario, &run, &site);
        skipped += outcome.skipped_count();
        report.add(&outcome);
    }
    report.say(&format!("{skipped} skipped\n"));
    report.note("skipped", skipped);
    report.write()
}

fn compare(scenario: &'static Scenario, run: &Run, site: &Site) -> Comparison {
    let mut outcome = Comparison::new(&scenario.workload);
    let contenders = scenario.workload.contenders.iter();
    let mut pairs = start_each(contenders, &mut outcome, |&Contender { name, start, .. }| {
        if let Some(reason) = program::missing(name, scenario.workload.load) {
            return Err(Failure::Work(format!("SKIPPED: {reason}")));
        }
        let server = trial::start_server(name, start, scenario, site, &run.cores)?;
        let words = program::words(name, scenario, server.address, run.duration, site)?;
        Ok((trial::shown(&words, server.address), Pair { words, _server: server }))
    });
    for _ in 0..run.rounds {
        keep(&mut pairs, &mut outcome, |contender, Pair { words, .. }| {
            trial::measure(contender.name, words, scenario.task, &run.cores).map(Some)
        });
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_are_chosen_by_name_and_strangers_are_refused() {
        let chosen =
            choose_among(SCENARIOS, &["stall".to_owned(), "kept".to_owned()], |one: &Scenario| {
                &one.workload
            })
            .expect("both exist");
        let names: Vec<&str> = chosen.iter().map(|scenario| scenario.workload.name).collect();
        assert_eq!(names, ["kept", "stall"]);
        assert_eq!(
            choose_among(SCENARIOS, &[], |one: &Scenario| &one.workload).expect("all").len(),
            SCENARIOS.len()
        );
        assert!(
            choose_among(SCENARIOS, &["hold".to_owned()], |one: &Scenario| &one.workload).is_err()
        );
    }
}
