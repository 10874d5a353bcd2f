//! The verb `profile`: where the time of a running program goes.
//!
//! Owns the flags. `looking` decides how long and what is recorded, `waiting` and `locking` do so for waits, `profiled`
//! where the result is written; the crate `profile` records and draws.

mod locking;
mod looking;
mod machine;
mod memory;
mod program;
mod standing;
mod waiting;

use std::path::{Path, PathBuf};
use std::time::Duration;

use ::profile::{CountUnit, Folded, FoldedFile};
use bench::plan::LoadUrl;
use clap::{ArgGroup, Args};

use crate::Failure;
use crate::duration::duration;
use crate::profiled::{self, Outputs, Told};
use program::Program;

pub(crate) const EXAMPLES: &str = "Examples:
  velodrome profile --pid 812 -d 10s -o flame.html    a flame graph of ten seconds, and a table
  velodrome profile --url http://127.0.0.1:8080       the server that listens there
  velodrome profile -o flame.html -- ./server --port 80
  velodrome profile --pid 812 --pages /run/velodrome/8080.sock     with the lines of pages
  velodrome profile --pid 812 --off-cpu -o waits.html what threads wait for
  velodrome profile --pid 812 --locks                 which locks, where, how long
  velodrome profile --pid 812 --locks --tries -d 2s   and how often each was taken
  velodrome profile --pid 812 --syscalls --requests 50000
  velodrome profile --pid 812 --sched                 wake-ups, migrations, waits for a CPU, steal
  velodrome profile --pid 812 --memory -o faults.html memory by second, page faults
  velodrome profile -a -o machine.html                all programs on all CPUs
  velodrome profile --pid 812 --folded before.txt     write the stacks; later:
  velodrome profile --from before.txt -o flame.html
  velodrome profile --diff before.txt after.txt -o difference.html
  velodrome profile --from before.txt --firefox profile.json --pprof profile.pb.gz

Needs root, or your own program; --sched needs no special rights. Exit status: 0 done, 1 failed, 2 wrong usage.";

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("view").args(["off_cpu", "locks", "syscalls", "sched", "memory"]))]
pub(crate) struct Profile {
    /// The program to profile.
    #[arg(long, conflicts_with_all = ["from", "command", "diff"])]
    pid: Option<u32>,
    /// The server that listens at this address of this host: http://HOST:PORT or HOST:PORT.
    #[arg(long, value_name = "URL", conflicts_with_all = ["pid", "from", "command", "diff"])]
    url: Option<LoadUrl>,
    /// The whole machine: all programs on all CPUs, with softirqs.
    #[arg(short = 'a', long, conflicts_with_all = ["pid", "url", "from", "command", "diff", "view", "pages"])]
    all: bool,
    /// Read folded stacks instead of profiling: those that --folded writes, or another tool for flamegraph.pl.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "view", "diff"])]
    from: Option<PathBuf>,
    /// Compare two files of folded stacks.
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], conflicts_with_all = ["command", "view"])]
    diff: Vec<PathBuf>,
    /// Show what threads wait for, and how long.
    #[arg(long)]
    off_cpu: bool,
    /// Show waits for locks: which kind, where, how often, how long.
    #[arg(long)]
    locks: bool,
    /// Also count how often each lock is taken. Slows every call of a lock function by some microseconds.
    #[arg(long, requires = "locks")]
    tries: bool,
    /// Show system calls: which, how often, how long.
    #[arg(long)]
    syscalls: bool,
    /// Show how threads are scheduled: wake-ups, migrations, waits, steal.
    #[arg(long)]
    sched: bool,
    /// Show the memory by second, and which functions touch it first.
    #[arg(long)]
    memory: bool,
    /// Resolve lines of pages, through the control socket of this Velodrome server.
    #[arg(long, value_name = "SOCKET", conflicts_with_all = ["from", "diff", "syscalls", "sched"])]
    pages: Option<PathBuf>,
    /// Also search debug files of stripped programs in this directory, in addition to /usr/lib/debug.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["from", "diff", "syscalls", "sched"])]
    debug_files: Vec<PathBuf>,
    /// The server's requests per second, as shown by bench, to show calls per request.
    #[arg(long, value_name = "N", requires = "syscalls")]
    requests: Option<f64>,
    /// Duration of the profile.
    #[arg(short = 'd', long = "duration", value_name = "TIME", default_value = "10s", value_parser = profile_duration)]
    duration: Duration,
    /// Samples per second of each thread's CPU time.
    #[arg(short = 'F', long = "frequency", value_name = "N", default_value_t = 99, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    hertz: u64,
    #[command(flatten)]
    outputs: Outputs,
    /// A program to start, profile and stop.
    #[arg(last = true)]
    command: Vec<String>,
}

/// The duration of a profile, within what a profile is good for.
fn profile_duration(text: &str) -> Result<Duration, String> {
    let time = duration(text).map_err(|error| error.to_string())?;
    let range = Duration::from_millis(100)..=Duration::from_secs(3600);
    if range.contains(&time) { Ok(time) } else { Err("from 100ms to 3600s".to_owned()) }
}

pub(crate) fn run(asked: &Profile) -> Result<(), Failure> {
    if let [before, after] = &*asked.diff {
        let title = format!("{} against {}", after.display(), before.display());
        let [before, after] = [profile_of(before)?, profile_of(after)?];
        return compare([&before, &after], &title, asked);
    }
    if (asked.syscalls || asked.sched) && asked.outputs.has_file() {
        let text = "--syscalls and --sched have tables alone, no stacks that could be written";
        return Err(Failure::WrongUse(text.to_owned()));
    }
    let told = match &asked.from {
        Some(file) => match open(file)? {
            FoldedFile::Profile(folded) => {
                Told::of(folded, CountUnit::Samples, file.display().to_string())
            }
            FoldedFile::Difference(before, after) => {
                return compare([&before, &after], &file.display().to_string(), asked);
            }
        },
        None if asked.all => machine::machine(asked)?,
        None => look(&Program::start(asked)?, asked)?,
    };
    profiled::write(&told, &asked.outputs, asked.hertz)
}

/// Profiles a program.
fn look(program: &Program, asked: &Profile) -> Result<Told, Failure> {
    let scope = program.scope();
    match () {
        () if asked.sched => looking::scheduling(scope, asked),
        () if asked.syscalls => looking::calls(scope, asked),
        () if asked.locks => locking::locks(scope, asked),
        () if asked.memory => memory::memory(scope, asked),
        () if asked.off_cpu => waiting::waits(scope, asked),
        () => looking::sampled(scope, asked),
    }
}

fn open(file: &Path) -> Result<FoldedFile, Failure> {
    let name = file.display();
    let bytes = std::fs::read(file).map_err(|error| Failure::Failed(format!("{name}: {error}")))?;
    FoldedFile::read(&bytes)
        .map_err(|bad| Failure::Failed(format!("{name}:{}: {}", bad.number, bad.fault)))
}

/// The profile in a file.
fn profile_of(file: &Path) -> Result<Folded, Failure> {
    match open(file)? {
        FoldedFile::Profile(folded) => Ok(folded),
        FoldedFile::Difference(..) => Err(Failure::WrongUse(format!(
            "{} has two counts in each line and is a difference itself: give it to --from",
            file.display()
        ))),
    }
}

fn compare([before, after]: [&Folded; 2], title: &str, asked: &Profile) -> Result<(), Failure> {
    if asked.outputs.has_other_file() {
        let text = "a difference is drawn by -o and listed; no other file has its form";
        return Err(Failure::WrongUse(text.to_owned()));
    }
    profiled::write_difference([before, after], title, &asked.outputs)
}
