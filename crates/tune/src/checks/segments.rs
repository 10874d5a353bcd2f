//! Where the kernel cuts what TCP sends into packets: as late as possible, or one by one.
//!
//! Owns the checks of all devices that carry traffic, those of containers and the loopback included.

use crate::answers::SEGMENTS;
use crate::check::{Check, Gain, Risk};
use crate::finding::{Finding, Judged, Percent};
use crate::host::HostReading;
use crate::settings::place;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "net.gso",
        title: "generic segmentation offload",
        gain: Gain::of(3.0, 1.0, 0.0, 0.0),
        expected: "one pass through the kernel per segment instead of one for many; nothing for \
                   single-packet answers",
        risk: Risk::Reversible,
        lost: "nothing",
        why: "Without GSO, TCP cuts its output into segments first, and each passes through the stack \
              separately.",
        fix: "ethtool -K DEVICE gso on; ip link set DEVICE gso_max_segs 65535 gso_max_size 65536, on the side of the \
              container as well.",
        source: "docs.kernel.org, segmentation-offloads; ip-link(8)",
        judge: cut_early,
    },
    Check {
        id: "net.tso",
        title: "segmentation by the CPU",
        gain: Gain::of(2.0, 1.0, 0.0, 0.0),
        expected: "a checksum and a copy per segment of large answers; nothing for single-packet answers",
        risk: Risk::Reversible,
        lost: "nothing",
        why: "A device with TSO takes 64 KiB and cuts it into segments itself. Without it the CPU does that \
              at the end of the stack.",
        fix: "ethtool -K DEVICE tso on, if the device supports it.",
        source: "docs.kernel.org, segmentation-offloads",
        judge: cut_by_cpu,
    },
];

/// The largest sends of a device: segments, and bytes.
#[derive(Clone, Copy, Debug)]
struct LargestSend {
    segments: u64,
    bytes: u64,
}

/// At most so many segments, or so many bytes, are hardly better than none.
const FEW_SEGMENTS: u64 = 4;
const FEW_BYTES: u64 = 8_192;

impl LargestSend {
    fn of(host: &HostReading, device: &str) -> Option<Self> {
        let all = host.text(SEGMENTS)?;
        let line = all.lines().find_map(|line| line.strip_prefix(device)?.strip_prefix(' '))?;
        let mut numbers = line.split(' ').map_while(|word| word.parse().ok());
        Some(Self { segments: numbers.next()?, bytes: numbers.next()? })
    }

    /// The limit, in words, if it is low.
    fn limit(self) -> Option<String> {
        if self.segments <= FEW_SEGMENTS {
            return Some(format!("at most {} segments at once (gso_max_segs)", self.segments));
        }
        (self.bytes <= FEW_BYTES)
            .then(|| format!("at most {} bytes at once (gso_max_size)", self.bytes))
    }
}

/// Microseconds that a segment costs, at least and at most.
#[derive(Clone, Copy, Debug)]
struct SegmentCost {
    least_us: f64,
    most_us: f64,
}

/// Of a segment on its own way through the stack: 8 on both sides of a veth pair of this kind on one host, less on a
/// fast machine; and of a cut at the end of it.
const OWN_WAY: SegmentCost = SegmentCost { least_us: 1.0, most_us: 8.0 };
const LATE_CUT: SegmentCost = SegmentCost { least_us: 0.2, most_us: 1.0 };

fn cut_early(host: &HostReading) -> Judged {
    judge(host, "gso", OWN_WAY)
}

fn cut_by_cpu(host: &HostReading) -> Judged {
    judge(host, "tso", LATE_CUT)
}

/// Why a device cuts early, in words, if it does.
fn limit_of(host: &HostReading, device: &str, name: &str) -> Option<String> {
    if host.text(&place(device, name)).is_some_and(|value| value == "off") {
        return Some("off".to_owned());
    }
    LargestSend::of(host, device).filter(|_| name == "gso")?.limit()
}

fn judge(host: &HostReading, name: &str, cost: SegmentCost) -> Judged {
    let devices = host.carriers();
    let limits = devices.iter().filter_map(|device| Some((device, limit_of(host, device, name)?)));
    // The one that sends most.
    let most = limits.max_by_key(|(device, _)| host.sent(device, "tx_bytes"));
    match most {
        Some((device, why)) => priced(host, device, &why, cost),
        None if devices.iter().any(|device| host.text(&place(device, name)).is_some()) => {
            Finding::good("on")
        }
        None => Finding::unknown("no device reports it"),
    }
}

/// Mean bytes of packets from which most of them are parts of something larger, and how many a second cost.
const FULL: f64 = 1_000.0;
const MANY: f64 = 1_000.0;

fn priced(host: &HostReading, device: &str, why: &str, cost: SegmentCost) -> Judged {
    let sent = |name: &str| host.sent(device, name).map_or(0.0, |count| count as f64);
    let (packets, bytes) = (sent("tx_packets"), sent("tx_bytes"));
    let (rate, mean) = (packets / host.seconds.unwrap_or(f64::INFINITY), bytes / packets.max(1.0));
    if rate < MANY || mean < FULL {
        return Finding::set(format!("{why} for {device}"), 1.0);
    }
    // Microseconds of each second, in percent.
    let price = Percent::between(rate * cost.least_us / 1e4, rate * cost.most_us / 1e4);
    let text =
        format!("{why} for {device}, which sends {rate:.0} packets a second of {mean:.0} bytes");
    Finding::scaled(text, price)
}
