//! Receiving packets: on which CPUs, by whom, and how evenly devices spread them.

use std::collections::BTreeMap;

use crate::check::{Check, Gain, Risk};
use crate::finding::{Finding, Judged};
use crate::host::HostReading;
use crate::settings::place;

use super::network::hardware;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "net.softirq",
        title: "one CPU that receives everything",
        gain: Gain::of(25.0, 25.0, 5.0, 0.0),
        expected: "the part of the 38 % that comes from interrupts on separate CPUs",
        risk: Risk::Reversible,
        lost: "nothing",
        why: "The kernel handles packets on the CPU that was interrupted. If that is one CPU for all \
              queues, it is busy with packets while the others wait for it.",
        fix: "A queue per CPU (net.queues) with its interrupt there (net.irq); with a single queue, \
              rps_cpus (net.rps).",
        source: "docs.kernel.org, scaling; talawah.io, step 5",
        judge: one_cpu,
    },
    Check {
        id: "net.rss",
        title: "uneven load of the queues",
        gain: Gain::of(10.0, 12.0, 2.0, 0.0),
        expected: "the load of the busiest queue falls to the average",
        risk: Risk::Reversible,
        lost: "the current table",
        why: "A device spreads connections over its queues by a table. If the table is uneven, so is the \
              load of the CPUs, and a server with a thread per CPU is as slow as its busiest one.",
        fix: "ethtool -X DEVICE equal N; a few connections are never spread evenly.",
        source: "docs.kernel.org, scaling; AWS, ENA best practices",
        judge: uneven,
    },
    Check {
        id: "net.allowance",
        title: "packets limited by the cloud",
        gain: Gain::of(30.0, 30.0, 10.0, 0.0),
        expected: "removes a plateau that no setting of this machine can",
        risk: Risk::Interruption,
        lost: "nothing; only the cloud provider can raise it",
        why: "A cloud limits each machine type to a number of packets, bytes and tracked connections per \
              second. Packets beyond that are queued or dropped outside this machine.",
        fix: "A larger machine type; security groups whose rules need no connection tracking.",
        source: "AWS, ENA best practices; AWS, security group connection tracking",
        judge: allowance,
    },
    Check {
        id: "net.threaded",
        title: "kernel threads that receive packets",
        gain: Gain::of(3.0, 4.0, 0.0, 0.0),
        expected: "a context switch per batch of packets",
        risk: Risk::Host,
        lost: "priorities and separate CPUs for receiving",
        why: "With `threaded`, a scheduled thread handles packets instead of the interrupted CPU itself.",
        fix: "echo 0 > /sys/class/net/DEVICE/threaded",
        source: "docs.kernel.org, napi",
        judge: threaded,
    },
    Check {
        id: "net.rfs",
        title: "receive flow steering, half configured",
        gain: Gain::of(2.0, 2.0, 0.0, 0.0),
        expected: "the cost of the half; a server with bound threads needs none of it",
        risk: Risk::Reversible,
        lost: "nothing",
        why: "Receive flow steering needs the global table and one per queue. With only one of them the \
              kernel maintains a table that it never uses.",
        fix: "sysctl net.core.rps_sock_flow_entries=32768 and 32768 / queues in each rps_flow_cnt; or 0 in \
              all of them.",
        source: "docs.kernel.org, scaling",
        judge: half_set,
    },
    Check {
        id: "net.arfs",
        title: "receive flow steering without the device",
        gain: Gain::of(3.0, 3.0, 0.0, 0.0),
        expected: "the transfer from one CPU to another for each packet",
        risk: Risk::Reversible,
        lost: "filter entries of the device; one is written for each new flow",
        why: "With receive flow steering the kernel moves each packet to the CPU of its thread. A device \
              that can filter flows delivers it there directly.",
        fix: "ethtool -K DEVICE ntuple on",
        source: "docs.kernel.org, scaling",
        judge: by_kernel,
    },
    Check {
        id: "net.defer",
        title: "deferred receive processing",
        gain: Gain::of(0.0, 8.0, 0.0, 0.0),
        expected: "the time that packets wait",
        risk: Risk::Reversible,
        lost: "fewer interrupts under load",
        why: "The kernel holds a packet back for `gro_flush_timeout`, so that more may arrive. At low load \
              a request waits that long.",
        fix: "echo 20000 > /sys/class/net/DEVICE/gro_flush_timeout, in nanoseconds; 0 with \
              napi_defer_hard_irqs 0 waits for nothing.",
        source: "docs.kernel.org, napi",
        judge: kept_back,
    },
];

/// Share of a CPU's time in softirq from which it costs.
const BURDEN: f64 = 0.25;

fn one_cpu(host: &HostReading) -> Judged {
    if host.seconds.is_none() {
        return Finding::unknown("needs two readings of counters");
    }
    let (before, now) = (&host.before.cpus, &host.now.cpus);
    if now.len() < 2 || before.len() != now.len() {
        return Finding::not_here("there is one CPU");
    }
    let share = |(before, now): (&crate::counters::Cpu, &crate::counters::Cpu)| {
        let all = now.all.saturating_sub(before.all).max(1);
        now.packets.saturating_sub(before.packets) as f64 / all as f64
    };
    let shares: Vec<f64> = before.iter().zip(now).map(share).collect();
    let (at, most) = shares
        .iter()
        .enumerate()
        .fold((0, 0.0), |found, (at, share)| if *share > found.1 { (at, *share) } else { found });
    let others = (shares.iter().sum::<f64>() - most) / (shares.len() - 1) as f64;
    let text = format!(
        "CPU {at} spends {:.0} % of its time on packets, the others {:.0} %",
        most * 100.0,
        others * 100.0
    );
    match most > BURDEN && others * 3.0 < most {
        true => Finding::seen(text, most - others),
        false => Finding::good(text),
    }
}

