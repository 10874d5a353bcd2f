//! Profiles a program for a while, in one of the modes of `profile`.
//!
//! Owns how often records are fetched from the kernel, and the text of the report.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use ::profile::{
    CountUnit, Frame, LockFunctions, Met, Mode, Sampling, Scheduling, Stack, SymbolNames,
    TraceEvent, Tracing, WaitRecording, Waits, call_table, wait_of, wait_rows, wait_table,
};
use bench::host::{is_local, listening_processes};
use bench::plan::{LoadAddressError, LoadUrl, Ownership, resolve};

use super::Profile;
use crate::Failure;
use crate::ctl::way::Way;
use crate::ctl::write_perf_map;
use crate::profiled::Told;

/// The program to profile: a running one, or one that was started for the profile and ends with it.
pub(super) struct Program {
    pub(super) process: u32,
    child: Option<Child>,
}

impl Program {
    pub(super) fn start(asked: &Profile) -> Result<Self, Failure> {
        let pid = match &asked.url {
            Some(url) => Some(listening(url)?),
            None => asked.pid,
        };
        match (pid, asked.command.split_first()) {
            (Some(process), _) => Ok(Self { process, child: None }),
            (None, Some((program, words))) => {
                let child = Command::new(program).args(words).spawn();
                let child =
                    child.map_err(|error| Failure::Failed(format!("{program}: {error}")))?;
                Ok(Self { process: child.id(), child: Some(child) })
            }
            (None, None) => {
                let text = "nothing to profile: give --pid PID, --url URL, --from FILE, --diff BEFORE \
                            AFTER, or -- COMMAND";
                Err(Failure::WrongUse(text.to_owned()))
            }
        }
    }
}

/// The process that listens at the address of a URL.
fn listening(url: &LoadUrl) -> Result<u32, Failure> {
    let failed = |error: LoadAddressError| Failure::Failed(error.to_string());
    let address = resolve(&url.place, Ownership::Declared).map_err(failed)?;
    let processes: Vec<u32> = match address.tcp().filter(|address| is_local(address.ip())) {
        Some(address) => listening_processes(address),
        None => Vec::new(),
    };
    match &*processes {
        [process] => Ok(*process),
        [] => Err(Failure::Failed(format!(
            "no process that can be seen from here listens at {address}: say --pid"
        ))),
        several => {
            let list: Vec<String> = several.iter().map(u32::to_string).collect();
            let list = list.join(", ");
            Err(Failure::WrongUse(format!("several listen at {address}: say --pid, one of {list}")))
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ended = child.kill();
            let _waited = child.wait();
        }
    }
}

/// Time between two reads of samples, and of events, of which there are many more: the ring buffers have room for that.
const LOOK: Duration = Duration::from_millis(100);
pub(super) const LOOK_AT_EVENTS: Duration = Duration::from_millis(5);

/// Time between two searches for new threads.
const SEARCH: Duration = Duration::from_secs(1);

/// Whether to search for new threads.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Search {
    Now,
    Later,
}

/// Fetches records until the time is over or the program has ended; returns the elapsed seconds.
#[expect(
    clippy::disallowed_methods,
    reason = "how long is looked is measured by a clock of its own"
)]
pub(super) fn for_a_while(
    time: Duration,
    look: Duration,
    mut fetch: impl FnMut(Search) -> std::io::Result<()>,
) -> f64 {
    let begun = Instant::now();
    let mut searched = begun;
    while begun.elapsed() < time {
        std::thread::sleep(look.min(time.saturating_sub(begun.elapsed())));
        let search = if searched.elapsed() >= SEARCH { Search::Now } else { Search::Later };
        if search == Search::Now {
            searched = Instant::now();
        }
        // A program that has ended has been profiled completely.
        if fetch(search).is_err() {
            break;
        }
    }
    begun.elapsed().as_secs_f64()
}

pub(super) fn failure(process: u32, error: &std::io::Error) -> Failure {
    let is_there = std::path::Path::new(&format!("/proc/{process}")).exists();
    match error.kind() {
        _ if !is_there => Failure::WrongUse(format!("there is no process {process}")),
        std::io::ErrorKind::PermissionDenied => Failure::Failed(format!(
            "process {process} may not be looked at: try as root, or sysctl kernel.perf_event_paranoid=1"
        )),
        _ => Failure::Failed(format!("process {process}: {error}")),
    }
}

pub(super) fn title(process: u32, seconds: f64, what: &str) -> String {
    let name = std::fs::read(format!("/proc/{process}/comm")).unwrap_or_default();
    format!("{} ({process}), {seconds:.1} s{what}", String::from_utf8_lossy(&name).trim())
}

