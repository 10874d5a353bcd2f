//! The verb `tune`: what the host costs a server, and what would mend it.
//!
//! Owns the flags of `audit`. The checks are in the crate `tune`, the verbs that change the host in `changing`.

mod changing;

use std::path::{Path, PathBuf};
use std::time::Duration;

use ::tune::{Host, Load, audit, explanation, explanation_to_json, find, to_json, to_text};
use clap::{Args, Subcommand, ValueEnum};

use crate::Failure;
use crate::output::{print, print_line};

pub(crate) const EXAMPLES: &str = "Examples:
  velodrome tune audit                           what this host costs a server with many requests
  velodrome tune audit --for latency --pid 812   with the evidence of a running server
  velodrome tune audit --explain stack.netfilter why it costs, what its mend risks, what to type
  velodrome tune audit --root copy               another machine's /proc and /sys, copied
  velodrome tune plan                            what would be written, with the values before and after
  velodrome tune apply stack.somaxconn           write one step of it
  velodrome tune status                          what is changed now, and what has drifted since
  velodrome tune revert all                      put everything back

Only apply and revert change anything; no program is started, no module is loaded. Exit status: 0 done, 1 failed or refused,
2 wrong use, 5 status: something has drifted.";

#[derive(Debug, Args)]
pub(crate) struct Tune {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// What costs on this host, sorted by what its mend may be worth.
    Audit(Audit),
    /// What would be written to mend what costs, in its order; nothing is.
    Plan(changing::Wanted),
    /// Write steps of the plan: those that are named, or all.
    Apply(changing::Apply),
    /// Put back what was written, the last first.
    Revert(changing::Revert),
    /// The changes that stand now, and those that have drifted since.
    Status(changing::Place),
}

#[derive(Debug, Args)]
struct Audit {
    #[command(flatten)]
    looked: Looked,
    /// Tell all about one check.
    #[arg(long, value_name = "NAME")]
    explain: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// How a host is looked at.
#[derive(Debug, Args)]
struct Looked {
    /// What the host is to be good at.
    #[arg(long = "for", value_name = "LOAD", default_value = "throughput")]
    load: LoadName,
    /// The server, whose threads, limits and control group are looked at as well.
    #[arg(long)]
    pid: Option<u32>,
    /// Seconds between the two looks at counters; 0 for one look, with counters since the start of the host.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(0..=3600))]
    seconds: u64,
    /// The files of another machine, which are below this directory; looked at once.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LoadName {
    /// Requests a second.
    Throughput,
    /// The time to an answer.
    Latency,
    /// Very many connections that stand.
    Connections,
    /// Much else on the same machine.
    Density,
}

impl From<LoadName> for Load {
    fn from(name: LoadName) -> Self {
        match name {
            LoadName::Throughput => Self::Throughput,
            LoadName::Latency => Self::Latency,
            LoadName::Connections => Self::Connections,
            LoadName::Density => Self::Density,
        }
    }
}

pub(crate) fn run(tune: &Tune) -> Result<(), Failure> {
    match &tune.verb {
        Verb::Audit(asked) => run_audit(asked),
        Verb::Plan(wanted) => changing::run_plan(wanted),
        Verb::Apply(apply) => changing::run_apply(apply),
        Verb::Revert(revert) => changing::run_revert(revert),
        Verb::Status(place) => changing::run_status(place),
    }
}

fn run_audit(asked: &Audit) -> Result<(), Failure> {
    let check = asked.explain.as_deref().map(|name| {
        find(name).ok_or_else(|| {
            Failure::WrongUse(format!(
                "there is no check `{name}`; `velodrome tune audit --json` has all names"
            ))
        })
    });
    let check = check.transpose()?;
    let host = look(&asked.looked)?;
    if let Some(check) = check {
        let found = (check.judge)(&host);
        return match asked.json {
            true => print_line(&explanation_to_json(check, &found).to_string()),
            false => print(&explanation(check, &found)),
        };
    }
    let report = audit(&host, asked.looked.load.into());
    match asked.json {
        true => print_line(&to_json(&report).to_string()),
        false => print(&to_text(&report)),
    }
}

fn look(asked: &Looked) -> Result<Host, Failure> {
    let root = asked.root.as_deref().unwrap_or(Path::new("/"));
    if !root.join("proc").is_dir() {
        let text = format!("there is no `proc` in {}", root.display());
        return Err(Failure::WrongUse(text));
    }
    if let Some(pid) = asked.pid
        && !root.join(format!("proc/{pid}")).is_dir()
    {
        return Err(Failure::WrongUse(format!("there is no process {pid}")));
    }
    let mut host = Host::of(root, asked.pid);
    if asked.root.is_none() && asked.seconds > 0 {
        // The time between two looks is what is measured.
        std::thread::sleep(Duration::from_secs(asked.seconds));
        host.look_again(asked.seconds as f64);
    }
    Ok(host)
}
