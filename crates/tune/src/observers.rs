//! Programs that observe others: descriptors of samplers and BPF programs.
//!
//! Owns how they are found, and their text form, which is read as a file.

use std::path::Path;

use crate::files::HostFiles;
use crate::limits::DESCRIPTORS;
use crate::processes::Process;

/// The path under which they are read: `perf 812 4 perf`, its kind, process, number of descriptors and name.
pub(crate) const PLACE: &str = "/velodrome/observers";

/// A program with descriptors that observe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Observer {
    /// `perf` or `bpf`.
    pub(crate) kind: String,
    pub(crate) process: u32,
    pub(crate) count: usize,
    pub(crate) name: String,
}

impl Observer {
    /// Parses the lines.
    pub(crate) fn read(text: &str) -> Vec<Self> {
        let line = |line: &str| {
            let mut words = line.splitn(4, ' ');
            Some(Self {
                kind: words.next()?.to_owned(),
                process: words.next()?.parse().ok()?,
                count: words.next()?.parse().ok()?,
                name: words.next()?.to_owned(),
            })
        };
        text.lines().filter_map(line).collect()
    }
}

/// Kinds of BPF programs that run at calls, functions and events (`enum bpf_prog_type`): kprobe, tracepoint,
/// perf_event, raw_tracepoint, its writable form, tracing, lsm. Those of control groups and devices are ordinary.
const OBSERVING: [u32; 7] = [2, 5, 7, 17, 24, 26, 29];

/// The observers among the programs of this host, without this one; `None` if descriptors of others may not be seen.
pub(crate) fn told() -> Option<String> {
    let files = HostFiles::below(Path::new("/"));
    // Of the first program of the host only root may see the descriptors.
    std::fs::read_dir("/proc/1/fd").ok()?;
    let own = std::process::id();
    let mut lines = String::new();
    for process in Process::all(&files).into_iter().filter(|process| *process != own) {
        let place = format!("/proc/{process}/fd");
        let (mut perf, mut bpf) = (0, 0);
        for name in files.names(&place).iter().take(DESCRIPTORS) {
            match files.link(&format!("{place}/{name}")).as_deref() {
                Some("anon_inode:[perf_event]") => perf += 1,
                Some("anon_inode:bpf-prog") if is_observing(&files, process, name) => bpf += 1,
                _ => {}
            }
        }
        for (kind, count) in [("perf", perf), ("bpf", bpf)].into_iter().filter(|found| found.1 > 0)
        {
            let name = Process::name(&files, process).unwrap_or_default();
            lines.push_str(&format!("{kind} {process} {count} {name}\n"));
        }
    }
    Some(lines)
}

fn is_observing(files: &HostFiles, process: u32, name: &str) -> bool {
    let info = files.text(&format!("/proc/{process}/fdinfo/{name}")).unwrap_or_default();
    let kind = info.lines().find_map(|line| line.strip_prefix("prog_type:"));
    kind.and_then(|text| text.trim().parse::<u32>().ok())
        .is_some_and(|kind| OBSERVING.contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observers_are_read() {
        let all = Observer::read("perf 812 4 my perf\nbroken\n");
        assert_eq!((all.len(), &*all[0].name, all[0].count), (1, "my perf", 4));
    }
}
