//! Replies of two servers that are compared although time passes between them.
//!
//! Owns the rounding. Never talks to a server.

/// The replies, with large numbers rounded, which may be times that are left: the two servers are asked one after the
/// other, and the host may be busy.
pub(crate) fn roughly(replies: &str) -> String {
    let rounded = replies.split_inclusive("\r\n").map(|line| {
        let left = line.strip_prefix(':').and_then(|number| number.trim_end().parse::<u64>().ok());
        match left {
            Some(left @ 2_000_000..) => format!(":{} days\r\n", left / 86_400),
            // Times are set to 100, 1,000, 100,000 or 1,000,000 seconds.
            Some(left @ 90..) => format!(":{} minutes\r\n", (left + 30) / 60),
            _ => line.to_owned(),
        }
    });
    rounded.collect()
}
