//! The network stack: taps, BPF programs, queues, congestion control.

use crate::answers::{PROGRAMS, QUEUES};
use crate::check::{Check, Gain, Risk};
use crate::finding::{Finding, Judged};
use crate::host::HostReading;
use crate::processes::Process;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "stack.taps",
        title: "programs that capture all packets",
        gain: Gain::of(6.0, 5.0, 1.0, 0.0),
        expected: "6 % where packet_rcv had 3 % of the samples; more for one that stores them, such as \
                   tcpdump",
        risk: Risk::Interruption,
        lost: "what they do; with dhclient, the address when its lease ends",
        why: "Each packet is copied for each of them, in both directions.",
        fix: "Stop the program that is named; systemd-networkd contains a DHCP client without such a socket.",
        source: "talawah.io, step 7",
        judge: taps,
    },
    Check {
        id: "stack.xdp",
        title: "BPF programs at a device (XDP, tc)",
        gain: Gain::of(3.0, 3.0, 1.0, 0.0),
        expected: "the time of the program: measure it with velodrome profile",
        risk: Risk::Interruption,
        lost: "what the program does: filtering, load balancing, observation",
        why: "The program runs for each packet before anything else sees it.",
        fix: "Stop the agent that attached it (`bpftool net` names it); `ip link set dev DEVICE xdp off` or \
              `tc filter del` removes it.",
        source: "docs.kernel.org, AF_XDP",
        judge: program,
    },
    Check {
        id: "stack.qdisc",
        title: "the queueing discipline of devices",
        gain: Gain::of(2.0, 1.0, 0.0, 0.0),
        expected: "2 % on Linux 4.14; less since 4.16",
        risk: Risk::Interruption,
        lost: "fairness between connections and pacing; packets are dropped if the device is full",
        why: "fq_codel and fq take a lock for each packet; pfifo_fast has needed none since 4.16.",
        fix: "sysctl net.core.default_qdisc=pfifo_fast, then tc qdisc replace dev DEVICE root mq",
        source: "talawah.io, step 8",
        judge: qdisc,
    },
    Check {
        id: "stack.cc",
        title: "congestion control",
        gain: Gain::of(1.5, 1.0, 0.0, 0.0),
        expected: "a part of 4 % between machines in one room; it costs distant users",
        risk: Risk::Host,
        lost: "speed over long distances with packet loss",
        why: "bbr has a timer for each sending connection and paces packets. Within one room nothing is \
              lost, and reno does less work.",
        fix: "For one server alone: TCP_CONGESTION on its listener. For all: sysctl \
              net.ipv4.tcp_congestion_control=reno",
        source: "talawah.io, step 9",
        judge: congestion,
    },
    Check {
        id: "stack.popular",
        title: "popular settings that do harm",
        gain: Gain::of(5.0, 10.0, 5.0, 0.0),
        expected: "packets lost with them",
        risk: Risk::Reversible,
        lost: "nothing",
        why: "Without timestamps TCP cannot measure round trips during packet loss, and old segments may be \
              taken for new ones. Without selective acknowledgements one lost packet costs many. Without \
              SYN cookies a flood of handshakes fills the queue.",
        fix: "sysctl net.ipv4.tcp_timestamps=1 net.ipv4.tcp_sack=1 net.ipv4.tcp_syncookies=1",
        source: "Dropbox, optimizing web servers; docs.kernel.org, ip-sysctl",
        judge: popular,
    },
    Check {
        id: "stack.slow-start",
        title: "slow start after idle",
        gain: Gain::of(0.0, 8.0, 0.0, 0.0),
        expected: "round trips of large answers to distant clients",
        risk: Risk::Host,
        lost: "some caution if the network has changed meanwhile",
        why: "A connection that was idle for a moment starts to send as slowly as a new one.",
        fix: "sysctl net.ipv4.tcp_slow_start_after_idle=0",
        source: "tuned, network-throughput; Dropbox",
        judge: slow_start,
    },
];