/// Packets of a queue, relative to the mean of all queues, from which they are uneven.
const UNEVEN: f64 = 1.5;

/// Packets that are needed to judge how even the queues are.
const ENOUGH: u64 = 10_000;

fn uneven(host: &HostReading) -> Judged {
    let counts = moved(host, |name| {
        let is_received =
            name.contains("rx") && (name.ends_with("packets") || name.ends_with("_cnt"));
        (is_received && name.contains(|one: char| one.is_ascii_digit())).then_some(())
    });
    let mut judged = 0;
    for (device, counts) in counts {
        let all: u64 = counts.iter().map(|(_, count)| count).sum();
        if counts.len() < 2 || all < ENOUGH {
            continue;
        }
        judged += 1;
        let mean = all as f64 / counts.len() as f64;
        let Some((name, most)) = counts.iter().max_by_key(|(_, count)| *count) else { continue };
        let skew = *most as f64 / mean;
        if skew > UNEVEN {
            let text = format!(
                "{device}: {name} has {skew:.1} times as many packets as the mean of {} {}",
                counts.len(),
                host.span()
            );
            return Finding::seen(text, (skew - 1.0) / 2.0);
        }
    }
    match judged {
        0 => Finding::unknown("no device reports several queues, or too few packets came"),
        _ => Finding::good("spread evenly"),
    }
}

/// The increase of driver statistics with these names, by device.
fn moved(
    host: &HostReading,
    is_wanted: impl Fn(&str) -> Option<()>,
) -> BTreeMap<String, Vec<(String, u64)>> {
    let mut all: BTreeMap<String, Vec<(String, u64)>> = BTreeMap::new();
    for ((device, name), now) in &host.now.devices {
        if is_wanted(name).is_some() {
            let key = (device.clone(), name.clone());
            let before = host.before.devices.get(&key).copied().unwrap_or(0);
            let count = (name.clone(), now.saturating_sub(before));
            all.entry(device.clone()).or_default().push(count);
        }
    }
    all
}

fn allowance(host: &HostReading) -> Judged {
    let counts = moved(host, |name| name.ends_with("_allowance_exceeded").then_some(()));
    if counts.is_empty() {
        return Finding::not_here("no device reports allowances");
    }
    let exceeded = counts.into_values().flatten().find(|(_, count)| *count > 0);
    match exceeded {
        Some((name, count)) if host.seconds.is_some() => {
            Finding::seen(format!("{name}: {count} {}", host.span()), 1.0)
        }
        Some((name, count)) => Finding::good(format!("{name}: {count} {}", host.span())),
        None => Finding::good("none was exceeded"),
    }
}

fn threaded(host: &HostReading) -> Judged {
    hardware(host)?;
    let is_so = |device: &&String| {
        host.text(&format!("/sys/class/net/{device}/threaded")).is_some_and(|value| value != "0")
    };
    match host.hardware().iter().find(is_so) {
        Some(device) => Finding::set(format!("{device} is received by threads"), 1.0),
        None => Finding::good("none"),
    }
}

fn half_set(host: &HostReading) -> Judged {
    let Some(all) = host.sysctl("net.core.rps_sock_flow_entries") else {
        return Finding::not_here("the kernel has no such table");
    };
    let of_queues = has_flows_for_queues(host);
    match (all > 0, of_queues) {
        (true, false) => Finding::set(format!("{all} flows in all, and none for a queue"), 1.0),
        (false, true) => Finding::set("flows for a queue, and none in all", 1.0),
        (true, true) => Finding::good(format!("{all} flows")),
        (false, false) => Finding::good("off"),
    }
}

/// Whether a queue of a device has a flow table (RPS flow count).
fn has_flows_for_queues(host: &HostReading) -> bool {
    host.hardware().iter().any(|device| {
        let place = format!("/sys/class/net/{device}/queues");
        host.names(&place).iter().any(|queue| {
            host.number(&format!("{place}/{queue}/rps_flow_cnt")).is_some_and(|count| count > 0)
        })
    })
}

fn by_kernel(host: &HostReading) -> Judged {
    hardware(host)?;
    let is_on = host.sysctl("net.core.rps_sock_flow_entries").is_some_and(|all| all > 0);
    if !is_on || !has_flows_for_queues(host) {
        return Finding::good("packets are not steered to threads");
    }
    let can = |device: &&String| host.text(&place(device, "ntuple"));
    let devices = host.hardware();
    match devices.iter().find(|device| can(device).is_some_and(|value| value == "off")) {
        Some(device) => Finding::set(format!("{device} could do it, and ntuple is off"), 0.5),
        None => Finding::good("no device that could do it leaves it to the kernel"),
    }
}

/// Nanoseconds for which GRO may hold a packet back.
const KEPT: u64 = 200_000;

fn kept_back(host: &HostReading) -> Judged {
    hardware(host)?;
    for device in host.hardware() {
        let time = host.number(&format!("/sys/class/net/{device}/gro_flush_timeout"));
        if let Some(time) = time.filter(|time| *time > KEPT) {
            let text = format!("{device} keeps packets back for up to {} us", time / 1000);
            return Finding::set(text, (time as f64 / 1e6).max(0.3));
        }
    }
    Finding::good("none for long")
}
