//! The counters of a host: CPU time, packets, overflows, throttling.
//!
//! Owns the formats of those files. Does not interpret the counts.

use std::collections::{BTreeMap, BTreeSet};

use crate::datagrams::{self, DatagramSocket};
use crate::files::HostFiles;
use crate::group::{Group, GroupCounts, groups_of, waited};
use crate::limits::DEVICES;
use crate::lines::named;
use crate::processes::{Process, ProcessStat};
use crate::queues::{QUEUE_COUNTS, QueueCounts};
use crate::server::{ServerThread, members, threads};
use crate::settings::statistics;
use crate::tcp::{self, TcpSocket};

/// One reading of the counters.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// `/proc/net/netstat` and `/proc/net/snmp`: `TcpExt.ListenDrops`.
    network: BTreeMap<String, u64>,
    /// `/proc/vmstat`.
    memory: BTreeMap<String, u64>,
    /// Ticks of each CPU.
    pub(crate) cpus: Vec<Cpu>,
    /// Programs that were started (`/proc/stat`).
    pub(crate) started: Option<u64>,
    /// Interrupts of the timers and the counters of all CPUs (`/proc/interrupts`, LOC and NMI).
    pub(crate) ticking: Option<u64>,
    /// `/proc/net/softnet_stat`, all CPUs: packets dropped, and how often the budget was used up.
    pub(crate) softnet: Option<(u64, u64)>,
    /// Microseconds in which something waited, by resource (`/proc/pressure`).
    pub(crate) pressure: BTreeMap<String, u64>,
    /// All programs.
    pub(crate) programs: BTreeMap<u32, ProcessStat>,
    /// The programs of the server.
    pub(crate) members: BTreeSet<u32>,
    /// The threads of the server.
    pub(crate) threads: BTreeMap<u32, ServerThread>,
    /// Its control groups and those above them, by directory.
    pub(crate) groups: BTreeMap<String, GroupCounts>,
    /// The use of its programs.
    pub(crate) uses: Uses,
    /// Its TCP sockets; `None` if none can be seen.
    pub(crate) sockets: Option<Vec<TcpSocket>>,
    /// Its UDP sockets, by inode; `None` if they cannot be seen.
    pub(crate) datagrams: Option<BTreeMap<u64, DatagramSocket>>,
    /// The queues in front of devices.
    pub(crate) queues: BTreeMap<String, QueueCounts>,
    /// Packets of each device, received and sent.
    pub(crate) packets: BTreeMap<String, u64>,
    /// What each device has sent, by device and name (`tx_packets`, `tx_bytes`).
    pub(crate) sent: BTreeMap<(String, &'static str), u64>,
    /// Driver statistics, by device and name.
    pub(crate) devices: BTreeMap<(String, String), u64>,
}

/// The use of the server's programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Uses {
    /// Memory of all of them together, in KiB; `None` if it cannot be read.
    pub(crate) memory_kib: Option<u64>,
    /// The most mappings that one of them has; `None` if they may not be read.
    pub(crate) mappings: Option<u64>,
    /// Read and write calls of all of them; `None` if they may not be read.
    pub(crate) calls: Option<u64>,
    /// Bytes that were read from disks for all of them; `None` if they may not be read.
    pub(crate) read_bytes: Option<u64>,
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
    /// Ticks in which the kernel handled interrupts of devices.
    pub(crate) interrupts: u64,
    /// Ticks that the hypervisor took (steal).
    pub(crate) stolen: u64,
}

