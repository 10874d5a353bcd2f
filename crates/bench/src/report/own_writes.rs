//! Whether a client of a store reads its own writes at other addresses.
//!
//! Owns the figures, their text, and when they violate the check.

use std::fmt::{self, Write};

use serde::{Deserialize, Serialize};

use super::figures::{count, duration};
use super::latency::LatencyReport;

/// The reads of a client that writes at one address and reads at the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnWritesReport {
    /// Its writes.
    pub writes: u64,
    /// Writes that it looked for at another address, once for each.
    pub reads: u64,
    /// Those that it found with the first read.
    pub at_once: u64,
    /// Those that it found later.
    pub later: u64,
    /// Those that it did not find within a second.
    pub unseen: u64,
    /// Reads of an older value than an earlier read at the same address.
    pub went_back: u64,
    /// Writes or reads that failed.
    pub failed: u64,
    /// The first failure; null without one.
    pub first_failure: Option<String>,
    /// From the answer of a write until another address shows it.
    pub lag: LatencyReport,
}

impl OwnWritesReport {
    /// The violations of the check, in words.
    pub(super) fn violations(&self) -> Vec<String> {
        let mut found = Vec::new();
        let stale = self.later + self.unseen;
        if stale > 0 {
            found.push(format!(
                "{} of {} own writes were missing at first at another address, and {} of them for more than a second",
                count(stale),
                count(self.reads),
                count(self.unseen)
            ));
        }
        if self.went_back > 0 {
            let times = count(self.went_back);
            found.push(format!("an address showed an older value than before {times} times"));
        }
        if self.failed > 0 || self.reads == 0 {
            let why = self.first_failure.as_deref().unwrap_or("nothing was read");
            found.push(format!("{} own writes could not be checked: {why}", count(self.failed)));
        }
        found
    }

    /// Writes the lines for a person.
    ///
    /// # Errors
    /// If `out` accepts no text.
    pub(super) fn write_text(&self, out: &mut impl Write) -> fmt::Result {
        writeln!(
            out,
            "own writes  {} of {} found at once at another address, {} later, {} not within a second; {} went back",
            count(self.at_once),
            count(self.reads),
            count(self.later),
            count(self.unseen),
            count(self.went_back)
        )?;
        let LatencyReport { p50_ns, p99_ns, max_ns, .. } = self.lag;
        let [p50, p99, max] = [p50_ns, p99_ns, max_ns].map(|time| duration(time as f64));
        writeln!(out, "            found after p50 {p50}, p99 {p99}, max {max}")
    }
}
