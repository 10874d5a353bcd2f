//! The verb `tune`: what the host costs a server, and what would mend it.
//!
//! Owns the flags of `audit`. The checks are in the crate `tune`, the verbs that change the host in `changing`.

mod changing;
mod ladder;
mod place;
mod way_back;

use std::path::{Path, PathBuf};
use std::time::Duration;

use ::tune::{
    Host, Load, audit, explanation, explanation_to_json, find, record, to_html, to_json, to_text,
};
use clap::{Args, Subcommand, ValueEnum};

use crate::Failure;
use crate::output::{print, print_line};

pub(crate) const EXAMPLES: &str = "Examples:
  velodrome tune audit                           what this host costs a server with many requests
  velodrome tune audit --for latency --pid 812   with the evidence of a running server
  velodrome tune audit --explain stack.netfilter why it costs, what its mend risks, what to type
  velodrome tune audit --root copy               another machine's /proc and /sys, copied
  velodrome tune record -o host.tar              copy what an audit sees of this machine
  velodrome tune plan                            what would be written, with the values before and after
  velodrome tune apply stack.somaxconn           write one step of it
  velodrome tune status                          what is changed now, and what has drifted since
  velodrome tune revert all                      put everything back
  velodrome tune ladder --help                   measure steps one by one

Only apply, revert and ladder change anything; only ladder starts a program, the server; no module is loaded. Exit status: 0 done, 1 failed or refused,
2 wrong use, 5 status and verify: something has drifted.";

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
    /// Say what of the changes does not stand any more: somebody else has changed it, or the host was started anew.
    Verify(place::Place),
    /// Have what was applied with --confirm stay.
    Confirm(place::Place),
    /// Puts unconfirmed changes back: apply --confirm starts it.
    #[command(hide = true)]
    WayBack(way_back::WayBack),
    /// Print a unit of systemd that writes what stands now again at each start of the host.
    Unit(place::Place),
    /// Copy what an audit looks at into an archive, for `--root` on another machine.
    Record(Record),
    /// Measure steps one after the other, each in turn with the state before it, and draw the staircase.
    Ladder(Box<ladder::Ladder>),
    /// The changes that stand now, and those that have drifted since.
    Status(place::Place),
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
    /// Write a page of HTML.
    #[arg(long, value_name = "FILE", conflicts_with = "explain")]
    html: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct Record {
    /// The archive.
    #[arg(short = 'o', long = "output", value_name = "FILE.tar")]
    output: PathBuf,
    /// The server, whose threads, limits and control group are recorded as well.
    #[arg(long)]
    pid: Option<u32>,
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
        Verb::Ladder(ladder) => ladder::run(ladder),
        Verb::Status(place) => changing::run_status(place),
        Verb::Verify(place) => changing::run_verify(place),
        Verb::Confirm(place) => changing::run_confirm(place),
        Verb::WayBack(told) => way_back::run(told),
        Verb::Unit(place) => changing::run_unit(place),
        Verb::Record(record) => run_record(record),
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
    if let Some(file) = &asked.html {
        crate::bench::page::write("--html", file, &to_html(&report))?;
    }
    match asked.json {
        true => print_line(&to_json(&report).to_string()),
        false => print(&to_text(&report)),
    }
}

fn run_record(asked: &Record) -> Result<(), Failure> {
    let file = asked.output.display();
    let failed = |error: std::io::Error| Failure::Failed(format!("{file}: {error}"));
    let looked = Looked { load: LoadName::Throughput, pid: asked.pid, seconds: 0, root: None };
    let host = look(&looked)?;
    let mut archive = Vec::new();
    let count = record(&host, &mut archive).map_err(failed)?;
    std::fs::write(&asked.output, archive).map_err(failed)?;
    print_line(&format!(
        "{file} has {count} files and directories of this host, among them the names and command lines of its programs.\n\
         On another machine: mkdir host && tar xf {file} -C host && velodrome tune audit --root host"
    ))
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
