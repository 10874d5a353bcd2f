//! The network stack: filters, taps, queues, congestion control.

use crate::answers::{HOOKS, NO_HOOKS, PROGRAMS, QUEUES, TABLES};
use crate::check::{Check, Gain, Risk};
use crate::files::Look;
use crate::finding::Finding;
use crate::host::HostReading;
use crate::processes::Process;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "stack.netfilter",
        title: "packet filters",
        gain: Gain::of(22.0, 15.0, 5.0, 0.0),
        expected: "22 % where nf_hook_slow had 18 % of the samples; nftables costs less than iptables",
        risk: Risk::Security,
        lost: "the firewall and address translation; you may lock yourself out",
        why: "Each packet passes each table of rules in the kernel, even if the tables are empty: a loaded \
              module is enough.",
        fix: "Save the rules (`iptables-save`), stop the program that creates them (firewalld, ufw, \
              docker), then `modprobe -r iptable_filter iptable_nat ip_tables`; or use the same rules in \
              nftables, or in the firewall of the cloud.",
        source: "talawah.io, step 4",
        judge: netfilter,
    },
    Check {
        id: "stack.conntrack-size",
        title: "the size of the connection tracking table",
        gain: Gain::of(5.0, 10.0, 60.0, 0.0),
        expected: "no packets dropped",
        risk: Risk::Host,
        lost: "about 300 bytes per entry",
        why: "When the table is full, packets of new connections are dropped, and the log says \
              `nf_conntrack: table full`.",
        fix: "sysctl net.netfilter.nf_conntrack_max=1048576, and a quarter of it in \
              /sys/module/nf_conntrack/parameters/hashsize",
        source: "docs.kernel.org, nf_conntrack-sysctl",
        judge: conntrack_size,
    },
    Check {
        id: "stack.notrack",
        title: "connection tracking",
        gain: Gain::of(8.0, 6.0, 30.0, 0.0),
        expected: "ten times on one small machine with a firewall; Cloudflare does not track connections \
                   from outside",
        risk: Risk::Security,
        lost: "rules that depend on the state of a connection",
        why: "Each packet is looked up in a table. Each new connection is inserted under a lock and takes \
              memory until it expires.",
        fix: "nft add rule … prerouting tcp dport 80 notrack, and the same for output with sport 80.",
        source: "Cloudflare, conntrack tales; jwendel.net 2022",
        judge: tracked,
    },
    Check {
        id: "stack.docker",
        title: "rules and bridges of docker",
        gain: Gain::of(15.0, 12.0, 5.0, 5.0),
        expected: "20 % less with docker merely installed (Linux 5.11); 118,000 requests per second through \
                   its bridge against 261,000",
        risk: Risk::Security,
        lost: "container networks",
        why: "dockerd creates rules and bridges that every packet of the machine passes, whether containers \
              run or not.",
        fix: "dockerd --iptables=false --bridge=none, and --network=host for the server's container.",
        source: "TechEmpower issue 6486; moby issues 7857, 11911",
        judge: docker,
    },
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

fn netfilter(host: &HostReading) -> Finding {
    match host.text(HOOKS) {
        Some(hooks) => of_hooks(&hooks),
        None => of_tables(host),
    }
}

/// Functions that handle every packet, whatever their rules are.
const FILTERS: [(&str, f64); 4] =
    [("ipt_do_table", 1.0), ("ip6t_do_table", 1.0), ("nft_do_chain", 0.4), ("iptable", 1.0)];

fn of_hooks(hooks: &str) -> Finding {
    let mut names: Vec<&str> = hooks
        .lines()
        .filter_map(|line| line.split(' ').nth(3))
        .filter(|name| !name.is_empty())
        .collect();
    names.sort_unstable();
    names.dedup();
    let share =
        |name: &&str| FILTERS.iter().find(|(part, _)| name.contains(part)).map(|(_, share)| *share);
    let most = names.iter().filter_map(share).fold(0.0, f64::max);
    match &*names {
        [] => Finding::good("no function on the way of packets"),
        names if most > 0.0 => {
            Finding::set(format!("on the way of packets: {}", names.join(", ")), most)
        }
        names => Finding::good(format!("no filter; on the way of packets: {}", names.join(", "))),
    }
}

