//! `cargo xtask fuzz`: random input for every codec, for a given time.
//!
//! Owns the choice of the engine: libFuzzer through cargo-fuzz on nightly if both are installed, otherwise
//! the stable driver of the fuzz package, which mutates the same seeds. The checks are functions
//! in fuzz/src.

use std::path::Path;
use std::process::Command;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::process;
use crate::workspace;

/// Seconds for one run unless `--seconds` says otherwise.
const SECONDS: u64 = 60;

/// Runs the verb.
pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new(words);
    let seconds = arguments.take_number("--seconds")?.unwrap_or(SECONDS);
    let seed = arguments.take_number("--seed")?;
    let replay = arguments.take_value("--replay")?;
    let stable = arguments.take_switch("--stable");
    let target = arguments.take_word();
    arguments.finish()?;
    let targets = targets()?;
    if let Some(target) = &target
        && !targets.contains(target)
    {
        let known = targets.join(", ");
        return Err(Failure::Usage(format!("there is no target `{target}`; one of: {known}")));
    }
    if let Some(file) = replay {
        let target = target.ok_or(Failure::Usage("--replay needs a target".to_owned()))?;
        return drive(&[&target, "--replay", &file]);
    }
    // Seeds are those of the stable driver: libFuzzer numbers its runs differently.
    if stable || seed.is_some() {
        return drive_for(target.as_deref(), seconds, seed);
    }
    match target {
        Some(target) => fuzz(&[target], seconds),
        None => fuzz(&targets, seconds),
    }
}

/// Commits whose changes count as new.
const NEW_COMMITS: usize = 20;

/// The name of the stable driver.
pub(crate) const DRIVER: &str = "drive";

/// Runs every target, the time divided among them, by a driver that the tests' build has made; those whose code is new
/// for longer.
pub(crate) fn run_all(driver: Option<&Path>, seconds: u64) -> Result<(), Failure> {
    let driver = driver.ok_or_else(|| Failure::Work("the fuzz driver was not built".to_owned()))?;
    let changed = workspace::changed_files(NEW_COMMITS)?.join(",");
    let mut command = Command::new(driver);
    command.args(["--seconds", &seconds.to_string(), "--changed", &changed]);
    process::run(&mut command, "the fuzz driver")
}

/// The targets, by the files of fuzz/fuzz_targets.
fn targets() -> Result<Vec<String>, Failure> {
    let mut targets = Vec::new();
    for entry in std::fs::read_dir(workspace::root().join("fuzz/fuzz_targets"))? {
        let name = entry?.file_name();
        if let Some(target) = name.to_str().and_then(|name| name.strip_suffix(".rs")) {
            targets.push(target.to_owned());
        }
    }
    targets.sort();
    Ok(targets)
}

fn fuzz(targets: &[String], seconds: u64) -> Result<(), Failure> {
    if !has_cargo_fuzz() {
        println!("cargo-fuzz or nightly is not here: the stable driver mutates the same seeds");
        let only = if targets.len() == 1 { targets.first() } else { None };
        return drive_for(only.map(String::as_str), seconds, None);
    }
    let corpus = workspace::root().join("fuzz/corpus");
    drive(&["--write-seeds", &corpus.display().to_string()])?;
    let share = (seconds / targets.len().max(1) as u64).max(1);
    for target in targets {
        println!("-- {target}: libFuzzer for {share} s");
        let mut command = nightly_fuzz();
        command.args(["run", "--features", "libfuzzer", target, "--"]);
        command.args([&format!("-max_total_time={share}"), "-print_final_stats=1"]);
        process::run(&mut command, &format!("fuzz target {target}"))?;
    }
    Ok(())
}

fn nightly_fuzz() -> Command {
    let mut command = workspace::nightly_cargo();
    command.arg("fuzz");
    command
}

fn has_cargo_fuzz() -> bool {
    let output = nightly_fuzz().arg("--version").output();
    process::is_installed("cargo-fuzz") && output.is_ok_and(|output| output.status.success())
}

/// Runs the stable driver for a time: one target, or all with the time divided among them.
fn drive_for(target: Option<&str>, seconds: u64, seed: Option<u64>) -> Result<(), Failure> {
    let mut words = vec!["--seconds".to_owned(), seconds.to_string()];
    if let Some(seed) = seed {
        words.extend(["--seed".to_owned(), seed.to_string()]);
    }
    words.extend(target.map(str::to_owned));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    drive(&words)
}

fn drive(words: &[&str]) -> Result<(), Failure> {
    let mut command = workspace::cargo();
    command.args(["run", "--quiet", "--package", "velodrome-fuzz", "--profile", "fuzz"]);
    command.args(["--bin", DRIVER, "--"]).args(words);
    process::run(&mut command, "the fuzz driver")
}
