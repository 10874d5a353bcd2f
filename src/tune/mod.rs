//! The verb `tune`: what the host costs a server, and what would fix it.
//!
//! Owns the flags of `audit`. The checks are in the crate `tune`, the verbs that change the host in `changing`.

mod calls;
mod changing;
mod drops;
mod ladder;
mod place;
mod watching;
mod way_back;
mod work;

use std::path::{Path, PathBuf};
use std::time::Duration;

use ::tune::{
    HostReading, Load, audit, explanation, explanation_to_json, find, record, to_html, to_json,
    to_text,
};
use clap::{Args, Subcommand, ValueEnum};

use crate::Failure;
use crate::duration::duration;
use crate::output::{FormFlag, OutputForm, print, print_line};

pub(crate) const EXAMPLES: &str = "Examples:
  velodrome tune audit                           what costs a server with many requests
  velodrome tune audit --for latency --pid 812   with evidence from a running server
  velodrome tune audit --explain stack.netfilter why it costs, what the fix risks, what to type
  velodrome tune audit --root copy               another machine, from a copy of its /proc and /sys
  velodrome tune record -o host.tar              copy the files that an audit reads
  velodrome tune plan                            what apply would write, with old and new values
  velodrome tune apply stack.somaxconn           apply one step
  velodrome tune status                          current changes, and what has drifted
  velodrome tune revert all                      revert everything
  velodrome tune ladder --help                   measure steps one by one

Only apply, revert and ladder change anything. Only ladder starts a program, the server. No kernel module is loaded. Exit status: 0 done, 1 failed or refused,
2 wrong usage, 5 status and verify: something has drifted.";

#[derive(Debug, Args)]
pub(crate) struct Tune {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List what on this host costs performance, sorted by what a fix may gain.
    Audit(Audit),
    /// Show what `apply` would write, in order, without writing it.
    Plan(changing::Wanted),
    /// Apply steps of the plan: the named ones, or all.
    Apply(changing::Apply),
    /// Restore the old values, in reverse order.
    Revert(changing::Revert),
    /// List changes that no longer hold, because somebody changed them or the host was rebooted.
    Verify(place::Place),
    /// Keep what was applied with --confirm.
    Confirm(place::Place),
    /// Puts unconfirmed changes back: apply --confirm starts it.
    #[command(hide = true)]
    WayBack(way_back::WayBack),
    /// Print a systemd unit that applies the current changes again at every boot.
    Unit(place::Place),
    /// Copy the files that an audit reads into an archive, for `--root` on another machine.
    Record(Record),
    /// Measure steps one after the other, each against the previous state, and draw the result as a staircase.
    Ladder(Box<ladder::Ladder>),
    /// List current changes, and which have drifted.
    Status(place::Place),
}

#[derive(Debug, Args)]
struct Audit {
    #[command(flatten)]
    looked: Looked,
    /// Explain one check.
    #[arg(long, value_name = "NAME")]
    explain: Option<String>,
    #[command(flatten)]
    output: FormFlag,
    /// Write an HTML page.
    #[arg(long, value_name = "FILE", conflicts_with = "explain")]
    html: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct Record {
    /// The archive to write.
    #[arg(short = 'o', long = "output", value_name = "FILE.tar")]
    output: PathBuf,
    /// Also record the threads, limits and control group of this server.
    #[arg(long)]
    pid: Option<u32>,
}

/// How a host is inspected.
#[derive(Debug, Args)]
struct Looked {
    /// The purpose of the host.
    #[arg(long = "for", value_name = "LOAD", default_value = "throughput")]
    load: LoadName,
    /// Also inspect the threads, limits, control group and sockets of this server.
    #[arg(long)]
    pid: Option<u32>,
    /// Seconds between two readings of counters; 0 reads once and uses counters since boot.
    #[arg(long, value_name = "TIME", default_value = "2", value_parser = between_readings)]
    seconds: Duration,
    /// A directory with the files of another machine; they are read once.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

fn between_readings(text: &str) -> Result<Duration, String> {
    let time = duration(text).map_err(|error| error.to_string())?;
    if time <= Duration::from_secs(3600) { Ok(time) } else { Err("up to an hour".to_owned()) }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LoadName {
    /// Requests per second.
    Throughput,
    /// Response times.
    Latency,
    /// Very many open connections.
    Connections,
    /// Many other programs on the same machine.
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
        let found = check.finding(&host);
        return match asked.output.form() {
            OutputForm::Json => print_line(&explanation_to_json(check, &found).to_string()),
            OutputForm::Text => print(&explanation(check, &found)),
        };
    }
    let report = audit(&host, asked.looked.load.into());
    if let Some(file) = &asked.html {
        crate::bench::page::write("--html", file, &to_html(&report))?;
    }
    match asked.output.form() {
        OutputForm::Json => print_line(&to_json(&report).to_string()),
        OutputForm::Text => print(&to_text(&report)),
    }
}

fn run_record(asked: &Record) -> Result<(), Failure> {
    let file = asked.output.display();
    let failed = |error: std::io::Error| Failure::Failed(format!("{file}: {error}"));
    let looked =
        Looked { load: LoadName::Throughput, pid: asked.pid, seconds: Duration::ZERO, root: None };
    let host = look(&looked)?;
    let mut archive = Vec::new();
    let count = record(&host, &mut archive).map_err(failed)?;
    std::fs::write(&asked.output, archive).map_err(failed)?;
    print_line(&format!(
        "{file} has {count} files and directories of this host, among them the names and command lines of \
         its programs.\nOn another machine: mkdir host && tar xf {file} -C host && velodrome tune audit \
         --root host"
    ))
}

fn look(asked: &Looked) -> Result<HostReading, Failure> {
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
    let mut host = HostReading::of(root, asked.pid);
    if asked.root.is_none() && !asked.seconds.is_zero() {
        watching::watch(&mut host, asked.pid, asked.seconds);
    }
    Ok(host)
}
