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

    /// CPU time of each program, in clock ticks (a hundredth of a second).
    pub(crate) fn ticks(files: &HostFiles) -> BTreeMap<u32, u64> {
        let ticks =
            |process: u32| Some((process, ticks(&files.text(&format!("/proc/{process}/stat"))?)?));
        Self::all(files).into_iter().filter_map(ticks).collect()
    }

    /// CPU time of each thread of a program, in clock ticks.
    pub(crate) fn thread_ticks(files: &HostFiles, process: u32) -> BTreeMap<u32, u64> {
        let threads = files.names(&format!("/proc/{process}/task"));
        let ticks = |thread: &String| {
            let stat = files.text(&format!("/proc/{process}/task/{thread}/stat"))?;
            Some((thread.parse().ok()?, ticks(&stat)?))
        };
        threads.iter().filter_map(ticks).collect()
    }

    /// How often each thread of a program has gone to sleep (voluntary context switches).
    pub(crate) fn wake_ups(files: &HostFiles, process: u32) -> BTreeMap<u32, u64> {
        let threads = files.names(&format!("/proc/{process}/task"));
        let count = |thread: &String| {
            let status = files.text(&format!("/proc/{process}/task/{thread}/status"))?;
            let count = line_of(&status, "voluntary_ctxt_switches")?;
            Some((thread.parse().ok()?, count.parse().ok()?))
        };
        threads.iter().filter_map(count).collect()
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

fn line_of(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

/// User and kernel time in a line of `stat` (proc_pid_stat(5)); the name may contain spaces and brackets.
fn ticks(stat: &str) -> Option<u64> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(number(11)? + number(12)?)
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
        assert_eq!(ticks("1 (a) b (c)) S 0 0 0 0 0 0 0 0 0 0 7 5 0"), Some(12));
        assert_eq!(ticks("1 (a"), None);
    }
}
