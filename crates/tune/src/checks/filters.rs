//! Packet filters: their rules, connection tracking, and who makes them.

use crate::answers::{HOOKS, NO_HOOKS, TABLES};
use crate::check::{Check, Gain, Risk};
use crate::cpu_wait::CpuWait;
use crate::files::Look;
use crate::finding::{Evidence, Finding, Judged, Percent, Price};
use crate::host::HostReading;
use crate::processes::Process;
use crate::rules::{CHAINS, Chain};

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
];

fn netfilter(host: &HostReading) -> Judged {
    let found = match host.text(HOOKS) {
        Some(hooks) => of_hooks(&hooks),
        None => of_tables(host),
    };
    match (found, host.text(CHAINS)) {
        (Ok(Finding::Costs(_, text, _)), Some(chains)) if !text.contains("iptable") => {
            of_rules(host, &text, &Chain::read(&chains))
        }
        (found, _) => found,
    }
}

/// Seconds that a packet takes for a chain, and for each rule of it.
const CHAIN: (f64, f64) = (20e-9, 150e-9);
const RULE: (f64, f64) = (8e-9, 35e-9);

/// Share of the time, in percent, from which a filter is more than a setting.
const WALKED: f64 = 3.0;

/// The price of rules by their number and that of packets.
fn of_rules(host: &HostReading, text: &str, chains: &[Chain]) -> Judged {
    let count = |name: &str| host.moved(|counters| counters.network(name)).unwrap_or(0) as f64;
    let (received, sent, forwarded) =
        (count("Ip.InReceives"), count("Ip.OutRequests"), count("Ip.ForwDatagrams"));
    let packets = |chain: &Chain| match &*chain.hook {
        "prerouting" | "ingress" => received,
        "input" => received - forwarded,
        "forward" => forwarded,
        "output" => sent,
        "postrouting" => sent + forwarded,
        _ => 0.0,
    };
    let rules: u64 = chains.iter().map(|chain| chain.rules).sum();
    let hooked: u64 = chains.iter().filter(|one| one.hook != "-").map(|one| one.rules).sum();
    let text = format!("{text}; {rules} rules in {} chains", chains.len());
    let Some(seconds) = host.seconds else { return Finding::set(text, 0.1) };
    // Whatever the chains lead to may be walked as well.
    let further = if hooked > 0 { rules as f64 / hooked as f64 } else { rules as f64 };
    let time = |chain_time: f64, rule_time: f64, further: f64| -> f64 {
        let of = |chain: &Chain| {
            packets(chain) * (chain_time + chain.rules as f64 * rule_time * further)
        };
        chains.iter().map(of).sum()
    };
    let cpus = CpuWait::of(host).map_or(host.now.cpus.len(), |wait| wait.busy.len()).max(1) as f64;
    let percent = |time: f64| (100.0 * time / seconds / cpus).min(95.0);
    let price = Percent::between(
        percent(time(CHAIN.0, RULE.0, 1.0)),
        percent(time(CHAIN.1, RULE.1, further.clamp(1.0, 10.0))),
    );
    let text = format!("{text}, walked by {:.0} packets a second", (received + sent) / seconds);
    if price.high < WALKED {
        return Ok(Finding::Costs(Evidence::Set, text, Price::Scaled(price)));
    }
    Finding::scaled(text, price)
}

/// Functions that handle every packet, whatever their rules are.
const FILTERS: [(&str, f64); 4] =
    [("ipt_do_table", 1.0), ("ip6t_do_table", 1.0), ("nft_do_chain", 0.4), ("iptable", 1.0)];

fn of_hooks(hooks: &str) -> Judged {
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

fn of_tables(host: &HostReading) -> Judged {
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
        (Some(""), _) => Finding::good("no tables of iptables or nftables"),
        (None, None) => {
            Finding::unknown("neither the tables nor the modules of filters can be read")
        }
        (Some(tables), _) => {
            Finding::set(format!("tables of nftables: {}", tables.replace('\n', ", ")), 0.4)
        }
        (None, Some(why)) => {
            Finding::unknown(format!("no tables of iptables; nftables cannot be seen: {why}"))
        }
    }
}

fn conntrack_size(host: &HostReading) -> Judged {
    let count = host.sysctl("net.netfilter.nf_conntrack_count");
    let (Some(count), Some(most)) = (count, host.sysctl("net.netfilter.nf_conntrack_max")) else {
        return Finding::not_here("connections are not tracked");
    };
    let share = count as f64 / most.max(1) as f64;
    let text = format!("{count} of {most}");
    // New connections are dropped, and their clients try again after a second.
    match share {
        share if share > 0.98 => Finding::scaled(text, Percent::between(50.0, 99.0)),
        share if share > 0.8 => Finding::scaled(text, Percent::between(0.0, 50.0)),
        _ => Finding::good(text),
    }
}

/// Tracked connections from which tracking does more than the kernel's own traffic.
const TRACKED: u64 = 100;

fn tracked(host: &HostReading) -> Judged {
    match host.sysctl("net.netfilter.nf_conntrack_count") {
        None => Finding::not_here("connections are not tracked"),
        Some(count) if count > TRACKED => {
            Finding::set(format!("{count} connections are tracked"), 0.8)
        }
        Some(count) => Finding::good(format!("{count} connections are tracked")),
    }
}

fn docker(host: &HostReading) -> Judged {
    if let Some(process) = Process::named(host, "dockerd") {
        return Finding::set(format!("dockerd runs (process {process})"), 1.0);
    }
    let devices = host.names("/sys/class/net");
    if devices.is_empty() {
        return Finding::unknown("the devices cannot be read");
    }
    let bridge = devices.iter().find(|name| host.has(&format!("/sys/class/net/{name}/bridge")));
    match bridge {
        Some(name) => Finding::set(format!("{name} is a bridge"), 0.4),
        None => Finding::good("no dockerd, and no bridge"),
    }
}