impl Counters {
    pub(crate) fn read(
        files: &HostFiles,
        process: Option<u32>,
        programs: BTreeMap<u32, ProcessStat>,
    ) -> Self {
        let text = |path: &str| files.text(path).unwrap_or_default();
        let mut network = paired(&text("/proc/net/netstat"));
        network.extend(paired(&text("/proc/net/snmp")));
        let stat = text("/proc/stat");
        let members = process.map(|process| members(&programs, process)).unwrap_or_default();
        let sockets = process.and_then(|process| files.text(&tcp::place(process)));
        Self {
            network,
            memory: named(&text("/proc/vmstat")),
            cpus: cpus(&stat),
            started: named(&stat).get("processes").copied(),
            ticking: files.text("/proc/interrupts").map(|text| ticking(&text)),
            softnet: softnet(&text("/proc/net/softnet_stat")),
            pressure: pressure(files),
            threads: threads(files, &members),
            groups: groups(files, &members),
            uses: Uses::read(files, &members),
            sockets: sockets.map(|text| TcpSocket::read(&text)).filter(|all| !all.is_empty()),
            datagrams: datagrams::read(files, &members),
            queues: QueueCounts::read(&text(QUEUE_COUNTS)),
            packets: packets(files),
            sent: sent(files),
            devices: devices(files),
            programs,
            members,
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
        Cpu {
            all: numbers.iter().sum(),
            idle: at(3) + at(4),
            interrupts: at(5),
            packets: at(6),
            stolen: at(7),
        }
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

fn ticking(text: &str) -> u64 {
    let is_it = |line: &&str| {
        let name = line.trim_start();
        name.starts_with("LOC:") || name.starts_with("NMI:")
    };
    let sum = |line: &str| -> u64 {
        line.split_whitespace().skip(1).map_while(|word| word.parse::<u64>().ok()).sum()
    };
    text.lines().filter(is_it).map(sum).sum()
}

fn pressure(files: &HostFiles) -> BTreeMap<String, u64> {
    let of = |name: &str| {
        let text = files.text(&format!("/proc/pressure/{name}"))?;
        Some((name.to_owned(), waited(&text)?))
    };
    ["cpu", "memory", "io"].into_iter().filter_map(of).collect()
}

fn groups(files: &HostFiles, members: &BTreeSet<u32>) -> BTreeMap<String, GroupCounts> {
    let all = members.iter().filter_map(|process| groups_of(files, *process).ok()).flatten();
    let places: BTreeMap<String, Group> = all.map(|group| (group.place.clone(), group)).collect();
    places.into_iter().map(|(place, group)| (place, group.counts(files))).collect()
}

fn packets(files: &HostFiles) -> BTreeMap<String, u64> {
    let of = |device: String| {
        let place = format!("/sys/class/net/{device}/statistics");
        let count = |name: &str| files.number(&format!("{place}/{name}"));
        Some((device, count("rx_packets")? + count("tx_packets")?))
    };
    files.names("/sys/class/net").into_iter().take(DEVICES).filter_map(of).collect()
}

fn sent(files: &HostFiles) -> BTreeMap<(String, &'static str), u64> {
    let devices = files.names("/sys/class/net").into_iter().take(DEVICES);
    let all =
        devices.flat_map(|device| ["tx_packets", "tx_bytes"].map(|name| (device.clone(), name)));
    let count = |(device, name): (String, &'static str)| {
        let count = files.number(&format!("/sys/class/net/{device}/statistics/{name}"))?;
        Some(((device, name), count))
    };
    all.filter_map(count).collect()
}

impl Uses {
    fn read(files: &HostFiles, members: &BTreeSet<u32>) -> Self {
        let memory = |process: &u32| {
            let line = Process::status(files, *process, "VmRSS")?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        let counts = |process: &u32| Some(named(&files.text(&format!("/proc/{process}/io"))?));
        let counts: Vec<BTreeMap<String, u64>> = members.iter().filter_map(counts).collect();
        let calls = |lines: &BTreeMap<String, u64>| Some(lines.get("syscr")? + lines.get("syscw")?);
        let bytes = counts.iter().filter_map(|lines| lines.get("read_bytes").copied());
        let sum = |numbers: Vec<u64>| (!numbers.is_empty()).then(|| numbers.iter().sum());
        let mappings = |process: &u32| files.lines_of(&format!("/proc/{process}/maps"));
        Self {
            memory_kib: sum(members.iter().filter_map(memory).collect()),
            mappings: members.iter().filter_map(mappings).max(),
            calls: sum(counts.iter().filter_map(calls).collect()),
            read_bytes: sum(bytes.collect()),
        }
    }
}
