//! The project's own tools, run as `cargo xtask VERB`.
//!
//! Owns the parsing of the verb and the exit status. The work of a verb is in the
//! module of its name.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "printed lines are what this tool is for"
)]
#![expect(clippy::disallowed_methods, reason = "a tool measures wall time; it has no turns")]

mod arguments;
mod bench;
mod client;
mod compiler;
mod conformance;
mod documentation;
mod failure;
mod fuzz;
mod process;
mod programs;
mod scratch;
mod server;
mod stages;
mod tally;
mod tidy;
mod verbs;
mod workspace;

use std::process::ExitCode;

use failure::Failure;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let stands_in = compiler::stand_in(&words).or_else(|| documentation::stand_in(&words));
    if let Some(status) = stands_in {
        return status;
    }
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::from(failure.exit_status())
        }
    }
}

fn run(words: &[String]) -> Result<(), Failure> {
    let (verb, rest) = match words.split_first() {
        Some((verb, rest)) => (verb.as_str(), rest),
        None => ("help", &[][..]),
    };
    match verb {
        "test" => stages::run(rest),
        "tidy" => tidy::run(rest),
        "fuzz" => fuzz::run(rest),
        "bench" => bench::run(rest),
        "conformance" => conformance::run(rest),
        "help" | "--help" | "-h" => {
            print!("{}", verbs::help());
            Ok(())
        }
        other => Err(Failure::Usage(format!(
            "there is no verb `{other}`; one of: {}",
            verbs::names().join(", ")
        ))),
    }
}
