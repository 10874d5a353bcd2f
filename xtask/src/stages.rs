//! `cargo xtask test`: all checks of a change, stage by stage.
//!
//! Owns the order of the stages, which of them run side by side, and the closing line. The checks are elsewhere.

use std::thread;
use std::time::{Duration, Instant};

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::process;
use crate::programs::{self, Built};
use crate::tally::{self, Tally};
use crate::workspace;
use crate::{documentation, fuzz, tidy};

/// Seconds of random input, over all targets, unless `--seconds` says otherwise. Targets whose code is new run for
/// longer.
const FUZZ_SECONDS: u64 = 15;

/// The tests of `crates/sys` that Miri can run: the others need system calls that Miri does not have.
const MIRI_TESTS: [&str; 7] =
    ["-p", "velodrome-sys", "--lib", "--test", "ring", "--test", "allocation"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Format,
    Tidy,
    Build,
    Tests,
    Miri,
    Documentation,
    Fuzz,
    Planted,
}

type Named = (&'static str, Stage);

/// The quick stages that fail most often, side by side: each takes one processor.
const QUICK: [&[Named]; 2] = [&[("fmt", Stage::Format)], &[("tidy", Stage::Tidy)]];

/// The stage behind them.
const BUILD: Named = ("build", Stage::Build);

/// The stages that then run side by side: most tests wait, and leave a processor to the second lane.
const LANES: [&[Named]; 2] = [
    &[("tests", Stage::Tests)],
    &[("miri", Stage::Miri), ("doc", Stage::Documentation), ("fuzz", Stage::Fuzz)],
];

/// The stage after them, for which the host has to be quiet.
const LAST: Named = ("planted", Stage::Planted);

/// Every stage.
fn stages() -> impl Iterator<Item = Named> {
    let (quick, lanes) = (QUICK.into_iter().flatten(), LANES.into_iter().flatten());
    quick.copied().chain([BUILD]).chain(lanes.copied()).chain([LAST])
}

/// The state that the stages of a run have in common.
#[derive(Debug)]
struct Run {
    fuzz_seconds: u64,
    /// Absent until the build.
    built: Option<Built>,
}

/// Runs the verb.
pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new(words);
    let only = arguments.take_list("--only")?;
    let fuzz_seconds = arguments.take_number("--seconds")?.unwrap_or(FUZZ_SECONDS);
    arguments.finish()?;
    let chosen = chosen(&only)?;
    let mut run = Run { fuzz_seconds, built: None };
    let mut tally = Tally::default();
    let outcome = run_chosen(&chosen, &mut run, &mut tally);
    print!("{}", tally.skipped_list());
    println!("{}", tally.closing_line());
    outcome
}

fn run_chosen(chosen: &[Named], run: &mut Run, tally: &mut Tally) -> Result<(), Failure> {
    run_side_by_side(QUICK, chosen, run, tally)?;
    if chosen.contains(&BUILD) {
        timed(BUILD, tally, |tally| {
            run.built = Some(programs::build(tally)?);
            Ok(())
        })?;
    }
    let needs_build =
        |(_, stage): &Named| matches!(stage, Stage::Tests | Stage::Fuzz | Stage::Planted);
    if run.built.is_none() && chosen.iter().any(needs_build) {
        run.built = Some(programs::build(tally)?);
    }
    run_side_by_side(LANES, chosen, run, tally)?;
    if chosen.contains(&LAST) {
        return timed(LAST, tally, |tally| run_stage(LAST.1, run, tally));
    }
    Ok(())
}

/// Runs lanes of stages side by side, as far as the stages were chosen.
fn run_side_by_side<const N: usize>(
    lanes: [&[Named]; N],
    chosen: &[Named],
    run: &Run,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let lanes = lanes.map(|lane| -> Vec<Named> {
        lane.iter().copied().filter(|named| chosen.contains(named)).collect()
    });
    let results = thread::scope(|scope| {
        let lanes = lanes.map(|lane| scope.spawn(move || run_lane(&lane, run)));
        lanes.map(|lane| lane.join().expect("a stage reports its failures"))
    });
    let mut outcome = Ok(());
    for (lane, result) in results {
        tally.add(lane);
        outcome = outcome.and(result);
    }
    outcome
}

