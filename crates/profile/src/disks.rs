//! How long the machine's disks take for a request: the difference of two readings of `/proc/diskstats`.
//!
//! Owns its fields (Documentation/admin-guide/iostats.rst of Linux). Needs no rights.

use std::collections::BTreeMap;
use std::path::Path;

use sys::text::of_kernel_file;

/// The counters of all disks at one time.
#[derive(Clone, Debug, Default)]
pub struct Disks(BTreeMap<String, Vec<u64>>);

/// Kinds of requests, and the places of their number and their time in milliseconds.
const KINDS: [(&str, usize, usize); 3] = [("reads", 0, 3), ("writes", 4, 7), ("flushes", 15, 16)];

/// The place of the time in which a disk had requests.
const BUSY: usize = 9;

/// Percent of the time from which a disk is worth a line.
const WORTH: f64 = 1.0;

impl Disks {
    /// Reads the counters of whole disks, without partitions; none if the kernel does not show them.
    pub fn read() -> Self {
        let text = of_kernel_file("/proc/diskstats").unwrap_or_default();
        let is_whole = |name: &str| Path::new("/sys/block").join(name).exists();
        Self(text.lines().filter_map(disk).filter(|(name, _)| is_whole(name)).collect())
    }

    /// A line for each disk that was busy since an earlier reading, so many seconds ago.
    pub fn lines_since(&self, before: &Self, seconds: f64) -> Vec<String> {
        let mut lines = Vec::new();
        for (name, now) in &self.0 {
            let then = before.0.get(name);
            let change = |at: usize| {
                let before = then.and_then(|then| then.get(at)).copied().unwrap_or(0);
                now.get(at).copied().unwrap_or(0).saturating_sub(before) as f64
            };
            let busy = change(BUSY) / seconds / 10.0;
            if busy < WORTH {
                continue;
            }
            let kind = |(kind, count, time): &(&str, usize, usize)| {
                let (count, time_ms) = (change(*count), change(*time));
                (count > 0.0).then(|| {
                    format!(
                        "{:.0} {kind} a second, {:.2} ms each",
                        count / seconds,
                        time_ms / count
                    )
                })
            };
            let kinds: Vec<String> = KINDS.iter().filter_map(kind).collect();
            lines.push(format!("disk {name}: busy {busy:.0} % of the time; {}", kinds.join("; ")));
        }
        lines
    }
}

/// A line: numbers of the device, its name, counters.
fn disk(line: &str) -> Option<(String, Vec<u64>)> {
    let mut words = line.split_whitespace().skip(2);
    let name = words.next()?.to_owned();
    Some((name, words.map(|word| word.parse().unwrap_or(0)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_between_two_readings_have_their_mean_time() {
        let text = |writes: u64, busy: u64| {
            format!("254 0 vda 10 0 80 5 {writes} 0 0 {} 0 {busy} 0 0 0 0 0 8 4", writes * 3)
        };
        let disks = |text: &str| Disks(disk(text).into_iter().collect());
        let (before, now) = (disks(&text(100, 500)), disks(&text(300, 1_100)));
        let lines = now.lines_since(&before, 2.0);
        assert_eq!(lines, ["disk vda: busy 30 % of the time; 100 writes a second, 3.00 ms each"]);
        assert!(now.lines_since(&now, 2.0).is_empty());
    }
}
