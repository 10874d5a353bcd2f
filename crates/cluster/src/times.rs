//! Times as NATS writes them (RFC 3339).
//!
//! Owns the conversion to milliseconds. Reads no clock: only times of servers are compared.

use jiff::Timestamp;

/// Milliseconds since 1970 of a time such as `2026-11-28T15:12:47.123456789Z`.
pub(crate) fn milliseconds(text: &str) -> Option<u64> {
    let time: Timestamp = text.parse().ok()?;
    u64::try_from(time.as_millisecond()).ok()
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
            ("2026-11-28T15:72:47Z", None),
        ] {
            assert_eq!(milliseconds(text), expected, "{text}");
        }
    }
}
