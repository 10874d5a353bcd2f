//! Programs of a host, from `/proc`.

use std::collections::BTreeMap;

use crate::files::HostFiles;
use crate::limits::PROGRAMS;

/// A program, by its process id.
pub(crate) struct Process;

impl Process {
    /// The process ids of all programs.
    pub(crate) fn all(files: &HostFiles) -> Vec<u32> {
        let names = files.names("/proc");
        let mut numbers: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        if numbers.len() > PROGRAMS {
            numbers.clear();
        }
        numbers
    }

    /// The name of a program.
    pub(crate) fn name(files: &HostFiles, process: u32) -> Option<String> {
        files.text(&format!("/proc/{process}/comm"))
    }

    /// The first program with this name.
    pub(crate) fn named(files: &HostFiles, name: &str) -> Option<u32> {
        let is_it = |process: &u32| Self::name(files, *process).is_some_and(|known| known == name);
        Self::all(files).into_iter().find(is_it)
    }

    /// The first program that has a descriptor of one of these files, such as `socket:[4242]`.
    pub(crate) fn with_descriptor(files: &HostFiles, wanted: &[String]) -> Option<u32> {
        let has = |process: &u32| {
            let place = format!("/proc/{process}/fd");
            let is_it = |name: &String| {
                files.link(&format!("{place}/{name}")).is_some_and(|to| wanted.contains(&to))
            };
            files.names(&place).iter().any(is_it)
        };
        Self::all(files).into_iter().find(has)
    }

    /// The line of each program's `stat`.
    pub(crate) fn stats(files: &HostFiles) -> BTreeMap<u32, ProcessStat> {
        let stat = |process: u32| {
            Some((process, ProcessStat::parse(&files.text(&format!("/proc/{process}/stat"))?)?))
        };
        Self::all(files).into_iter().filter_map(stat).collect()
    }

    /// The threads of a program.
    pub(crate) fn threads(files: &HostFiles, process: u32) -> Vec<u32> {
        let names = files.names(&format!("/proc/{process}/task"));
        names.iter().filter_map(|name| name.parse().ok()).collect()
    }

    /// A line of a program's status, such as `Seccomp`.
    pub(crate) fn status(files: &HostFiles, process: u32, name: &str) -> Option<String> {
        line_of(&files.text(&format!("/proc/{process}/status"))?, name)
    }

    /// The CPUs that a program may use.
    pub(crate) fn allowed(files: &HostFiles, process: u32) -> Option<Vec<usize>> {
        Some(cpu_list(&Self::status(files, process, "Cpus_allowed_list")?))
    }

    /// The CPUs that a thread of it may use.
    pub(crate) fn thread_allowed(
        files: &HostFiles,
        process: u32,
        thread: u32,
    ) -> Option<Vec<usize>> {
        let status = files.text(&format!("/proc/{process}/task/{thread}/status"))?;
        Some(cpu_list(&line_of(&status, "Cpus_allowed_list")?))
    }
}

/// The value of a line such as `Seccomp:\t2`.
pub(crate) fn line_of(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

/// A line of `stat` (proc_pid_stat(5)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    /// Its name.
    pub(crate) name: String,
    /// `R`, `S`, `D`, `T`, `t`, `Z`.
    pub(crate) state: char,
    /// The program that has started it.
    pub(crate) parent: u32,
    /// User and kernel time, in clock ticks (a hundredth of a second).
    pub(crate) ticks: u64,
    /// The same of its children that have ended and were waited for.
    pub(crate) ticks_of_children: u64,
    /// Page faults without a read from disk.
    pub(crate) faults: u64,
    /// The nice value.
    pub(crate) nice: i64,
    /// When it was started, in clock ticks since the start of the host.
    pub(crate) started: u64,
    /// The CPU on which it last ran.
    pub(crate) cpu: usize,
    /// The scheduling policy.
    pub(crate) policy: u64,
}

impl ProcessStat {
    /// Parses a line; the name may contain spaces and brackets. A line that ends early has zeros.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (front, rest) = line.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |at: usize| fields.get(at).and_then(|word| word.parse::<u64>().ok());
        Some(Self {
            name: front.split_once('(')?.1.to_owned(),
            state: fields.first()?.chars().next()?,
            parent: number(1).unwrap_or(0) as u32,
            ticks: number(11)? + number(12)?,
            ticks_of_children: number(13).unwrap_or(0) + number(14).unwrap_or(0),
            faults: number(7).unwrap_or(0),
            nice: fields.get(16).and_then(|word| word.parse().ok()).unwrap_or(0),
            started: number(19).unwrap_or(0),
            cpu: number(36).unwrap_or(0) as usize,
            policy: number(38).unwrap_or(0),
        })
    }
}

/// The numbers of a list such as `0-2,5`.
pub(crate) fn cpu_list(text: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) =
            (first.trim().parse::<usize>().ok()?, last.trim().parse::<usize>().ok()?);
        (last < 1 << 16).then_some(first..=last)
    };
    text.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_files_are_read() {
        assert_eq!(cpu_list("0-2,5"), [0, 1, 2, 5]);
        assert_eq!(cpu_list("x,7-"), [0; 0]);
        let stat = ProcessStat::parse("1 (a) b (c)) S 9 0 0 0 0 0 0 0 0 0 7 5 0").unwrap();
        assert_eq!((&*stat.name, stat.state, stat.parent, stat.ticks), ("a) b (c)", 'S', 9, 12));
        assert_eq!(ProcessStat::parse("1 (a"), None);
    }
}