pub(super) fn sampled(process: u32, asked: &Profile) -> Result<Told, Failure> {
    let failed = |error: std::io::Error| failure(process, &error);
    let mut sampling = Sampling::begin(process, asked.hertz).map_err(failed)?;
    let seconds = for_a_while(asked.duration, LOOK, |search| {
        sampling.drain();
        if search == Search::Now { sampling.find_threads() } else { Ok(()) }
    });
    let mut taken = sampling.end();
    map_pages(asked, &mut taken.remarks);
    let names =
        SymbolNames::find(process, taken.stacks.keys(), &asked.debug_files, &mut taken.remarks);
    let folded = names.fold(taken.stacks.iter().map(|(stack, count)| (stack, *count)));
    note_lost(taken.lost, &mut taken.remarks);
    if folded.total() == 0.0 {
        taken.remarks.push("no samples: the program was idle".to_owned());
    }
    let title = title(process, seconds, &format!(" at {} Hz", asked.hertz));
    Ok(Told { remarks: taken.remarks, ..Told::of(folded, CountUnit::Samples, title) })
}

/// Makes the server write the map of its pages' native code: at the end, because it compiles code while it runs.
pub(super) fn map_pages(asked: &Profile, remarks: &mut Vec<String>) {
    let Some(socket) = &asked.pages else { return };
    match write_perf_map(&Way::Socket(socket.clone()), None) {
        Ok((path, count)) => remarks.push(format!("{}: {count} pieces of pages", path.display())),
        // The samples are useful without it.
        Err(Failure::Failed(why) | Failure::WrongUse(why)) => {
            remarks.push(format!("without the lines of pages: {why}"));
        }
        Err(_) => {}
    }
}

pub(super) fn note_lost(lost: u64, remarks: &mut Vec<String>) {
    if lost > 0 {
        remarks.push(format!("{lost} records were lost: the figures are too low"));
    }
}

/// The outermost frame of a thread that was preempted.
const NO_CPU: &str = "[waits for a CPU]";

pub(super) fn waits(process: u32, asked: &Profile) -> Result<Told, Failure> {
    let mut waiting = WaitRecording::begin(process, &LockFunctions::default())
        .map_err(|error| failure(process, &error))?;
    let seconds = for_a_while(asked.duration, LOOK_AT_EVENTS, |search| {
        waiting.drain();
        if search == Search::Now { waiting.find_threads() } else { Ok(()) }
    });
    let waited = waiting.end();
    let mut remarks = vec![
        "time that threads waited; one that waited all the time and longer is not seen".to_owned(),
    ];
    map_pages(asked, &mut remarks);
    let stacks = waited.waits.keys().chain(waited.without_cpu.keys());
    let names = SymbolNames::find(process, stacks, &asked.debug_files, &mut remarks);
    let met = |kind: String, frames: Vec<Frame>, waits: &Waits| Met {
        kind,
        frames,
        tries: 0,
        waits: *waits,
    };
    let mut all = Vec::new();
    for (stack, waits) in &waited.waits {
        let frames = names.frames(stack);
        all.push(met(wait_of(&frames), frames, waits));
    }
    for (stack, waits) in &waited.without_cpu {
        let user = Stack { kernel: Vec::new(), ..stack.clone() };
        let mut frames = names.frames(&user);
        frames.push(Frame { name: NO_CPU.to_owned(), mode: Mode::Kernel, is_inlined: false });
        all.push(met("no CPU".to_owned(), frames, waits));
    }
    note_lost(waited.lost, &mut remarks);
    let table = wait_table(&wait_rows(all.iter().cloned()), asked.outputs.rows());
    Ok(Told::of_waits(title(process, seconds, ", off the CPU"), remarks, &all, table))
}

pub(super) fn calls(process: u32, asked: &Profile) -> Result<Told, Failure> {
    let begun = Tracing::begin(process, TraceEvent::Calls);
    let mut tracing = begun.map_err(|error| failure(process, &error))?;
    let seconds = for_a_while(asked.duration, LOOK_AT_EVENTS, |search| {
        tracing.drain();
        if search == Search::Now { tracing.find_threads() } else { Ok(()) }
    });
    let pairs = tracing.end();
    let mut remarks = Vec::new();
    note_lost(pairs.lost, &mut remarks);
    let table = call_table(&pairs, seconds, asked.requests, asked.outputs.rows());
    let title = title(process, seconds, ", system calls");
    Ok(Told { remarks, ..Told::of_table(title, table) })
}

pub(super) fn scheduling(process: u32, asked: &Profile) -> Result<Told, Failure> {
    let failed = |error: std::io::Error| failure(process, &error);
    let before = Scheduling::look(process).map_err(failed)?;
    let seconds = for_a_while(asked.duration, asked.duration, |_| Ok(()));
    let after = Scheduling::look(process).map_err(failed)?;
    let table = after.table_since(&before, seconds, asked.outputs.rows());
    Ok(Told::of_table(title(process, seconds, ", scheduling"), table))
}
