//! The time of log lines as text.
//!
//! Owns its two forms, made once a second.

use runtime::calendar::{CivilDate, civil_date};

/// The time of the last line, formatted once per second.
#[derive(Debug, Default)]
pub(super) struct TimeStamp {
    second: Option<u64>,
    /// `21/Nov/2026:11:36:00 +0000`
    common: Vec<u8>,
    /// `2026-11-21T11:36:00`
    iso: Vec<u8>,
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

impl TimeStamp {
    /// As the common log format has it.
    pub(super) fn common(&self) -> &[u8] {
        &self.common
    }

    /// As ISO 8601 has it, without the zone.
    pub(super) fn iso(&self) -> &[u8] {
        &self.iso
    }

    /// The time of another line.
    pub(super) fn set(&mut self, unix_seconds: u64) {
        if self.second == Some(unix_seconds) {
            return;
        }
        self.second = Some(unix_seconds);
        let CivilDate { year, month, day } = civil_date(unix_seconds / 86_400);
        let second = unix_seconds % 86_400;
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let name = MONTHS[usize::from(month) - 1];
        self.common =
            format!("{day:02}/{name}/{year}:{hour:02}:{minute:02}:{second:02} +0000").into_bytes();
        self.iso =
            format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}").into_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let mut stamp = TimeStamp::default();
        stamp.set(20_778 * 86_400 + 3661);
        assert_eq!(stamp.common, b"21/Nov/2026:01:01:01 +0000");
        assert_eq!(stamp.iso, b"2026-11-21T01:01:01");
    }
}
