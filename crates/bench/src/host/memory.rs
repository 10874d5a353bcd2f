//! The resident memory of a process, to the page.
//!
//! Owns one reading. The figure in /proc/PID/status is kept per CPU and may be some hundred
//! kilobytes off, which is a lot for a few thousand connections.

use std::fs::read_to_string;

/// The resident memory of a process. `None` if it has ended or we may not inspect it.
pub fn resident_bytes(pid: u32) -> Option<u64> {
    parse_rollup(&read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?)
}

fn parse_rollup(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_all_mappings_is_read() {
        let text =
            "55d0-7ffd ---p 00000000 00:00 0      [rollup]\nRss:     884 kB\nPss:     385 kB\n";
        assert_eq!(parse_rollup(text), Some(884 * 1024));
        assert_eq!(parse_rollup("Pss: 1 kB\n"), None);
        assert_eq!(parse_rollup("Rss: much kB\n"), None);
    }

    #[test]
    fn this_process_has_some() {
        assert!(resident_bytes(std::process::id()).is_some_and(|bytes| bytes > 100_000));
        assert_eq!(resident_bytes(u32::MAX), None);
    }
}