fn taps(host: &HostReading) -> Judged {
    let table = Finding::known(host.text("/proc/net/packet"), "/proc/net/packet cannot be read")?;
    // The protocol is in the fourth column: 0003 means all protocols.
    let sockets: Vec<String> = table
        .lines()
        .skip(1)
        .filter(|line| line.split_whitespace().nth(3) == Some("0003"))
        .filter_map(|line| line.split_whitespace().last().map(|inode| format!("socket:[{inode}]")))
        .collect();
    if sockets.is_empty() {
        return Finding::good("none");
    }
    let owner = Process::with_descriptor(host, &sockets);
    let name = owner
        .and_then(|process| Some(format!("{} (process {process})", Process::name(host, process)?)));
    let name = name.unwrap_or_else(|| "a program that is not seen from here".to_owned());
    Finding::set(format!("{} sockets, one of {name}", sockets.len()), 1.0)
}

fn program(host: &HostReading) -> Judged {
    match host.text(PROGRAMS).as_deref() {
        None => Finding::unknown("the kernel was not asked, or does not say"),
        Some("") => Finding::good("none"),
        Some(devices) => Finding::set(format!("one at {}", devices.replace('\n', ", ")), 0.5),
    }
}

/// Whether a queueing discipline takes a lock for each packet.
fn is_locked(kind: &str) -> bool {
    matches!(kind, "fq_codel" | "fq" | "cake" | "sfq" | "htb" | "tbf" | "netem" | "prio")
}

fn qdisc(host: &HostReading) -> Judged {
    if let Some(queues) = host.text(QUEUES) {
        let devices = host.devices();
        let is_ours = |line: &&str| {
            let mut words = line.split(' ');
            let device = words.next().unwrap_or_default();
            devices.iter().any(|own| own == device) && words.next().is_some_and(is_locked)
        };
        let costly: Vec<&str> = queues.lines().filter(is_ours).collect();
        return match &*costly {
            [] => Finding::good("no queue with a lock for each packet"),
            costly => Finding::set(format!("in front of devices: {}", costly.join(", ")), 1.0),
        };
    }
    match host.text("/proc/sys/net/core/default_qdisc") {
        None => Finding::unknown("net.core.default_qdisc cannot be read here"),
        Some(kind) if is_locked(&kind) => Finding::set(format!("new devices get {kind}"), 0.5),
        Some(kind) => Finding::good(kind),
    }
}

fn congestion(host: &HostReading) -> Judged {
    match host.text("/proc/sys/net/ipv4/tcp_congestion_control") {
        None => Finding::unknown("net.ipv4.tcp_congestion_control cannot be read"),
        Some(kind) if kind.starts_with("bbr") => of_pacing(host, &kind),
        Some(kind) => Finding::good(kind),
    }
}

/// Round trip of clients in one room, in microseconds; and how many say something.
const ROOM_US: u64 = 500;
const CLIENTS: usize = 8;

/// Segments sent per second from which their timers cost.
const PACED: f64 = 20_000.0;

/// Pacing costs a server whose clients are near, and that sends very many segments.
fn of_pacing(host: &HostReading, kind: &str) -> Judged {
    let clients = host.now.sockets.iter().flatten().filter(|one| !one.is_near() && one.state == 1);
    let round_trips: Vec<u64> = clients.map(|one| one.number("rtt_us")).collect();
    let near = round_trips.iter().filter(|time| **time < ROOM_US).count();
    let sent = host.moved(|counters| counters.network("Tcp.OutSegs")).unwrap_or(0) as f64;
    let rate = sent / host.seconds.unwrap_or(f64::INFINITY);
    if near < CLIENTS || near * 2 < round_trips.len() || rate < PACED {
        return Finding::good(kind);
    }
    Finding::set(format!("{kind}; {near} of {} clients are in this room", round_trips.len()), 1.0)
}

fn popular(host: &HostReading) -> Judged {
    let names = ["net.ipv4.tcp_timestamps", "net.ipv4.tcp_sack", "net.ipv4.tcp_syncookies"];
    let off: Vec<&str> = names.into_iter().filter(|name| host.sysctl(name) == Some(0)).collect();
    if !off.is_empty() {
        return Finding::set(format!("{} is 0", off.join(", ")), 1.0);
    }
    match names.iter().any(|name| host.sysctl(name).is_some()) {
        true => Finding::good("none"),
        false => Finding::unknown("the sysctls of TCP cannot be read"),
    }
}

fn slow_start(host: &HostReading) -> Judged {
    match host.sysctl("net.ipv4.tcp_slow_start_after_idle") {
        None => Finding::unknown("net.ipv4.tcp_slow_start_after_idle cannot be read"),
        Some(0) => Finding::good("off"),
        Some(_) => Finding::set("net.ipv4.tcp_slow_start_after_idle is 1", 0.3),
    }
}
