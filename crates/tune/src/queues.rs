//! Counts of the queues in front of devices (`RTM_GETQDISC`): packets sent, dropped and kept back.
//!
//! Owns the query, and the text form of the counts, which is read as a file.

use std::collections::BTreeMap;
use std::io;

use sys::netlink::{NetlinkFamily, attributes, list, text};

/// The path under which they are read: `eth0 tbf 1: packets 5 drops 2 late 3 waiting 0 bytes_a_second 125000`.
pub(crate) const QUEUE_COUNTS: &str = "/velodrome/qdisc-counts";

/// A queue, as its counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueCounts {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) drops: u64,
    /// Times that a packet was kept back, because the queue may not send as fast.
    pub(crate) late: u64,
    /// Packets that wait now.
    pub(crate) waiting: u64,
    /// The rate to which it is bound; 0 if it has none, or if it is not told.
    pub(crate) rate: u64,
}

impl QueueCounts {
    /// Parses all queues, by device, kind and handle.
    pub(crate) fn read(text: &str) -> BTreeMap<String, Self> {
        let line = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |name: &str| {
                let at = words.iter().position(|word| *word == name)?;
                words.get(at + 1)?.parse().ok()
            };
            let counts = Self {
                packets: number("packets")?,
                bytes: number("bytes").unwrap_or(0),
                drops: number("drops").unwrap_or(0),
                late: number("late").unwrap_or(0),
                waiting: number("waiting").unwrap_or(0),
                rate: number("bytes_a_second").unwrap_or(0),
            };
            Some((words.get(..3)?.join(" "), counts))
        };
        text.lines().filter_map(line).collect()
    }
}

/// The counts of all queues, in the network namespace of the calling thread; by the numbers and names of devices.
///
/// # Errors
/// The kernel's.
pub(crate) fn told(devices: &BTreeMap<u32, String>) -> io::Result<String> {
    let mut lines = String::new();
    for message in list(NetlinkFamily::Route, 38, &[0; 20])? {
        let word =
            |at: usize| message.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
        let (Some(device), Some(handle)) = (word(4), word(8)) else { continue };
        let Some(device) = devices.get(&device) else { continue };
        let all: BTreeMap<u16, &[u8]> = attributes(message.get(20..).unwrap_or_default()).collect();
        let kind = all.get(&1).map(|content| text(content)).unwrap_or_default();
        let counts = all.get(&7).map(|content| counts(content)).unwrap_or_default();
        let rate = match &*kind {
            "tbf" => all.get(&2).and_then(|content| rate_of_bucket(content)).unwrap_or(0),
            _ => 0,
        };
        let QueueCounts { packets, bytes, drops, late, waiting, .. } = counts;
        lines.push_str(&format!(
            "{device} {kind} {:x}: packets {packets} bytes {bytes} drops {drops} late {late} waiting \
             {waiting} bytes_a_second {rate}\n",
            handle >> 16
        ));
    }
    Ok(lines)
}

/// `TCA_STATS2`: `TCA_STATS_BASIC` (`struct gnet_stats_basic`), `TCA_STATS_QUEUE` (`struct gnet_stats_queue`), and
/// `TCA_STATS_PKT64`.
fn counts(content: &[u8]) -> QueueCounts {
    let mut all = QueueCounts::default();
    for (kind, content) in attributes(content) {
        let word = |at: usize| {
            let bytes = content.get(at..).and_then(|rest| rest.first_chunk());
            bytes.map_or(0, |bytes| u64::from(u32::from_ne_bytes(*bytes)))
        };
        let long = || content.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        match kind {
            1 => (all.bytes, all.packets) = (long(), word(8)),
            3 => (all.waiting, all.drops, all.late) = (word(0), word(8), word(16)),
            8 => all.packets = long(),
            _ => {}
        }
    }
    all
}

/// The rate of a token bucket: `TCA_TBF_RATE64`, or that in `struct tc_tbf_qopt`.
fn rate_of_bucket(content: &[u8]) -> Option<u64> {
    let all: BTreeMap<u16, &[u8]> = attributes(content).collect();
    let long = all.get(&4).and_then(|content| content.first_chunk());
    if let Some(bytes) = long {
        return Some(u64::from_ne_bytes(*bytes));
    }
    // `struct tc_ratespec`: the rate is behind its first eight bytes.
    let bytes = all.get(&1)?.get(8..)?.first_chunk()?;
    Some(u64::from(u32::from_ne_bytes(*bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read() {
        let text =
            "eth0 tbf 1: packets 5 bytes 70 drops 2 late 3 waiting 1 bytes_a_second 9\nbroken\n";
        let counts = QueueCounts { packets: 5, bytes: 70, drops: 2, late: 3, waiting: 1, rate: 9 };
        assert_eq!(QueueCounts::read(text), BTreeMap::from([("eth0 tbf 1:".to_owned(), counts)]));
    }
}
