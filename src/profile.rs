//! The verb `profile`: where the time of a running program goes.
//!
//! Owns the flags, how long is sampled, and where the result goes. How it is sampled and drawn is in the crate `profile`.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use ::profile::{Folded, Sampling, flame_graph, hints, name, table};
use clap::Args;

use crate::Failure;
use crate::output::print;

pub(crate) const EXAMPLES: &str = "Examples:
  velodrome profile --pid 812 -d 10s -o flame.html    a flame graph of ten seconds, and a table
  velodrome profile --pid 812 --folded stacks.txt     stacks for other tools
  velodrome profile -o flame.html -- ./server --port 80
  velodrome profile --from stacks.txt -o flame.html   draw what was kept

As root, or for programs of your own. Exit status: 0 done, 1 failed, 2 wrong use.";

#[derive(Debug, Args)]
pub(crate) struct Profile {
    /// The program to look at.
    #[arg(long, conflicts_with_all = ["from", "command"])]
    pid: Option<u32>,
    /// Draw stacks that were kept by --folded.
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    from: Option<PathBuf>,
    /// How long to look.
    #[arg(short = 'd', long = "duration", value_name = "TIME", default_value = "10s", value_parser = duration)]
    duration: Duration,
    /// Samples in a second of each thread's CPU time.
    #[arg(short = 'F', long = "frequency", value_name = "N", default_value_t = 99, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    hertz: u64,
    /// Write a flame graph here, a page of HTML.
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the stacks here, folded: a line for each, with its count.
    #[arg(long, value_name = "FILE")]
    folded: Option<PathBuf>,
    /// Rows of the table.
    #[arg(long, value_name = "N", default_value_t = 20)]
    rows: usize,
    /// A program that is started, looked at, and ended.
    #[arg(last = true)]
    command: Vec<String>,
}

fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no time; write 10s or 500ms");
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1),
        None => (text.strip_suffix('s').ok_or_else(wrong)?, 1000),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let time = Duration::from_millis(number.saturating_mul(unit));
    if (1..=3600).contains(&time.as_secs()) || (100..1000).contains(&time.as_millis()) {
        Ok(time)
    } else {
        Err("from 100ms to 3600s".to_owned())
    }
}

pub(crate) fn run(asked: &Profile) -> Result<(), Failure> {
    let (folded, title, remarks) = match (&asked.from, asked.pid, asked.command.split_first()) {
        (Some(file), ..) => {
            let text = std::fs::read_to_string(file)
                .map_err(|error| Failure::Failed(format!("{}: {error}", file.display())))?;
            let folded = Folded::from_text(&text).map_err(|line| {
                Failure::Failed(format!("{}:{line}: no stack with its count", file.display()))
            })?;
            (folded, file.display().to_string(), Vec::new())
        }
        (None, Some(process), _) => sampled(process, asked)?,
        (None, None, Some((program, words))) => {
            let started = Command::new(program).args(words).spawn();
            let mut child =
                started.map_err(|error| Failure::Failed(format!("{program}: {error}")))?;
            let sampled = sampled(child.id(), asked);
            let _ended = child.kill();
            let _waited = child.wait();
            sampled?
        }
        (None, None, None) => {
            let text = "what is to be looked at? --pid PID, --from FILE, or -- COMMAND";
            return Err(Failure::WrongUse(text.to_owned()));
        }
    };
    let write = |file: &PathBuf, text: String| {
        std::fs::write(file, text)
            .map_err(|error| Failure::Failed(format!("{}: {error}", file.display())))
    };
    if let Some(file) = &asked.folded {
        write(file, folded.to_text())?;
    }
    if let Some(file) = &asked.output {
        write(file, flame_graph(&folded, &title, &remarks))?;
    }
    let mut text = format!("{title}\n");
    for remark in &remarks {
        text.push_str(&format!("{remark}\n"));
    }
    text.push_str(&table(&folded, asked.rows));
    for hint in hints(&folded) {
        text.push_str(&format!(
            "\n{} in {:.1} % of the samples: velodrome tune audit --explain {}\n",
            hint.function, hint.percent, hint.check
        ));
    }
    print(&text)
}

/// Between two looks at the samples: their rings have room for much more.
const LOOK: Duration = Duration::from_millis(100);

/// Looks between two searches for threads that have begun.
const LOOKS_PER_SEARCH: u32 = 10;

#[expect(
    clippy::disallowed_methods,
    reason = "how long is looked is measured by a clock of its own"
)]
fn sampled(process: u32, asked: &Profile) -> Result<(Folded, String, Vec<String>), Failure> {
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::WrongUse(format!("there is no process {process}")),
        std::io::ErrorKind::PermissionDenied => Failure::Failed(format!(
            "process {process} may not be looked at: try as root, or sysctl kernel.perf_event_paranoid=1"
        )),
        _ => Failure::Failed(format!("process {process}: {error}")),
    };
    let mut sampling = Sampling::begin(process, asked.hertz).map_err(failed)?;
    let begun = Instant::now();
    let mut looks = 0;
    while begun.elapsed() < asked.duration {
        std::thread::sleep(LOOK.min(asked.duration.saturating_sub(begun.elapsed())));
        sampling.drain();
        looks += 1;
        // A program that has ended has been looked at.
        if looks % LOOKS_PER_SEARCH == 0 && sampling.find_threads().is_err() {
            break;
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let mut taken = sampling.end();
    let folded = name(process, &taken.stacks, &mut taken.remarks);
    if taken.lost > 0 {
        taken.remarks.push(format!("{} samples had no room", taken.lost));
    }
    if folded.total() == 0 {
        taken.remarks.push("no samples: the program did nothing".to_owned());
    }
    let name = std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    Ok((
        folded,
        format!("{} ({process}), {seconds:.1} s at {} Hz", name.trim(), asked.hertz),
        taken.remarks,
    ))
}
