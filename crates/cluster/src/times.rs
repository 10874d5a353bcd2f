//! Times as NATS writes them (RFC 3339).
//!
//! Owns the conversion to milliseconds. Reads no clock: only times of servers are compared.

/// Milliseconds since 1970 of a time such as `2026-11-28T15:12:47.123456789Z`.
pub(crate) fn milliseconds(text: &str) -> Option<u64> {
    let (date, rest) = text.split_once('T')?;
    let (time, offset_minutes) = split_zone(rest)?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut time = time.splitn(3, ':');
    let hour: i64 = time.next()?.parse().ok()?;
    let minute: i64 = time.next()?.parse().ok()?;
    let (second, fraction) = time.next().map(|text| text.split_once('.').unwrap_or((text, "")))?;
    let second: i64 = second.parse().ok()?;
    if !(1..=12).contains(&month) || !(1970..10_000).contains(&year) {
        return None;
    }
    let digits = fraction.get(..fraction.len().min(3))?;
    let millisecond = format!("{digits:0<3}").parse::<i64>().ok()?;
    let minutes = days(year, month, day) * 24 * 60 + hour * 60 + minute - offset_minutes;
    u64::try_from(minutes * 60_000 + second * 1_000 + millisecond).ok()
}

/// The time without its zone, and how many minutes that is ahead.
fn split_zone(text: &str) -> Option<(&str, i64)> {
    if let Some(time) = text.strip_suffix('Z') {
        return Some((time, 0));
    }
    let at = text.rfind(['+', '-'])?;
    let (hours, minutes) = text[at + 1..].split_once(':')?;
    let minutes = hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?;
    Some((&text[..at], if text[at..].starts_with('-') { -minutes } else { minutes }))
}

/// Days from 1970-01-01 to a day of the Gregorian calendar, counted from a March, so that leap days are last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 719_469
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_in_any_zone() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T00:00:00Z", Some(951_782_400_000)),
            ("2026-11-28T15:12:47.123456789Z", Some(1_795_878_767_123)),
            ("2026-11-28T15:12:47.1Z", Some(1_795_878_767_100)),
            ("2026-11-28T16:12:47+01:00", Some(1_795_878_767_000)),
            ("2026-11-28T09:42:47-05:30", Some(1_795_878_767_000)),
            ("2026-11-28", None),
            ("", None),
            ("2026-13-28T15:12:47Z", None),
            ("2026-11-28T15:12Z", None),
        ] {
            assert_eq!(milliseconds(text), expected, "{text}");
        }
    }
}
