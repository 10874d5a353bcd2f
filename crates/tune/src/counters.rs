//! The counters of a host: CPU time, packets, overflows, throttling.
//!
//! Owns the formats of those files. Does not interpret the counts.

use std::collections::BTreeMap;

use crate::files::HostFiles;
use crate::limits::DEVICES;
use crate::processes::Process;
use crate::settings::statistics;

/// One reading of the counters.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// `/proc/net/netstat` and `/proc/net/snmp`: `TcpExt.ListenDrops`.
    network: BTreeMap<String, u64>,
    /// `/proc/vmstat`.
    memory: BTreeMap<String, u64>,
    /// Ticks of each CPU.
    pub(crate) cpus: Vec<Cpu>,
    /// `/proc/net/softnet_stat`, all CPUs: packets dropped, and how often the budget was used up.
    pub(crate) softnet: Option<(u64, u64)>,
    /// `cpu.stat` of the control group of the process: periods, and periods in which it was throttled.
    pub(crate) quota: Option<(u64, u64)>,
    /// CPU ticks of each program.
    pub(crate) programs: BTreeMap<u32, u64>,
    /// CPU ticks of each thread of the process.
    pub(crate) threads: BTreeMap<u32, u64>,
    /// How often each thread of the process has gone to sleep, which is how often it was woken.
    pub(crate) wake_ups: BTreeMap<u32, u64>,
    /// Driver statistics, by device and name.
    pub(crate) devices: BTreeMap<(String, String), u64>,
}

/// Ticks of a CPU (`proc_stat(5)`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cpu {
    /// All ticks.
    pub(crate) all: u64,
    /// Idle ticks, including those that wait for a disk.
    pub(crate) idle: u64,
    /// Ticks in which the kernel handled packets and timers (softirq).
    pub(crate) packets: u64,
    /// Ticks that the hypervisor took (steal).
    pub(crate) stolen: u64,
}

impl Counters {
    pub(crate) fn read(files: &HostFiles, process: Option<u32>) -> Self {
        let text = |path: &str| files.text(path).unwrap_or_default();
        let mut network = paired(&text("/proc/net/netstat"));
        network.extend(paired(&text("/proc/net/snmp")));
        Self {
            network,
            memory: named(&text("/proc/vmstat")),
            cpus: cpus(&text("/proc/stat")),
            softnet: softnet(&text("/proc/net/softnet_stat")),
            quota: quota(files, process),
            programs: Process::ticks(files),
            threads: process
                .map(|process| Process::thread_ticks(files, process))
                .unwrap_or_default(),
            wake_ups: process.map(|process| Process::wake_ups(files, process)).unwrap_or_default(),
            devices: devices(files),
        }
    }

    /// A network counter, such as `TcpExt.ListenDrops`.
    pub(crate) fn network(&self, name: &str) -> Option<u64> {
        self.network.get(name).copied()
    }

    /// A memory counter, such as `pswpin`.
    pub(crate) fn memory(&self, name: &str) -> Option<u64> {
        self.memory.get(name).copied()
    }
}

/// Parses lines in pairs: names, then numbers.
fn paired(text: &str) -> BTreeMap<String, u64> {
    let lines: Vec<&str> = text.lines().collect();
    let mut all = BTreeMap::new();
    for pair in lines.chunks_exact(2) {
        let mut numbers = pair[1].split_whitespace();
        let section = numbers.next().unwrap_or_default().trim_end_matches(':');
        for (name, number) in pair[0].split_whitespace().skip(1).zip(numbers) {
            if let Ok(number) = number.parse() {
                all.insert(format!("{section}.{name}"), number);
            }
        }
    }
    all
}

/// Parses lines of a name and a number.
pub(crate) fn named(text: &str) -> BTreeMap<String, u64> {
    let line = |line: &str| {
        let (name, number) = line.split_once(char::is_whitespace)?;
        Some((name.trim_end_matches(':').to_owned(), number.trim().parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

/// Driver statistics of hardware devices.
fn devices(files: &HostFiles) -> BTreeMap<(String, String), u64> {
    let mut all = BTreeMap::new();
    for device in files.names("/sys/class/net").into_iter().take(DEVICES) {
        if !files.has(&format!("/sys/class/net/{device}/device")) {
            continue;
        }
        for (name, count) in named(&files.text(&statistics(&device)).unwrap_or_default()) {
            all.insert((device.clone(), name), count);
        }
    }
    all
}

fn cpus(text: &str) -> Vec<Cpu> {
    let is_cpu = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
    let ticks = |line: &str| {
        // The guests' time is part of the user time already.
        let numbers: Vec<u64> =
            line.split_whitespace().skip(1).take(8).filter_map(|word| word.parse().ok()).collect();
        let at = |at: usize| numbers.get(at).copied().unwrap_or(0);
        Cpu { all: numbers.iter().sum(), idle: at(3) + at(4), packets: at(6), stolen: at(7) }
    };
    text.lines().filter(is_cpu).map(ticks).collect()
}

fn softnet(text: &str) -> Option<(u64, u64)> {
    let column = |line: &str, at: usize| {
        line.split_whitespace().nth(at).and_then(|word| u64::from_str_radix(word, 16).ok())
    };
    let sum = |at: usize| text.lines().filter_map(|line| column(line, at)).sum::<u64>();
    (!text.is_empty()).then(|| (sum(1), sum(2)))
}

/// The directory of a process's control group.
pub(crate) fn control_group(files: &HostFiles, process: Option<u32>) -> Option<String> {
    let of = process.map_or_else(|| "self".to_owned(), |process| process.to_string());
    let groups = files.text(&format!("/proc/{of}/cgroup"))?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(format!("/sys/fs/cgroup{}", path.trim_end_matches('/')))
}

fn quota(files: &HostFiles, process: Option<u32>) -> Option<(u64, u64)> {
    let group = control_group(files, process)?;
    let stat = named(&files.text(&format!("{group}/cpu.stat"))?);
    Some((stat.get("nr_periods").copied()?, stat.get("nr_throttled").copied()?))
}
