//! Child processes that cannot outlive the tool.
//!
//! Owns starting and ending them, always by their own id. Never ends a process it did not start.

use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::failure::Failure;

/// Milliseconds that a child has to end after it was told to. Beyond: it is killed.
const END_GRACE_MS: u64 = 3_000;

/// Milliseconds between two checks of a condition that is waited for.
const LOOK_INTERVAL_MS: u64 = 10;

/// Runs a command to its end with its output shown; an error names it.
pub(crate) fn run(command: &mut Command, name: &str) -> Result<(), Failure> {
    let status = command.status().map_err(|error| Failure::Work(format!("{name}: {error}")))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::Work(format!("{name} failed ({status})")))
}

/// Processor time in /proc/PID/stat is in hundredths of a second (`USER_HZ`, proc(5)).
const TICK: Duration = Duration::from_millis(10);

/// Waits until a child has ended; also returns the processor time of it and of the descendants that were waited for.
pub(crate) fn wait_and_measure(mut child: Child) -> io::Result<(ExitStatus, Duration)> {
    let id = Pid::from_child(&child);
    // It stays a zombie, which still has its times.
    let ended = || waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
    rustix::io::retry_on_intr(ended)?;
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    Ok((child.wait()?, processor_time(&stat)))
}

/// Kills a child and its descendants unless it ends within this time. Returns whether it has ended by itself.
pub(crate) fn end_within(limit: Duration, child: &Child) -> bool {
    let id = Pid::from_child(child);
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    // A child that cannot be waited for has ended.
    let has_ended = || !matches!(waitid(WaitId::Pid(id), options), Ok(None));
    let ends = wait_until(limit, has_ended);
    if !ends {
        signal(&family_of(child.id()), rustix::process::Signal::KILL);
    }
    ends
}

/// The ids of a process and of all its descendants, the process first.
fn family_of(id: u32) -> Vec<u32> {
    let mut family = vec![id];
    let mut next = 0;
    while let Some(member) = family.get(next) {
        family.extend(children_of(*member));
        next += 1;
    }
    family
}

/// The times in /proc/PID/stat: user and system, then those of the children.
fn processor_time(stat: &str) -> Duration {
    // The name in parentheses may contain anything, and the third field follows it.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let ticks = fields.split(' ').skip(11).take(4).filter_map(|field| field.parse::<u32>().ok());
    TICK * ticks.sum::<u32>()
}

/// The path of a program. Servers are in directories that only root has in its PATH.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

/// The path of a program of the distribution.
pub(crate) fn installed(program: &str, package: &str) -> Result<String, Failure> {
    let found = find(program).map(|path| path.display().to_string());
    found.ok_or_else(|| Failure::Work(format!("not installed (apt: {package})")))
}

/// Whether a program of that name can be started.
pub(crate) fn is_installed(program: &str) -> bool {
    find(program).is_some()
}

/// Checks repeatedly until `done` returns true or the time is over; returns whether it did.
pub(crate) fn wait_until(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    while !done() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(LOOK_INTERVAL_MS));
    }
    true
}

/// A child that is ended, with all its descendants, when dropped.
pub(crate) struct Guarded {
    child: Child,
}

impl Guarded {
    pub(crate) fn start(command: &mut Command, name: &str) -> Result<Guarded, Failure> {
        let child = command.spawn().map_err(|error| Failure::Work(format!("{name}: {error}")))?;
        Ok(Guarded { child })
    }

    /// The process ids of the child and all its descendants, the child first.
    pub(crate) fn family(&self) -> Vec<u32> {
        family_of(self.child.id())
    }

    /// Whether the child has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if self.has_ended() {
            return;
        }
        let family = self.family();
        signal(&family[..1], rustix::process::Signal::TERM);
        wait_until(Duration::from_millis(END_GRACE_MS), || self.has_ended());
        // Grandchildren end with their parent; one that did not, and is still a descendant, is killed.
        if !self.has_ended() {
            signal(&family, rustix::process::Signal::KILL);
        }
        if let Err(error) = self.child.wait() {
            eprintln!("xtask: waiting for process {}: {error}", self.child.id());
        }
    }
}

/// Sends a signal to processes that this tool started.
pub(crate) fn signal(ids: &[u32], signal: rustix::process::Signal) {
    for id in ids {
        let process = i32::try_from(*id).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(process) = process {
            // It may have ended in the meantime, which is the goal.
            let _ = rustix::process::kill_process(process, signal);
        }
    }
}

fn children_of(id: u32) -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{id}/task")) else { return Vec::new() };
    threads
        .flatten()
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|text| {
            text.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u32>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_time_of_a_child_and_of_its_children_is_measured() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 2 0 0 100 20 3 4 20 0 1 0 9";
        assert_eq!(processor_time(stat), Duration::from_millis(1_270));
        assert_eq!(processor_time(""), Duration::ZERO);
        let mut command = Command::new("sh");
        let counts = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let child = command.args(["-c", &format!("sh -c '{counts}'; exit 3")]).spawn().expect("sh");
        let (status, processor) = wait_and_measure(child).expect("it ends");
        assert_eq!(status.code(), Some(3));
        assert!(processor > Duration::ZERO);
    }

    #[test]
    fn child_that_does_not_end_in_its_time_is_killed_with_its_children() {
        let start = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdout(std::process::Stdio::piped());
            command.spawn().expect("sh")
        };
        let mut hanging = start("sleep 600 & echo $!; wait");
        let mut line = String::new();
        let output = hanging.stdout.take().expect("it is piped");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line)
            .expect("the id of the grandchild");
        assert!(!end_within(Duration::ZERO, &hanging));
        assert_eq!(hanging.wait().expect("it is killed").code(), None);
        let stat = format!("/proc/{}/stat", line.trim());
        let is_dead = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
        assert!(wait_until(Duration::from_secs(60), is_dead));
        let mut quick = start("exit 3");
        assert!(end_within(Duration::from_secs(60), &quick));
        assert_eq!(quick.wait().expect("it has ended").code(), Some(3));
    }

    #[test]
    fn a_guarded_child_ends_with_its_guard() {
        let mut command = Command::new("sleep");
        let guarded = Guarded::start(command.arg("600"), "sleep").expect("sleep starts");
        let id = guarded.family()[0];
        let place = format!("/proc/{id}/stat");
        assert!(std::path::Path::new(&place).exists());
        drop(guarded);
        assert!(!std::path::Path::new(&place).exists());
    }

    #[test]
    fn programs_are_found_on_the_path() {
        assert!(is_installed("sh"));
        assert!(!is_installed("no-such-program-anywhere"));
    }
}
