//! Settings of network devices: queues, rings, interrupt moderation, offloads.

use crate::changes::{TOGETHER, has_own_times};
use crate::check::{Check, Gain, Risk};
use crate::finding::{Finding, Judged};
use crate::host::HostReading;
use crate::settings::place;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "net.queues",
        title: "unused queues of a device",
        gain: Gain::of(15.0, 10.0, 4.0, 0.0),
        expected: "the basis of perfect locality, 38 %",
        risk: Risk::Interruption,
        lost: "traffic for a moment; interrupts get new numbers",
        why: "Each queue has its own interrupt and therefore its own CPU. With fewer queues than CPUs, some \
              CPUs receive for others.",
        fix: "ethtool -L DEVICE combined N, then set interrupts and xps_cpus again.",
        source: "AWS, ENA best practices; Seastar, perftune.py",
        judge: channels,
    },
    Check {
        id: "net.coalesce",
        title: "an interrupt for each packet",
        gain: Gain::of(12.0, 0.0, 2.0, 4.0),
        expected: "a part of 28 %, together with polling",
        risk: Risk::Reversible,
        lost: "some microseconds for the first packet after a pause",
        why: "A device that waits a little interrupts once for several packets. Adaptive moderation waits \
              only under load.",
        fix: "ethtool -C DEVICE adaptive-rx on; if not supported, ethtool -C DEVICE rx-usecs 64, and \
              measure 16 to 256.",
        source: "talawah.io, steps 6 and 9; AWS, ENA best practices",
        judge: coalescing,
    },
    Check {
        id: "net.rings",
        title: "ring sizes of the device",
        gain: Gain::of(3.0, 15.0, 5.0, 0.0),
        expected: "no packets dropped; a larger ring has more cache misses, so only if packets are missed",
        risk: Risk::Interruption,
        lost: "traffic for a moment",
        why: "Packets that arrive while the ring is full are lost, and are sent again after a timeout.",
        fix: "ethtool -G DEVICE rx N",
        source: "AWS, ENA best practices",
        judge: rings,
    },
    Check {
        id: "net.gro",
        title: "generic receive offload",
        gain: Gain::of(2.0, 0.0, 0.0, 0.0),
        expected: "a part of 4 %, if requests are single packets",
        risk: Risk::Reversible,
        lost: "speed of large uploads",
        why: "The kernel compares each packet with earlier ones, which is wasted if requests are small.",
        fix: "ethtool -K DEVICE gro off",
        source: "talawah.io, step 9",
        judge: offload,
    },
    Check {
        id: "net.lro",
        title: "large receive offload",
        gain: Gain::of(0.5, 1.0, 0.0, 0.0),
        expected: "little; it breaks forwarding to other machines",
        risk: Risk::Reversible,
        lost: "speed of large uploads",
        why: "The device delays packets to merge them. Merged packets cannot be forwarded in their original \
              form.",
        fix: "ethtool -K DEVICE lro off",
        source: "docs.kernel.org, netdev-features",
        judge: large,
    },
];

/// The values of a setting, for hardware devices: name and value.
fn told(host: &HostReading, name: &str) -> Vec<(String, String)> {
    let value = |device: String| {
        let value = host.text(&place(&device, name))?;
        Some((device, value))
    };
    host.hardware().into_iter().filter_map(value).collect()
}

/// The same as numbers: the value and its maximum.
fn numbers(host: &HostReading, name: &str) -> Vec<(String, u64, u64)> {
    let most = format!("{name}-most");
    let number = |(device, value): (String, String)| {
        let value = value.parse().ok()?;
        let most = host.number(&place(&device, &most)).unwrap_or(value);
        Some((device, value, most))
    };
    told(host, name).into_iter().filter_map(number).collect()
}

fn not_told() -> Judged {
    Finding::unknown("no hardware device reports it")
}

fn channels(host: &HostReading) -> Judged {
    let told = numbers(host, "queues");
    let cpus = host.now.cpus.len().max(1) as u64;
    for (device, now, most) in &told {
        let possible = *most.min(&cpus);
        if *now < possible {
            let text = format!("{device} uses {now} of {most} queues, for {cpus} CPUs");
            return Finding::set(text, (possible - now) as f64 / possible as f64);
        }
    }
    match told.first() {
        None => not_told(),
        Some((device, now, most)) => Finding::good(format!("{device} uses {now} of {most} queues")),
    }
}

fn coalescing(host: &HostReading) -> Judged {
    let told = numbers(host, "rx-usecs");
    for (device, time, _) in &told {
        let adapts = host.text(&place(device, "adaptive-rx")).is_some_and(|value| value == "on")
            || has_own_times(host, device);
        if !adapts && *time < TOGETHER {
            return Finding::set(
                format!("{device}: rx-usecs is {time}, and it does not adapt"),
                0.5,
            );
        }
    }
    if told.is_empty() { not_told() } else { Finding::good("devices wait for several packets") }
}

fn rings(host: &HostReading) -> Judged {
    let told = numbers(host, "rx-ring");
    for (device, now, most) in &told {
        let missed = ["rx_missed_errors", "rx_fifo_errors", "rx_over_errors"].into_iter();
        let missed: u64 = missed
            .filter_map(|name| host.number(&format!("/sys/class/net/{device}/statistics/{name}")))
            .sum();
        if missed > 0 && now < most {
            let text = format!(
                "{device} has missed {missed} packets; its ring has {now} of {most} places"
            );
            return Finding::set(text, 1.0);
        }
    }
    if told.is_empty() { not_told() } else { Finding::good("no packet was missed") }
}

fn offload(host: &HostReading) -> Judged {
    switched_on(host, "gro")
}

fn large(host: &HostReading) -> Judged {
    switched_on(host, "lro")
}

/// The finding for a switch that may cost if it is on.
fn switched_on(host: &HostReading, name: &str) -> Judged {
    let told = told(host, name);
    let devices: Vec<&str> =
        told.iter().filter(|(_, value)| value == "on").map(|(device, _)| &**device).collect();
    match told.first() {
        Some(_) if !devices.is_empty() => {
            Finding::set(format!("on for {}", devices.join(", ")), 0.5)
        }
        Some((_, value)) => Finding::good(value.clone()),
        None => not_told(),
    }
}
