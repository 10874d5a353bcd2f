//! Dates of HTTP (RFC 9110 section 5.6.7): unix seconds to text and back.
//!
//! Owns the three formats that are read and the one that is written. Never reads a clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// The last second that four digits of year can name: 9999-12-31 23:59:59.
const LAST_SECOND: u64 = 253_402_300_799;
const SECONDS_PER_DAY: u64 = 86_400;
/// Days from 0000-03-01, the first day of this calculation, to 1970-01-01.
const DAYS_BEFORE_1970: u64 = 719_468;
const DAYS_PER_400_YEARS: u64 = 146_097;

const WEEKDAYS: [[u8; 3]; 7] = [*b"Sun", *b"Mon", *b"Tue", *b"Wed", *b"Thu", *b"Fri", *b"Sat"];
const MONTHS: [[u8; 3]; 12] = [
    *b"Jan", *b"Feb", *b"Mar", *b"Apr", *b"May", *b"Jun", *b"Jul", *b"Aug", *b"Sep", *b"Oct",
    *b"Nov", *b"Dec",
];

/// The IMF-fixdate of a second since 1970, as in `Sun, 06 Nov 1994 08:49:37 GMT`.
///
/// After the year 9999, which the format cannot express, the result stays at the last second of 9999.
pub fn format(unix_seconds: u64) -> [u8; 29] {
    let seconds = unix_seconds.min(LAST_SECOND);
    let days = seconds / SECONDS_PER_DAY;
    let second_of_day = seconds % SECONDS_PER_DAY;
    let Day { year, month, day } = Day::from_days(days);

    let mut text = *b"***, ** *** **** **:**:** GMT";
    // 1970-01-01 was a Thursday.
    text[..3].copy_from_slice(&WEEKDAYS[((days + 4) % 7) as usize]);
    text[5..7].copy_from_slice(&two_digits(day));
    text[8..11].copy_from_slice(&MONTHS[(month - 1) as usize]);
    text[12..14].copy_from_slice(&two_digits(year / 100));
    text[14..16].copy_from_slice(&two_digits(year % 100));
    text[17..19].copy_from_slice(&two_digits(second_of_day / 3600));
    text[20..22].copy_from_slice(&two_digits(second_of_day / 60 % 60));
    text[23..25].copy_from_slice(&two_digits(second_of_day % 60));
    text
}

/// Parses a date in one of the three formats (IMF-fixdate, RFC 850, asctime) into seconds since
/// 1970.
///
/// `None` if the text is not a date, is before 1970, or its weekday does not match the day. A field
/// with such a date must be ignored (RFC 9110 sections 13.1.3 and 13.1.4). A leap second (`:60`)
/// is rejected. Two-digit years from 70 on mean 19xx, others 20xx: without a
/// clock the 50-year rule cannot be applied exactly, and no current client writes
/// that format.
pub fn parse(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let date = httpdate::parse_http_date(text).ok()?;
    SystemTime::duration_since(&date, UNIX_EPOCH).ok().map(|since| since.as_secs())
}

fn two_digits(value: u64) -> [u8; 2] {
    [b'0' + (value / 10) as u8, b'0' + (value % 10) as u8]
}

/// A day of the Gregorian calendar; month and day count from one.
struct Day {
    year: u64,
    month: u64,
    day: u64,
}

impl Day {
    /// Years are counted from March, so that the leap day is the last day of its year.
    fn from_days(days_since_1970: u64) -> Self {
        let days = days_since_1970 + DAYS_BEFORE_1970;
        let era = days / DAYS_PER_400_YEARS;
        let day_of_era = days % DAYS_PER_400_YEARS;
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        // From March on, every five months have 153 days.
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        Self { year: era * 400 + year_of_era + u64::from(month <= 2), month, day }
    }
}
