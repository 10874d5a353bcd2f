//! The binary: parse, one match over the verbs, exit status.

mod bench;
mod check;
mod cluster_demo;
mod cluster_trial;
mod ctl;
mod duration;
mod flags;
mod migration;
mod output;
mod profile;
mod profiled;
mod serve;
mod store;
mod top;
mod tune;

use std::fmt::Display;
use std::process::ExitCode;

use clap::Parser;

use flags::{Flags, Verb};

/// Why a verb failed.
pub(crate) enum Failure {
    /// It failed: exit status 1.
    Failed(String),
    /// It failed, and the reason has been printed: exit status 1.
    Told,
    /// The command line is wrong: exit status 2.
    WrongUse(String),
    /// It was done, but the result cannot be trusted: exit status 3. The reason has been printed.
    Invalid,
    /// It was done, and the comparison found B worse: exit status 4. The result has been printed.
    Worse,
    /// It was done, and a --fail-if condition is met: exit status 5. The condition has been printed.
    Met,
}

impl Failure {
    /// It failed as the error says.
    pub(crate) fn failed(error: impl Display) -> Self {
        Self::Failed(error.to_string())
    }

    /// The command line is wrong as the error says.
    pub(crate) fn wrong_use(error: impl Display) -> Self {
        Self::WrongUse(error.to_string())
    }
}

fn main() -> ExitCode {
    let result = match Flags::parse().verb {
        Verb::Serve(serve) => serve::run(&serve),
        Verb::Check(check) => check::run(&check),
        Verb::Ctl(ctl) => ctl::run(&ctl),
        Verb::Cluster(cluster) => cluster_demo::run(&cluster),
        Verb::Bench(bench) => bench::run(&bench),
        Verb::Store(store) => store::run(&store),
        Verb::Top(top) => top::run(&top),
        Verb::Tune(tune) => tune::run(&tune),
        Verb::Profile(profile) => profile::run(&profile),
    };
    let (message, status) = match result {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Failed(message)) => (message, 1),
        Err(Failure::Told) => return ExitCode::from(1),
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
