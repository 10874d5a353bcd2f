//! Dates of the Gregorian calendar, for lines of logs.
//!
//! Owns the arithmetic. Never reads a clock and knows no time zone.

use std::fmt;

/// A time as `2026-11-21T11:36:00.123Z` (RFC 3339).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    /// Milliseconds since 1970.
    pub unix_ms: u64,
}

impl fmt::Display for Timestamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, milliseconds) = (self.unix_ms / 1000, self.unix_ms % 1000);
        let CivilDate { year, month, day } = civil_date(seconds / 86_400);
        let second = seconds % 86_400;
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(
            out,
            "{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z"
        )
    }
}

/// A day of the Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CivilDate {
    /// The year.
    pub year: u64,
    /// The month, from 1.
    pub month: u8,
    /// The day of the month, from 1.
    pub day: u8,
}

/// The Gregorian date of a day since 1970 (the era arithmetic of Howard Hinnant's "chrono-Compatible Low-Level
/// Date Algorithms").
pub fn civil_date(days: u64) -> CivilDate {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    CivilDate { year, month: month as u8, day: day as u8 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let date = |year, month, day| CivilDate { year, month, day };
        assert_eq!(civil_date(0), date(1970, 1, 1));
        assert_eq!(civil_date(11_016), date(2000, 2, 29));
        assert_eq!(civil_date(20_778), date(2026, 11, 21));
        let unix_ms = (20_778 * 86_400 + 3661) * 1000 + 7;
        assert_eq!(Timestamp { unix_ms }.to_string(), "2026-11-21T01:01:01.007Z");
    }
}