/// Runs stages one after the other, until one fails.
fn run_lane(lane: &[Named], run: &Run) -> (Tally, Result<(), Failure>) {
    let mut tally = Tally::default();
    for named in lane {
        let outcome = timed(*named, &mut tally, |tally| run_stage(named.1, run, tally));
        if outcome.is_err() {
            return (tally, outcome);
        }
    }
    (tally, Ok(()))
}

/// Runs one stage, and tells how long it took.
fn timed(
    (name, _): Named,
    tally: &mut Tally,
    stage: impl FnOnce(&mut Tally) -> Result<(), Failure>,
) -> Result<(), Failure> {
    println!("== {name}");
    let (start, before) = (Instant::now(), tally.processor());
    let outcome = stage(tally);
    let seconds = start.elapsed().as_secs_f64();
    match &outcome {
        Ok(()) => println!("== {name}: ok in {seconds:.1} s{}", spent(tally.processor() - before)),
        Err(failure) => {
            println!("== {name}: FAILED after {seconds:.1} s: {failure}");
            tally.note_failed_stage();
        }
    }
    outcome
}

/// Processor time in words, if it was measured.
fn spent(processor: Duration) -> String {
    match processor.is_zero() {
        true => String::new(),
        false => format!(", {:.1} s of processor time", processor.as_secs_f64()),
    }
}

fn chosen(only: &[String]) -> Result<Vec<Named>, Failure> {
    if only.is_empty() {
        return Ok(stages().collect());
    }
    for wanted in only {
        if !stages().any(|(name, _)| name == wanted) {
            let names: Vec<&str> = stages().map(|(name, _)| name).collect();
            return Err(Failure::Usage(format!(
                "there is no stage `{wanted}`; one of: {}",
                names.join(", ")
            )));
        }
    }
    Ok(stages().filter(|(name, _)| only.iter().any(|wanted| wanted == name)).collect())
}

fn run_stage(stage: Stage, run: &Run, tally: &mut Tally) -> Result<(), Failure> {
    match stage {
        Stage::Format => {
            process::run(workspace::cargo().args(["fmt", "--all", "--check"]), "cargo fmt")
        }
        Stage::Tidy => tidy::run(&[]),
        Stage::Build => programs::build(tally).map(drop),
        Stage::Tests => programs::run(&built(run)?.tests, tally),
        Stage::Miri => run_miri(tally),
        Stage::Documentation => documentation::check(tally),
        Stage::Fuzz => fuzz::run_all(built(run)?.fuzz_driver.as_deref(), run.fuzz_seconds),
        Stage::Planted => programs::run_alone(&built(run)?.tests, tally),
    }
}

fn built(run: &Run) -> Result<&Built, Failure> {
    run.built.as_ref().ok_or_else(|| Failure::Work("nothing was built".to_owned()))
}

/// Runs the unsafe code that needs no kernel in an interpreter that checks every access.
fn run_miri(tally: &mut Tally) -> Result<(), Failure> {
    let version = workspace::nightly_cargo().args(["miri", "--version"]).output();
    if !version.is_ok_and(|output| output.status.success()) {
        let reason = "Miri is not installed (rustup component add miri --toolchain nightly)";
        println!("SKIPPED miri: {reason}");
        tally.note_skipped_stage("miri", reason);
        return Ok(());
    }
    let mut command = workspace::nightly_cargo();
    command.args(["miri", "test"]).args(MIRI_TESTS).args(["--no-fail-fast", "--"]);
    tally::run_tests(&mut command, tally, &mut |line| println!("{line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_keep_their_order_and_strangers_are_refused() {
        let both = chosen(&["tidy".to_owned(), "fmt".to_owned()]).expect("both exist");
        assert_eq!(both.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["fmt", "tidy"]);
        let both = chosen(&["doc".to_owned(), "build".to_owned()]).expect("both exist");
        assert_eq!(both.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["build", "doc"]);
        assert_eq!(chosen(&[]).expect("all").len(), 8);
        assert!(chosen(&["dance".to_owned()]).is_err());
    }
}
