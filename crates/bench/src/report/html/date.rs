//! The time at which a measurement began, as text.
//!
//! Owns the calendar, in UTC. Never reads a clock.

/// Days of 400 years, after which the calendar repeats itself.
const DAYS_OF_400_YEARS: u64 = 146_097;

/// `2026-11-21 16:43:00 UTC` from seconds since 1970-01-01 00:00 UTC.
pub(super) fn written(unix_s: u64) -> String {
    let (days, second) = (unix_s / 86_400, unix_s % 86_400);
    let mut year = 1970 + 400 * (days / DAYS_OF_400_YEARS);
    let mut rest = days % DAYS_OF_400_YEARS;
    while rest >= days_of_year(year) {
        rest -= days_of_year(year);
        year += 1;
    }
    let mut month = 1;
    for days in days_of_months(year) {
        if rest < days {
            break;
        }
        rest -= days;
        month += 1;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year}-{month:02}-{:02} {hour:02}:{minute:02}:{second:02} UTC", rest + 1)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of_year(year: u64) -> u64 {
    365 + u64::from(is_leap(year))
}

fn days_of_months(year: u64) -> [u64; 12] {
    let february = 28 + u64::from(is_leap(year));
    [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
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
