//! What the hypervisor gave to others while this host wanted to run.
//!
//! Owns the reading of /proc/stat. Never looks at single cores.

use std::io;

/// The columns of a `cpu` line that make up all its time; guest time is already in user time, see proc_stat(5).
const COLUMNS: usize = 8;

/// The column of stolen time.
const STEAL_COLUMN: usize = 7;

/// Time of all cores since the host started, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTimes {
    /// All of it, idle or not.
    pub total_ticks: u64,
    /// What the hypervisor gave to others.
    pub steal_ticks: u64,
}

impl CpuTimes {
    /// As of now.
    ///
    /// # Errors
    /// When /proc is not mounted, or its text is not understood.
    pub fn read() -> io::Result<CpuTimes> {
        let text = std::fs::read_to_string("/proc/stat")?;
        CpuTimes::parse(&text).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "/proc/stat begins with no `cpu` line")
        })
    }

    fn parse(text: &str) -> Option<CpuTimes> {
        let mut words = text.lines().next()?.split_ascii_whitespace();
        if words.next()? != "cpu" {
            return None;
        }
        let columns: Vec<u64> =
            words.take(COLUMNS).map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(CpuTimes {
            total_ticks: columns.iter().sum(),
            steal_ticks: *columns.get(STEAL_COLUMN)?,
        })
    }

    /// The share (0 to 1) of the time of all cores that was stolen since an earlier reading. None when no tick passed.
    pub fn steal_since(&self, earlier: &CpuTimes) -> Option<f64> {
        let total = self.total_ticks.checked_sub(earlier.total_ticks).filter(|ticks| *ticks > 0)?;
        let stolen = self.steal_ticks.saturating_sub(earlier.steal_ticks);
        Some(stolen as f64 / total as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_a_share_of_all_time_without_guests() {
        let earlier = "cpu  100 0 50 800 10 0 5 35 7 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        let later = "cpu  160 0 70 890 10 0 5 45 99 99\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        let (earlier, later) = (CpuTimes::parse(earlier).unwrap(), CpuTimes::parse(later).unwrap());
        assert_eq!(earlier, CpuTimes { total_ticks: 1000, steal_ticks: 35 });
        // 180 ticks passed, 10 of them stolen.
        assert_eq!(later.steal_since(&earlier), Some(10.0 / 180.0));
        assert_eq!(later.steal_since(&later), None);
        assert_eq!(earlier.steal_since(&later), None);
    }

    #[test]
    fn other_texts_are_not_understood() {
        assert_eq!(CpuTimes::parse(""), None);
        assert_eq!(CpuTimes::parse("cpu0 1 2 3 4 5 6 7 8"), None);
        assert_eq!(CpuTimes::parse("cpu  1 2 3 4 5 6 7"), None);
        assert_eq!(CpuTimes::parse("cpu  1 2 3 4 many 6 7 8"), None);
    }

    #[test]
    fn this_host_has_it() {
        assert!(CpuTimes::read().unwrap().total_ticks > 0);
    }
}
