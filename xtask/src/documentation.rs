//! The documentation of the crates: its links, and its examples.
//!
//! Owns both in one run of `cargo test --doc`. Cargo calls rustdoc once for each crate to run its examples, and there
//! gives it what the tests were built with. This tool stands in for rustdoc, and has the documentation made with the
//! same arguments first. `cargo doc` would check all dependencies once more for that, which takes longer than
//! everything else here. Each crate's documentation has a folder of its own: in a common one rustdoc reads and writes
//! the index of all crates for each of them, which was a third of the time.

use std::process::{Command, ExitCode};

use crate::compiler;
use crate::failure::Failure;
use crate::tally::{self, Tally};
use crate::workspace;

/// Names the real rustdoc, for this tool in its place.
const REAL: &str = "XTASK_RUSTDOC";

/// Where the folders of the crates go.
const FOLDER: &str = "XTASK_RUSTDOC_FOLDER";

/// Arguments of rustdoc that are about running examples, and whether a value follows.
const ABOUT_EXAMPLES: [(&str, Value); 5] = [
    ("--test", Value::None),
    ("--no-run", Value::None),
    ("--nocapture", Value::None),
    ("--test-args", Value::Next),
    ("--test-run-directory", Value::Next),
];

/// Whether an argument is followed by its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    None,
    Next,
}

/// Makes the documentation, and runs its examples.
pub(crate) fn check(tally: &mut Tally) -> Result<(), Failure> {
    let mut command = compiler::linting_cargo()?;
    let real = std::env::var("RUSTDOC").unwrap_or_else(|_| "rustdoc".to_owned());
    command.env("RUSTDOC", std::env::current_exe()?).env(REAL, real);
    command.env(FOLDER, workspace::target_folder()?.join("crates-doc"));
    // The model compiles files of other crates, where their documentation belongs.
    command.args(["test", "--workspace", "--exclude=velodrome-model"]);
    command.args(["--doc", "--quiet", "--no-fail-fast", "--"]);
    tally::run_tests(&mut command, tally, &mut |line| println!("{line}"))
}

/// Stands in for rustdoc, if this tool was started for that.
pub(crate) fn stand_in(words: &[String]) -> Option<ExitCode> {
    let real = std::env::var(REAL).ok()?;
    let folder = std::env::var(FOLDER).ok()?;
    let run = |words: &[String]| {
        let status = Command::new(&real).args(words).env_remove(REAL).status();
        status.is_ok_and(|status| status.success())
    };
    let made = match words.iter().any(|word| word == "--test") {
        true => {
            let folder = format!("{folder}/{}", crate_of(words));
            let mut words = without_examples(words);
            words.extend(["-Dwarnings".to_owned(), "--out-dir".to_owned(), folder]);
            run(&words)
        }
        false => true,
    };
    Some(if made && run(words) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The name of the crate that rustdoc is asked about.
fn crate_of(words: &[String]) -> &str {
    words.windows(2).find(|pair| pair[0] == "--crate-name").map_or("unnamed", |pair| &pair[1])
}

/// The arguments without those that are about examples.
fn without_examples(words: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let name = word.split('=').next().unwrap_or_default();
        match ABOUT_EXAMPLES.iter().find(|(known, _)| *known == name) {
            Some((_, Value::Next)) if !word.contains('=') => drop(words.next()),
            Some(_) => {}
            None => kept.push(word.clone()),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_about_examples_are_left_out() {
        let words = "--crate-name wire --test src/lib.rs --test-run-directory /p --test-args=--x -L \
                     dependency=/d --test-args --show-output --extern a=b";
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        assert_eq!(crate_of(&words), "wire");
        let kept = without_examples(&words).join(" ");
        assert_eq!(kept, "--crate-name wire src/lib.rs -L dependency=/d --extern a=b");
    }
}
