//! `Retry-After`: how long to leave an authority alone (RFC 9110 section 10.2.3).
//!
//! Owns its two forms. Pure.

use wire::http::date;

use crate::moment::UtcSecond;

/// The seconds that a field asks for, none of them negative. A date is compared with the `Date` of the same answer, so
/// that a wrong clock here does not matter; with the time of day if the answer has none. `None` if it is neither a
/// number nor a date.
pub(crate) fn seconds(field: &str, date: Option<&str>, now: UtcSecond) -> Option<i64> {
    let field = field.trim();
    if !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(field.parse().unwrap_or(i64::MAX));
    }
    let until = moment(field)?;
    let from = date.and_then(moment).unwrap_or(now);
    Some(until.since(from).max(0))
}

fn moment(text: &str) -> Option<UtcSecond> {
    let seconds = date::parse(text.trim().as_bytes())?;
    Some(UtcSecond::from_unix(i64::try_from(seconds).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATE: &str = "Fri, 27 Nov 2026 18:00:00 GMT";
    const LATER: &str = "Fri, 27 Nov 2026 18:01:30 GMT";

    #[test]
    fn seconds_and_dates_are_read_and_anything_else_is_none() {
        let now = moment(DATE).unwrap();
        assert_eq!(seconds(" 120 ", None, now), Some(120));
        assert_eq!(seconds("99999999999999999999", None, now), Some(i64::MAX));
        assert_eq!(seconds(LATER, None, now), Some(90));
        // A clock that is a day ahead.
        assert_eq!(seconds(LATER, Some(DATE), now.plus(86_400)), Some(90));
        assert_eq!(seconds(DATE, Some(LATER), now), Some(0));
        for wrong in ["", "-1", "soon", "1.5"] {
            assert_eq!(seconds(wrong, None, now), None, "{wrong}");
        }
    }
}
