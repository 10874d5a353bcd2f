//! Time that the hypervisor took while this host wanted to run.
//!
//! Owns the reading of /proc/stat, per core. Never judges how much is too much.

use std::io;

use crate::limits::{CORE_USED_MINIMUM, STEAL_TICKS_MINIMUM};

/// The columns of a `cpuN` line that make up its total time; guest time is included in user time, see proc_stat(5).
const COLUMNS: usize = 8;

/// The columns of idle time: idle, and idle while waiting for a disk.
const IDLE_COLUMNS: [usize; 2] = [3, 4];

/// The column of stolen time.
const STEAL_COLUMN: usize = 7;

/// Time of each core since the host started, in ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuTimes {
    cores: Vec<CoreTimes>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CoreTimes {
    number: u32,
    total_ticks: u64,
    idle_ticks: u64,
    steal_ticks: u64,
}

impl CpuTimes {
    /// Reads the current values.
    ///
    /// # Errors
    /// If /proc is not mounted, or its text cannot be parsed.
    pub fn read() -> io::Result<CpuTimes> {
        let text = std::fs::read_to_string("/proc/stat")?;
        CpuTimes::parse(&text).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "/proc/stat has no `cpu0` line")
        })
    }

    fn parse(text: &str) -> Option<CpuTimes> {
        // The first line is the sum of all.
        let lines = text.lines().skip(1).map_while(|line| line.strip_prefix("cpu"));
        let cores: Vec<CoreTimes> = lines.map(CoreTimes::parse).collect::<Option<_>>()?;
        (!cores.is_empty()).then_some(CpuTimes { cores })
    }

    /// The share (0 to 1) of a core's time that was stolen since an earlier reading: the largest of the cores in
    /// use. `None` if no tick passed.
    pub fn steal_since(&self, earlier: &CpuTimes) -> Option<f64> {
        let pairs = self.cores.iter().filter_map(|now| {
            let then = earlier.cores.iter().find(|then| then.number == now.number)?;
            now.steal_since(then)
        });
        pairs.max_by(f64::total_cmp)
    }
}

impl CoreTimes {
    fn parse(line: &str) -> Option<CoreTimes> {
        let mut words = line.split_ascii_whitespace();
        let number = words.next()?.parse().ok()?;
        let columns: Vec<u64> =
            words.take(COLUMNS).map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(CoreTimes {
            number,
            total_ticks: columns.iter().sum(),
            idle_ticks: IDLE_COLUMNS.iter().filter_map(|column| columns.get(*column)).sum(),
            steal_ticks: *columns.get(STEAL_COLUMN)?,
        })
    }

    fn steal_since(&self, earlier: &CoreTimes) -> Option<f64> {
        let total = self.total_ticks.checked_sub(earlier.total_ticks).filter(|ticks| *ticks > 0)?;
        let idle = self.idle_ticks.saturating_sub(earlier.idle_ticks);
        let stolen = self.steal_ticks.saturating_sub(earlier.steal_ticks);
        let is_used = total.saturating_sub(idle) as f64 >= CORE_USED_MINIMUM * total as f64;
        let counts = is_used && stolen >= STEAL_TICKS_MINIMUM;
        Some(if counts { stolen as f64 / total as f64 } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(cores: [&str; 2]) -> CpuTimes {
        let text =
            format!("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 {}\ncpu1 {}\nintr 1\n", cores[0], cores[1]);
        CpuTimes::parse(&text).unwrap()
    }

    #[test]
    fn stolen_time_is_the_share_of_the_core_that_lost_most() {
        let earlier = parsed(["100 0 50 800 10 0 5 35 7 0", "0 0 0 1000 0 0 0 0 0 0"]);
        // 180 ticks passed on the first, 10 of them stolen; 1,000 on the second, which lost 4 and was in use.
        let later = parsed(["160 0 70 890 10 0 5 45 99 99", "900 0 0 1096 0 0 0 4 0 0"]);
        assert_eq!(later.steal_since(&earlier), Some(10.0 / 180.0));
        assert_eq!(later.steal_since(&later), None);
        assert_eq!(earlier.steal_since(&later), None);
    }

    #[test]
    fn a_core_that_is_not_used_and_a_tick_or_two_count_for_nothing() {
        let earlier = parsed(["0 0 0 0 0 0 0 0", "0 0 0 0 0 0 0 0"]);
        let idle = parsed(["100 0 0 0 0 0 0 0", "0 0 5 85 0 0 0 9"]);
        assert!(idle.steal_since(&earlier).unwrap() > 0.09, "14 of 99 ticks were no idle ones");
        let idle = parsed(["100 0 0 0 0 0 0 0", "0 0 0 91 0 0 0 9"]);
        assert_eq!(idle.steal_since(&earlier), Some(0.0));
        let two = parsed(["98 0 0 0 0 0 0 2", "0 0 0 100 0 0 0 0"]);
        assert_eq!(two.steal_since(&earlier), Some(0.0));
        let three = parsed(["97 0 0 0 0 0 0 3", "0 0 0 100 0 0 0 0"]);
        assert_eq!(three.steal_since(&earlier), Some(0.03));
    }

    #[test]
    fn other_texts_are_not_understood() {
        assert_eq!(CpuTimes::parse(""), None);
        assert_eq!(CpuTimes::parse("cpu  1 2 3 4 5 6 7 8"), None);
        assert_eq!(CpuTimes::parse("cpu  1\ncpu0 1 2 3 4 5 6 7"), None);
        assert_eq!(CpuTimes::parse("cpu  1\ncpu0 1 2 3 4 many 6 7 8"), None);
    }

    #[test]
    fn this_host_has_it() {
        assert!(CpuTimes::read().unwrap().cores.iter().any(|core| core.total_ticks > 0));
    }
}
