//! Dates of HTTP (RFC 9110 section 5.6.7): unix seconds to text and back.
//!
//! Owns the three formats that are read and the one that is written. Never reads a clock.

use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use httpdate::HttpDate;

/// The last second that four digits of year can name: 9999-12-31 23:59:59.
const LAST_SECOND: u64 = 253_402_300_799;

/// The IMF-fixdate of a second since 1970, as in `Sun, 06 Nov 1994 08:49:37 GMT`.
///
/// After the year 9999, which the format cannot express, the result stays at the last second of 9999.
pub fn format(unix_seconds: u64) -> [u8; 29] {
    let date = HttpDate::from(UNIX_EPOCH + Duration::from_secs(unix_seconds.min(LAST_SECOND)));
    let mut text = [0; 29];
    write!(&mut text[..], "{date}").expect("it is as long as every date of this format");
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
