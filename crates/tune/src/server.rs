//! The server that is audited: the program that was named, its relatives, and their threads.
//!
//! Owns who belongs to it. A master, its workers and what they start are one server; a shell that has started it is
//! none of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::files::HostFiles;
use crate::limits::{MEMBERS, THREADS};
use crate::processes::{Process, ProcessStat, line_of};

/// The programs of a server: the named one and those below it. If its parent is a master, the master's family.
pub(crate) fn members(programs: &BTreeMap<u32, ProcessStat>, named: u32) -> BTreeSet<u32> {
    let root = master(programs, named).unwrap_or(named);
    let mut all = BTreeSet::from([root, named]);
    // A child may have a lower number than its parent: numbers are given again.
    loop {
        let is_below = |(_, stat): &(&u32, &ProcessStat)| all.contains(&stat.parent);
        let found: BTreeSet<u32> =
            programs.iter().filter(is_below).map(|(process, _)| *process).collect();
        let count = all.len();
        all.extend(found.into_iter().take(MEMBERS.saturating_sub(count)));
        if all.len() == count || count >= MEMBERS {
            return all;
        }
    }
}

/// The program that has started this one and has its name, as all that it has started have: a shell has also started
/// others.
fn master(programs: &BTreeMap<u32, ProcessStat>, named: u32) -> Option<u32> {
    let own = programs.get(&named)?;
    let parent = programs.get(&own.parent)?;
    let mut children = programs.values().filter(|stat| stat.parent == own.parent);
    (parent.name == own.name && children.all(|child| child.name == own.name)).then_some(own.parent)
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerThread {
    /// Its program.
    pub(crate) process: u32,
    /// CPU time in clock ticks.
    pub(crate) ticks: u64,
    /// Page faults without a read from disk.
    pub(crate) faults: u64,
    /// Nanoseconds on a CPU, and in the queue of one; `None` if the kernel does not count them.
    pub(crate) ran: Option<RunTimes>,
    /// How often it went to sleep, which is how often it was woken.
    pub(crate) wake_ups: Option<u64>,
    /// How often it moved to another CPU; `None` if the kernel does not count it.
    pub(crate) moves: Option<u64>,
    /// The CPUs that it may use; empty if it is not known.
    pub(crate) allowed: Vec<usize>,
    /// The program that traces it; 0 if none does.
    pub(crate) tracer: u32,
    pub(crate) nice: i64,
    pub(crate) policy: u64,
}

/// Times of a thread (`schedstat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunTimes {
    /// Nanoseconds on a CPU.
    pub(crate) run: u64,
    /// Nanoseconds in the queue of a CPU.
    pub(crate) wait: u64,
}

/// The threads of these programs, by number.
pub(crate) fn threads(files: &HostFiles, members: &BTreeSet<u32>) -> BTreeMap<u32, ServerThread> {
    let numbers = members.iter().flat_map(|process| {
        Process::threads(files, *process).into_iter().map(|one| (*process, one))
    });
    let read = |(process, thread)| Some((thread, thread_of(files, process, thread)?));
    numbers.take(THREADS).filter_map(read).collect()
}

fn thread_of(files: &HostFiles, process: u32, thread: u32) -> Option<ServerThread> {
    let place = format!("/proc/{process}/task/{thread}");
    let stat = ProcessStat::parse(&files.text(&format!("{place}/stat"))?)?;
    let status = files.text(&format!("{place}/status")).unwrap_or_default();
    let number = |name: &str| line_of(&status, name)?.parse::<u64>().ok();
    let moves = files.text(&format!("{place}/sched")).and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("se.nr_migrations"))?;
        line.trim_start_matches([' ', ':']).trim().parse().ok()
    });
    let allowed = line_of(&status, "Cpus_allowed_list").unwrap_or_default();
    Some(ServerThread {
        process,
        ticks: stat.ticks,
        faults: stat.faults,
        ran: files.text(&format!("{place}/schedstat")).and_then(|text| run_times(&text)),
        wake_ups: number("voluntary_ctxt_switches"),
        moves,
        allowed: crate::processes::cpu_list(&allowed),
        tracer: number("TracerPid").unwrap_or(0) as u32,
        nice: stat.nice,
        policy: stat.policy,
    })
}

fn run_times(text: &str) -> Option<RunTimes> {
    let mut numbers = text.split_whitespace().filter_map(|word| word.parse().ok());
    Some(RunTimes { run: numbers.next()?, wait: numbers.next()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(programs: &[(u32, u32, &str)], named: u32) -> Vec<u32> {
        let stat = |(_, parent, name): &(u32, u32, &str)| ProcessStat {
            parent: *parent,
            name: (*name).to_owned(),
            ..ProcessStat::default()
        };
        let programs = programs.iter().map(|one| (one.0, stat(one))).collect();
        members(&programs, named).into_iter().collect()
    }

    #[test]
    fn a_worker_belongs_to_its_master_and_its_master_to_no_shell() {
        let programs = [
            (1, 0, "init"),
            (5, 1, "bash"),
            (10, 5, "nginx"),
            (11, 10, "nginx"),
            (9, 11, "cgi"),
            (12, 10, "nginx"),
            (20, 5, "wrk"),
            (6, 5, "bash"),
        ];
        for named in [10, 11, 12] {
            assert_eq!(family(&programs, named), [9, 10, 11, 12]);
        }
        assert_eq!(family(&programs, 9), [9]);
        assert_eq!(family(&programs, 6), [6]);
        assert_eq!(family(&programs, 77), [77]);
        // Numbers that name each other, as a torn reading may have them, end.
        assert_eq!(family(&[(2, 3, "a"), (3, 2, "b")], 2), [2, 3]);
    }

    #[test]
    fn times_of_a_thread_are_read() {
        assert_eq!(run_times("12 34 5\n"), Some(RunTimes { run: 12, wait: 34 }));
        assert_eq!(run_times("12"), None);
    }
}
