//! The compiler of the workspace's crates in a build for tests: clippy, which leaves test programs and examples without
//! optimisation.
//!
//! Owns which crates are optimised. A library is used by many programs, and is optimised where the profile says so.
//! Cargo gives a package's test programs and examples the same level, though each is compiled once and runs for seconds
//! or not at all: most of a clean build was optimising them.
//!
//! As the compiler of the build clippy costs a tenth of a build; as a run of its own it would check everything once
//! more, dependencies included.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::failure::Failure;
use crate::workspace;

/// Names the real compiler, for this tool in its place.
const REAL: &str = "XTASK_COMPILER";

/// The lints that the compiler refuses, in the form in which `cargo clippy` passes them on.
const LINTS: &str = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";

/// Settings that make a build that is done once quicker and smaller: nothing is written down for the next one, and a
/// panic names its place without line tables.
const QUICK: [(&str, &str); 3] = [
    ("CARGO_INCREMENTAL", "0"),
    ("CARGO_PROFILE_TEST_DEBUG", "none"),
    ("CARGO_PROFILE_TEST_STRIP", "debuginfo"),
];

/// Test programs that take more time without optimisation than to optimise them: they hold simulated servers.
const OPTIMISED: [&str; 2] =
    ["crates/channels/tests/channels/main.rs", "crates/client/tests/client/main.rs"];

/// A cargo command whose compiler has all lints.
pub(crate) fn linting_cargo() -> Result<Command, Failure> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output()?;
    let sysroot = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let driver = Path::new(&sysroot).join("bin/clippy-driver");
    if !driver.is_file() {
        let why = "clippy is not installed; install it with `rustup component add clippy`";
        return Err(Failure::Work(why.to_owned()));
    }
    let mut command = workspace::cargo();
    command.env("RUSTC_WORKSPACE_WRAPPER", std::env::current_exe()?);
    command.env(REAL, driver).env("CLIPPY_ARGS", LINTS).envs(QUICK);
    Ok(command)
}

/// Stands in for the compiler, if this tool was started for that: cargo then names the compiler first, before any
/// option.
pub(crate) fn stand_in(words: &[String]) -> Option<ExitCode> {
    let real = std::env::var(REAL).ok()?;
    if words.first().is_none_or(|word| word.starts_with('-')) {
        return None;
    }
    let error = Command::new(&real).args(levelled(words)).exec();
    eprintln!("xtask: {real}: {error}");
    Some(ExitCode::FAILURE)
}

/// The compiler's arguments, without optimisation for a test program or an example.
fn levelled(words: &[String]) -> Vec<String> {
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    let is_example = words.iter().any(|word| word.contains("examples/") && word.ends_with(".rs"));
    let is_kept = !(has("--test") || is_example) || OPTIMISED.into_iter().any(has);
    words
        .iter()
        .map(|word| match word.starts_with("opt-level=") && !is_kept {
            true => "opt-level=0".to_owned(),
            false => word.clone(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        levelled(&words).join(" ")
    }

    #[test]
    fn test_programs_are_not_optimised_and_libraries_are() {
        let library = "rustc --crate-name http src/lib.rs -C opt-level=1 -C codegen-units=1";
        assert_eq!(of(library), library);
        let program = of("rustc --crate-name http --test src/lib.rs -C opt-level=1 -C debuginfo=0");
        assert_eq!(
            program,
            "rustc --crate-name http --test src/lib.rs -C opt-level=0 -C debuginfo=0"
        );
        let example = "rustc --crate-name echo examples/echo.rs -C opt-level=1";
        assert_eq!(of(example), "rustc --crate-name echo examples/echo.rs -C opt-level=0");
        for path in OPTIMISED {
            assert!(workspace::root().join(path).is_file(), "{path} is no file");
            let program = format!("rustc --crate-name it --test {path} -C opt-level=1");
            assert_eq!(of(&program), program);
        }
    }
}
