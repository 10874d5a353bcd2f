//! Programs of a host, from `/proc`.

use std::collections::BTreeMap;

use sys::text::numbers_in_list;

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

/// The name of the program or library whose variable is at an address; `None` for memory that was allocated, or if the
/// mappings of the program cannot be read.
pub(crate) fn variable_of(files: &HostFiles, process: u32, address: u64) -> Option<String> {
    file_at(&files.text(&format!("/proc/{process}/maps"))?, address)
}

/// The file of a mapping at an address (proc_pid_maps(5)). Variables that begin as zero are in a mapping without a name
/// right behind those of their file.
fn file_at(maps: &str, address: u64) -> Option<String> {
    let (mut end_of_file, mut file) = (0, "");
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let Some((first, end)) = words.next().and_then(|range| range.split_once('-')) else {
            continue;
        };
        let number = |text| u64::from_str_radix(text, 16).unwrap_or(0);
        let (first, end) = (number(first), number(end));
        match words.nth(4) {
            Some(path) => file = if path.starts_with('/') { path } else { "" },
            None if first != end_of_file => file = "",
            None => {}
        }
        end_of_file = end;
        if (first..end).contains(&address) {
            return file.rsplit('/').next().filter(|name| !name.is_empty()).map(str::to_owned);
        }
    }
    None
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

/// The CPUs of a list such as `0-2,5`.
pub(crate) fn cpu_list(text: &str) -> Vec<usize> {
    numbers_in_list(text).map(|cpu| cpu as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_files_are_read() {
        let stat = ProcessStat::parse("1 (a) b (c)) S 9 0 0 0 0 0 0 0 0 0 7 5 0").unwrap();
        assert_eq!((&*stat.name, stat.state, stat.parent, stat.ticks), ("a) b (c)", 'S', 9, 12));
        assert_eq!(ProcessStat::parse("1 (a"), None);
    }

    #[test]
    fn variables_are_told_from_allocated_memory() {
        let maps = "1000-2000 r-xp 00000000 fd:00 12 /usr/bin/python3.11\n\
                    2000-3000 rw-p 00001000 fd:00 12 /usr/bin/python3.11\n\
                    3000-4000 rw-p 00000000 00:00 0 \n\
                    5000-6000 rw-p 00000000 00:00 0 [heap]\n\
                    6000-7000 rw-p 00000000 00:00 0 \n\
                    8000-9000 rw-p 00000000 00:00 0 \n";
        let of = |address| file_at(maps, address);
        for address in [0x2010, 0x3ff0] {
            assert_eq!(of(address).as_deref(), Some("python3.11"), "{address:x}");
        }
        for address in [0x4000, 0x5010, 0x6010, 0x8010, 0x9000] {
            assert_eq!(of(address), None, "{address:x}");
        }
        assert_eq!(file_at("nonsense\n\n", 0), None);
    }
}