fn of_tables(host: &HostReading) -> Finding {
    let tables = match host.look("/proc/net/ip_tables_names") {
        Look::Text(text) => text,
        Look::Denied => {
            return Finding::unknown("/proc/net/ip_tables_names may not be read; try as root");
        }
        Look::Absent => String::new(),
    };
    let modules = host.text("/proc/modules").unwrap_or_default();
    let has = |name: &str| modules.lines().any(|line| line.split(' ').next() == Some(name));
    if !tables.is_empty() {
        let names: Vec<&str> = tables.lines().collect();
        return Finding::set(format!("tables of iptables: {}", names.join(", ")), 1.0);
    }
    if has("nf_tables") && modules.lines().any(|line| line.starts_with("nft_")) {
        return Finding::set("rules of nftables are loaded", 0.4);
    }
    match (host.text(TABLES).as_deref(), host.text(NO_HOOKS)) {
        (Some(""), _) | (None, None) => Finding::good("no tables of iptables or nftables"),
        (Some(tables), _) => {
            Finding::set(format!("tables of nftables: {}", tables.replace('\n', ", ")), 0.4)
        }
        (None, Some(why)) => {
            Finding::unknown(format!("no tables of iptables; nftables cannot be seen: {why}"))
        }
    }
}

fn conntrack_size(host: &HostReading) -> Finding {
    let count = host.sysctl("net.netfilter.nf_conntrack_count");
    let (Some(count), Some(most)) = (count, host.sysctl("net.netfilter.nf_conntrack_max")) else {
        return Finding::not_here("connections are not tracked");
    };
    let share = count as f64 / most.max(1) as f64;
    let text = format!("{count} of {most}");
    if share > 0.8 { Finding::seen(text, share) } else { Finding::good(text) }
}

/// Tracked connections from which tracking does more than the kernel's own traffic.
const TRACKED: u64 = 100;

fn tracked(host: &HostReading) -> Finding {
    match host.sysctl("net.netfilter.nf_conntrack_count") {
        None => Finding::not_here("connections are not tracked"),
        Some(count) if count > TRACKED => {
            Finding::set(format!("{count} connections are tracked"), 0.8)
        }
        Some(count) => Finding::good(format!("{count} connections are tracked")),
    }
}

fn docker(host: &HostReading) -> Finding {
    if let Some(process) = Process::named(host, "dockerd") {
        return Finding::set(format!("dockerd runs (process {process})"), 1.0);
    }
    let devices = host.names("/sys/class/net");
    let bridge = devices.iter().find(|name| host.has(&format!("/sys/class/net/{name}/bridge")));
    match bridge {
        Some(name) => Finding::set(format!("{name} is a bridge"), 0.4),
        None => Finding::good("no dockerd, and no bridge"),
    }
}

fn taps(host: &HostReading) -> Finding {
    let Some(table) = host.text("/proc/net/packet") else {
        return Finding::unknown("/proc/net/packet cannot be read");
    };
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
    let owner = Process::all(host).into_iter().find(|process| {
        let place = format!("/proc/{process}/fd");
        let is_it = |name: &String| {
            host.link(&format!("{place}/{name}")).is_some_and(|to| sockets.contains(&to))
        };
        host.names(&place).iter().any(is_it)
    });
    let name = owner
        .and_then(|process| Some(format!("{} (process {process})", Process::name(host, process)?)));
    let name = name.unwrap_or_else(|| "a program that is not seen from here".to_owned());
    Finding::set(format!("{} sockets, one of {name}", sockets.len()), 1.0)
}

fn program(host: &HostReading) -> Finding {
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

fn qdisc(host: &HostReading) -> Finding {
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

fn congestion(host: &HostReading) -> Finding {
    match host.text("/proc/sys/net/ipv4/tcp_congestion_control") {
        None => Finding::unknown("net.ipv4.tcp_congestion_control cannot be read"),
        Some(kind) if kind.starts_with("bbr") => Finding::set(kind, 1.0),
        Some(kind) => Finding::good(kind),
    }
}

fn popular(host: &HostReading) -> Finding {
    let names = ["net.ipv4.tcp_timestamps", "net.ipv4.tcp_sack", "net.ipv4.tcp_syncookies"];
    let off: Vec<&str> = names.into_iter().filter(|name| host.sysctl(name) == Some(0)).collect();
    match &*off {
        [] => Finding::good("none"),
        off => Finding::set(format!("{} is 0", off.join(", ")), 1.0),
    }
}

fn slow_start(host: &HostReading) -> Finding {
    match host.sysctl("net.ipv4.tcp_slow_start_after_idle") {
        None => Finding::unknown("net.ipv4.tcp_slow_start_after_idle cannot be read"),
        Some(0) => Finding::good("off"),
        Some(_) => Finding::set("net.ipv4.tcp_slow_start_after_idle is 1", 0.3),
    }
}
