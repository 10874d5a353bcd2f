//! The time at which a measurement began, as text.
//!
//! Owns its form, in UTC. Never reads a clock.

use runtime::calendar::{CivilDate, civil_date};

/// `2026-11-21 16:43:00 UTC` from seconds since 1970-01-01 00:00 UTC.
pub(super) fn written(unix_s: u64) -> String {
    let CivilDate { year, month, day } = civil_date(unix_s / 86_400);
    let second = unix_s % 86_400;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::written;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(written(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(written(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(written(1_800_000_000), "2027-01-15 08:00:00 UTC");
        assert_eq!(written(4_102_444_799), "2099-12-31 23:59:59 UTC");
        assert!(written(u64::MAX).ends_with("07:00:15 UTC"));
    }
}
