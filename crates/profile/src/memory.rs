//! The memory of processes, second by second: how much they have, and how many page faults that took.
//!
//! Owns the reading of `/proc` for that, and the table. Where memory is touched first is sampled (`sampling`).

use std::fmt::Write;

use sys::text::of_kernel_file;

use crate::threads::Scope;

/// The memory of processes at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryLook {
    /// Since the begin.
    pub at_ms: u64,
    resident_kib: u64,
    minor: u64,
    major: u64,
    mappings: u64,
}

/// All looks of a profile, in their order.
#[derive(Clone, Debug, Default)]
pub struct MemoryLooks(Vec<MemoryLook>);

/// A time that is too short for a line of its own.
const SHORT_MS: u64 = 500;

impl MemoryLook {
    /// Reads it, so many milliseconds after the begin.
    pub fn of(scope: Scope, at_ms: u64) -> Self {
        let mut look = Self { at_ms, ..Self::default() };
        for process in scope.processes().unwrap_or_default() {
            let read = |name: &str| of_kernel_file(format!("/proc/{process}/{name}"));
            look.add(&read("status").unwrap_or_default(), &read("stat").unwrap_or_default());
            look.mappings += read("maps").map_or(0, |maps| maps.lines().count() as u64);
        }
        look
    }

    fn add(&mut self, status: &str, stat: &str) {
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = |text: Option<&str>| text.and_then(|text| text.parse().ok()).unwrap_or(0);
        self.resident_kib += number(resident.and_then(|line| line.split_whitespace().next()));
        // The second word is a name in brackets, which may contain anything (proc_pid_stat(5)).
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let words: Vec<&str> = rest.split_whitespace().collect();
        self.minor += number(words.get(7).copied());
        self.major += number(words.get(9).copied());
    }
}

impl MemoryLooks {
    /// Adds a look.
    pub fn add(&mut self, look: MemoryLook) {
        self.0.push(look);
    }

    /// Adds the last look; it takes the place of the one before if that was just now.
    pub fn end(&mut self, look: MemoryLook) {
        let is_late = |last: &mut MemoryLook| look.at_ms < last.at_ms + SHORT_MS;
        if self.0.len() > 1 {
            self.0.pop_if(is_late);
        }
        self.0.push(look);
    }

    /// A line for each look after the first one, or for each of several so that there are about so many lines.
    pub fn table(&self, most: usize) -> String {
        let mut text = format!(
            "{:>10}{:>14}{:>16}{:>16}{:>16}{:>12}\n",
            "second", "memory", "growth/s", "page faults/s", "from disk/s", "mappings"
        );
        let each = self.0.len().div_ceil(most.max(1)).max(1);
        let shown: Vec<&MemoryLook> = self.0.iter().step_by(each).collect();
        for pair in shown.windows(2) {
            let [before, now] = pair else { continue };
            let seconds = (now.at_ms.saturating_sub(before.at_ms)).max(1) as f64 / 1e3;
            let rate = |now: u64, before: u64| (now as f64 - before as f64) / seconds;
            let _endless = writeln!(
                text,
                "{:>10.1}{:>14}{:>16}{:>16.0}{:>16.0}{:>12}",
                now.at_ms as f64 / 1e3,
                kib_in_words(now.resident_kib as f64),
                kib_in_words(rate(now.resident_kib, before.resident_kib)),
                rate(now.minor, before.minor),
                rate(now.major, before.major),
                now.mappings,
            );
        }
        text
    }

    /// The findings: memory that grows in every part of the time, and mappings near the kernel's limit.
    pub fn remarks(&self, mappings_max: Option<u64>) -> Vec<String> {
        let mut remarks = Vec::new();
        let (Some(first), Some(last)) = (self.0.first(), self.0.last()) else { return remarks };
        let seconds = last.at_ms.saturating_sub(first.at_ms).max(1) as f64 / 1e3;
        let growth = last.resident_kib.saturating_sub(first.resident_kib) as f64 / seconds;
        let grows = self.0.windows(2).all(|pair| pair[0].resident_kib < pair[1].resident_kib);
        if grows && self.0.len() > 2 && growth >= 64.0 {
            remarks.push(format!(
                "the memory grew all the time, by {} a second: a leak, or a cache that fills",
                kib_in_words(growth)
            ));
        }
        let limit = mappings_max.filter(|most| last.mappings * 10 >= most * 9);
        if let Some(limit) = limit {
            remarks.push(format!(
                "{} mappings, near the limit of {limit} (vm.max_map_count): beyond it mmap fails with ENOMEM",
                last.mappings
            ));
        }
        remarks
    }
}

/// An amount of KiB with its unit.
fn kib_in_words(kib: f64) -> String {
    match kib.abs() {
        0.0..1e4 => format!("{kib:.0} KiB"),
        1e4..1e7 => format!("{:.1} MiB", kib / 1024.0),
        _ => format!("{:.2} GiB", kib / 1024.0 / 1024.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_faults_are_told_by_second() {
        let look = |at_ms, kib: u64, minor: u64| {
            let mut look = MemoryLook { at_ms, mappings: 62_000, ..MemoryLook::default() };
            let stat = format!("7 (a ) b) S 1 7 7 0 -1 4194304 {minor} 0 3 0 9 9");
            look.add(&format!("Name:\ta\nVmRSS:\t{kib} kB\n"), &stat);
            look
        };
        let mut looks = MemoryLooks::default();
        for (at_ms, kib, minor) in [(0, 1_000, 10), (1_000, 3_000, 510), (2_000, 21_000, 5_010)] {
            looks.add(look(at_ms, kib, minor));
        }
        let table = looks.table(20);
        let rows: Vec<Vec<&str>> =
            table.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["1.0", "3000", "KiB", "2000", "KiB", "500", "0", "62000"]);
        assert_eq!(rows[1], ["2.0", "20.5", "MiB", "17.6", "MiB", "4500", "0", "62000"]);
        let remarks = looks.remarks(Some(65_530));
        assert!(remarks[0].starts_with("the memory grew all the time, by 9.8 MiB"), "{remarks:?}");
        assert!(remarks[1].starts_with("62000 mappings, near the limit of 65530"), "{remarks:?}");
        looks.end(look(2_200, 2_000, 5_010));
        assert_eq!(looks.0.len(), 3);
        assert!(looks.remarks(None).is_empty());
    }
}
