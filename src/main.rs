//! The binary: parse, one match over the verbs, exit status.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what a command does")]

mod bench;
mod check;
mod ctl;
mod flags;
mod output;
mod profile;
mod serve;
mod store;
mod tune;

use std::process::ExitCode;

use clap::Parser;

use flags::{Flags, Verb};

/// Why a verb failed.
pub(crate) enum Failure {
    /// It did not work: exit status 1.
    Failed(String),
    /// It was asked wrongly: exit status 2.
    WrongUse(String),
    /// It was done, and what came of it is not to be trusted: exit status 3. It has been said why.
    Invalid,
    /// It was done, and what was compared is worse: exit status 4. It has been said.
    Worse,
    /// It was done, and a condition under which it counts as failed is met: exit status 5. It has been said which.
    Met,
}

fn main() -> ExitCode {
    let result = match Flags::parse().verb {
        Verb::Serve(serve) => serve::run(&serve),
        Verb::Check(check) => check::run(&check),
        Verb::Ctl(ctl) => ctl::run(&ctl),
        Verb::Bench(bench) => bench::run(&bench),
        Verb::Store(store) => store::run(&store),
        Verb::Tune(tune) => tune::run(&tune),
        Verb::Profile(profile) => profile::run(&profile),
    };
    let (message, status) = match result {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Failed(message)) => (message, 1),
        Err(Failure::WrongUse(message)) => (message, 2),
        Err(Failure::Invalid) => return ExitCode::from(3),
        Err(Failure::Worse) => return ExitCode::from(4),
        Err(Failure::Met) => return ExitCode::from(5),
    };
    for line in message.lines() {
        output::complain(line);
    }
    ExitCode::from(status)
}
