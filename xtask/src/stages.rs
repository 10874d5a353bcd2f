//! `cargo xtask test`: all checks of a change, stage by stage.
//!
//! Owns the order of the stages and the closing line. The checks are elsewhere.

use std::time::Instant;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::process;
use crate::tally::{self, Tally};
use crate::workspace;
use crate::{fuzz, tidy};

/// Seconds of random input, over all targets, unless `--seconds` says otherwise.
const FUZZ_SECONDS: u64 = 60;

/// The tests of `crates/sys` that Miri can run: the others need system calls that Miri does not have.
const MIRI_TESTS: [&str; 7] =
    ["-p", "velodrome-sys", "--lib", "--test", "ring", "--test", "allocation"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Format,
    Clippy,
    Build,
    Tests,
    Miri,
    Documentation,
    Tidy,
    Fuzz,
}

/// The stages in the order they run: the quick ones that fail most often first.
const STAGES: [(&str, Stage); 8] = [
    ("fmt", Stage::Format),
    ("clippy", Stage::Clippy),
    ("build", Stage::Build),
    ("tests", Stage::Tests),
    ("miri", Stage::Miri),
    ("doc", Stage::Documentation),
    ("tidy", Stage::Tidy),
    ("fuzz", Stage::Fuzz),
];

/// Runs the verb.
pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new(words);
    let only = arguments.take_list("--only")?;
    let fuzz_seconds = arguments.take_number("--seconds")?.unwrap_or(FUZZ_SECONDS);
    arguments.finish()?;
    let stages = chosen(&only)?;
    let mut tally = Tally::default();
    let mut outcome = Ok(());
    for (name, stage) in stages {
        println!("== {name}");
        let start = Instant::now();
        outcome = run_stage(stage, fuzz_seconds, &mut tally);
        let seconds = start.elapsed().as_secs_f64();
        match &outcome {
            Ok(()) => println!("== {name}: ok in {seconds:.1} s"),
            Err(failure) => {
                println!("== {name}: FAILED after {seconds:.1} s: {failure}");
                tally.note_failed_stage();
                break;
            }
        }
    }
    print!("{}", tally.skipped_list());
    println!("{}", tally.closing_line());
    outcome
}

fn chosen(only: &[String]) -> Result<Vec<(&'static str, Stage)>, Failure> {
    if only.is_empty() {
        return Ok(STAGES.to_vec());
    }
    for wanted in only {
        if !STAGES.iter().any(|(name, _)| name == wanted) {
            let names: Vec<&str> = STAGES.iter().map(|(name, _)| *name).collect();
            return Err(Failure::Usage(format!(
                "there is no stage `{wanted}`; one of: {}",
                names.join(", ")
            )));
        }
    }
    let wanted = |(name, _): &(&str, Stage)| only.iter().any(|wanted| wanted == name);
    Ok(STAGES.into_iter().filter(wanted).collect())
}

fn run_stage(stage: Stage, fuzz_seconds: u64, tally: &mut Tally) -> Result<(), Failure> {
    match stage {
        Stage::Format => {
            cargo("fmt", &["fmt", "--all", "--check"])?;
            // The fuzz package is a workspace of its own.
            cargo("fmt", &["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"])
        }
        Stage::Clippy => {
            let deny = ["--", "-D", "warnings"];
            let ours = ["clippy", "--workspace", "--all-targets"];
            cargo("clippy", &[&ours[..], &deny].concat())?;
            process::run(fuzz::cargo("clippy")?.args(deny), "cargo clippy on fuzz")
        }
        // Built as for the tests, whose dependencies have other features: otherwise nearly everything would be built twice.
        Stage::Build => cargo("build", &["test", "--workspace", "--no-run"]),
        Stage::Tests => {
            let mut ours = workspace::cargo();
            tally::run_tests(ours.args(["test", "--workspace"]), tally)?;
            tally::run_tests(fuzz::cargo("test")?.arg("--lib"), tally)
        }
        Stage::Miri => run_miri(tally),
        Stage::Documentation => {
            let mut command = workspace::cargo();
            command.args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings");
            process::run(&mut command, "cargo doc")
        }
        Stage::Tidy => tidy::run(&[]),
        Stage::Fuzz => fuzz::run_all(fuzz_seconds),
    }
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
    tally::run_tests(command.args(["miri", "test"]).args(MIRI_TESTS), tally)
}

fn cargo(name: &str, words: &[&str]) -> Result<(), Failure> {
    process::run(workspace::cargo().args(words), &format!("cargo {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_keep_their_order_and_strangers_are_refused() {
        let both = chosen(&["tidy".to_owned(), "fmt".to_owned()]).expect("both exist");
        assert_eq!(both.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["fmt", "tidy"]);
        assert_eq!(chosen(&[]).expect("all").len(), STAGES.len());
        assert!(chosen(&["dance".to_owned()]).is_err());
    }
}
