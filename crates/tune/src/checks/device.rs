//! What network devices are set to: queues, rings, interrupts put together, segments put together.

use crate::answers::device_file;
use crate::check::{Check, Gain, Risk};
use crate::finding::Finding;
use crate::host::Host;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "net.queues",
        title: "queues of a device that are not used",
        gain: Gain::of(15.0, 10.0, 4.0, 0.0),
        expected: "what perfect locality is built on, 38 %",
        risk: Risk::Interruption,
        lost: "traffic for a moment; interrupts have other numbers afterwards",
        why: "Each queue has its interrupt, and with it a CPU. With fewer queues than CPUs some receive for others.",
        mend: "ethtool -L DEVICE combined N, then set the interrupts and xps_cpus anew.",
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
        why: "A device that waits a little interrupts once for several packets. Adaptive moderation waits under load alone.",
        mend: "ethtool -C DEVICE adaptive-rx on; where it cannot, ethtool -C DEVICE rx-usecs 64, and measure 16 to 256.",
        source: "talawah.io, steps 6 and 9; AWS, ENA best practices",
        judge: coalescing,
    },
    Check {
        id: "net.rings",
        title: "room for packets in the device",
        gain: Gain::of(3.0, 15.0, 5.0, 0.0),
        expected: "no packets dropped; a larger ring has more cache misses, so only where packets are missed",
        risk: Risk::Interruption,
        lost: "traffic for a moment",
        why: "Packets that come while the ring is full are gone, and are sent again after a time-out.",
        mend: "ethtool -G DEVICE rx N",
        source: "AWS, ENA best practices",
        judge: rings,
    },
    Check {
        id: "net.gro",
        title: "segments that the kernel puts together",
        gain: Gain::of(2.0, 0.0, 0.0, 0.0),
        expected: "a part of 4 %, where a request is one packet",
        risk: Risk::Reversible,
        lost: "speed of large uploads",
        why: "The kernel holds each packet against those before it, which is in vain where requests are small.",
        mend: "ethtool -K DEVICE gro off",
        source: "talawah.io, step 9",
        judge: offload,
    },
    Check {
        id: "net.lro",
        title: "segments that the device puts together",
        gain: Gain::of(0.5, 1.0, 0.0, 0.0),
        expected: "little; it breaks what is handed on to other machines",
        risk: Risk::Reversible,
        lost: "speed of large uploads",
        why: "The device holds packets back to join them. What it has joined cannot be handed on as it was.",
        mend: "ethtool -K DEVICE lro off",
        source: "docs.kernel.org, netdev-features",
        judge: large,
    },
];

/// What devices with hardware behind them have answered: name, and the words behind a line's first one.
fn answered(host: &Host, name: &str) -> Vec<(String, Vec<String>)> {
    let mut devices = host.devices();
    devices.retain(|device| host.has(&format!("/sys/class/net/{device}/device")));
    let answer = |device: String| {
        let text = host.text(&device_file(&device))?;
        let words = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        Some((device, words.split(' ').map(str::to_owned).collect()))
    };
    devices.into_iter().filter_map(answer).collect()
}

fn number(words: &[String], at: usize) -> u64 {
    words.get(at).and_then(|word| word.parse().ok()).unwrap_or(0)
}

fn not_told() -> Finding {
    Finding::unknown("no device with hardware behind it says")
}

fn channels(host: &Host) -> Finding {
    let answers = answered(host, "channels");
    let cpus = host.now.cpus.len().max(1) as u64;
    for (device, words) in &answers {
        let (now, most) = (number(words, 0), number(words, 2));
        let possible = most.min(cpus);
        if now < possible {
            let text = format!("{device} uses {now} of {most} queues, for {cpus} CPUs");
            return Finding::set(text, (possible - now) as f64 / possible as f64);
        }
    }
    match &*answers {
        [] => not_told(),
        [(device, words), ..] => Finding::good(format!(
            "{device} uses {} of {} queues",
            number(words, 0),
            number(words, 2)
        )),
    }
}

/// Microseconds from which a device that does not adapt puts packets together.
const TOGETHER: u64 = 8;

fn coalescing(host: &Host) -> Finding {
    let answers = answered(host, "rx-usecs");
    for (device, words) in &answers {
        let time = number(words, 0);
        let is_fixed = words.get(1).is_some_and(|word| word == "fixed");
        if is_fixed && time < TOGETHER {
            return Finding::set(
                format!("{device}: rx-usecs is {time}, and it does not adapt"),
                0.5,
            );
        }
    }
    if answers.is_empty() { not_told() } else { Finding::good("devices wait for several packets") }
}

fn rings(host: &Host) -> Finding {
    let answers = answered(host, "rings");
    for (device, words) in &answers {
        let missed = ["rx_missed_errors", "rx_fifo_errors", "rx_over_errors"].into_iter();
        let missed: u64 = missed
            .filter_map(|name| host.number(&format!("/sys/class/net/{device}/statistics/{name}")))
            .sum();
        let (now, most) = (number(words, 0), number(words, 2));
        if missed > 0 && now < most {
            let text = format!(
                "{device} has missed {missed} packets; its ring has {now} of {most} places"
            );
            return Finding::set(text, 1.0);
        }
    }
    if answers.is_empty() { not_told() } else { Finding::good("no packet was missed") }
}

fn offload(host: &Host) -> Finding {
    switch(host, "gro")
}

fn large(host: &Host) -> Finding {
    switch(host, "lro")
}

fn switch(host: &Host, name: &str) -> Finding {
    let answers = answered(host, name);
    let is_on =
        |(_, words): &&(String, Vec<String>)| words.first().is_some_and(|word| word == "on");
    match answers.iter().find(is_on) {
        Some((device, _)) => Finding::set(format!("on for {device}"), 0.5),
        None if answers.is_empty() => not_told(),
        None => Finding::good("off"),
    }
}
