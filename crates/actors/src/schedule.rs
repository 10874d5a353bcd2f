//! When background processes start.
//!
//! Owns the next time of each: an interval after the previous one, or a time of day in a time zone.
//! Never reads a clock or a file, and starts nothing.

use std::time::Duration;

use jiff::civil;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use runtime::clock::nanoseconds;

/// One `[[process]]`: what it runs, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessPlan {
    module: String,
    schedule: ProcessSchedule,
    place: ProcessPlace,
}

/// On how many servers of a cluster a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessPlace {
    /// On each.
    Server,
    /// On one at a time: that which holds the lease of its module.
    Cluster,
}

impl ProcessPlan {
    /// A process that runs this module.
    pub fn new(module: &str, schedule: ProcessSchedule, place: ProcessPlace) -> Self {
        Self { module: module.to_owned(), schedule, place }
    }

    /// The module that it runs.
    pub fn module(&self) -> &str {
        &self.module
    }

    pub(super) fn schedule(&self) -> &ProcessSchedule {
        &self.schedule
    }

    pub(super) fn place(&self) -> ProcessPlace {
        self.place
    }
}

/// When a background process starts.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessSchedule(Begin);

#[derive(Clone, Debug, PartialEq)]
enum Begin {
    AtStart,
    Every { period_ns: u64 },
    Daily { time: civil::Time, zone: TimeZone },
}

/// When a process starts next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// On the monotonic clock, in ns.
    At(u64),
    /// On the wall clock, in seconds since 1970, because clocks are set and machines sleep.
    On(u64),
}

impl Due {
    pub(super) fn has_come(self, now_ns: u64, unix_seconds: u64) -> bool {
        match self {
            Self::At(ns) => ns <= now_ns,
            Self::On(seconds) => seconds <= unix_seconds,
        }
    }

    /// When to check again whether it is due, at most this long after now.
    pub(super) fn look_ns(self, now_ns: u64, unix_seconds: u64, most: Duration) -> u64 {
        match self {
            Self::At(ns) => ns,
            Self::On(seconds) => {
                let left = Duration::from_secs(seconds.saturating_sub(unix_seconds));
                now_ns.saturating_add(nanoseconds(left.min(most)))
            }
        }
    }
}

impl ProcessSchedule {
    /// Once, with the server.
    pub fn at_start() -> Self {
        Self(Begin::AtStart)
    }

    /// After each such period.
    pub fn every(period: Duration) -> Self {
        Self(Begin::Every { period_ns: nanoseconds(period) })
    }

    /// Each day at so many minutes after midnight in a time zone.
    pub fn daily(minute: u16, zone: TimeZone) -> Self {
        let time = civil::time((minute / 60 % 24) as i8, (minute % 60) as i8, 0, 0);
        Self(Begin::Daily { time, zone })
    }

    /// Whether a process runs as long as the server.
    pub(super) fn is_endless(&self) -> bool {
        self.0 == Begin::AtStart
    }

    /// The first start. A process that starts with the server does so now.
    pub(super) fn first(&self, now_ns: u64, unix_seconds: u64) -> Due {
        match &self.0 {
            Begin::AtStart => Due::At(now_ns),
            Begin::Every { period_ns } => Due::At(now_ns.saturating_add(*period_ns)),
            Begin::Daily { time, zone } => Due::On(next_time_of_day(*time, zone, unix_seconds)),
        }
    }

    /// The next start after this one and after now; missed starts are not made up for. `None` for a process that starts
    /// with the server.
    pub(super) fn next(&self, last: Due, now_ns: u64, unix_seconds: u64) -> Option<Due> {
        match &self.0 {
            Begin::AtStart => None,
            Begin::Every { period_ns } => {
                let Due::At(last_ns) = last else { return Some(self.first(now_ns, unix_seconds)) };
                let period_ns = (*period_ns).max(1);
                let passed = now_ns.saturating_sub(last_ns) / period_ns;
                Some(Due::At(last_ns.saturating_add(period_ns.saturating_mul(passed + 1))))
            }
            Begin::Daily { .. } => Some(self.first(now_ns, unix_seconds)),
        }
    }
}

/// The next time of day after this time, in seconds since 1970. A time that is skipped when clocks go forward is moved
/// by the same amount, and of a time that occurs twice the first counts (RFC 5545, section 3.3.5).
fn next_time_of_day(time: civil::Time, zone: &TimeZone, unix_seconds: u64) -> u64 {
    let after = i64::try_from(unix_seconds).ok();
    let after = after.and_then(|seconds| Timestamp::from_second(seconds).ok());
    let Some(after) = after else { return u64::MAX };
    let mut date = zone.to_datetime(after).date();
    // If a whole day is skipped (Samoa, 2011), it is the day after.
    for _ in 0..4 {
        if let Ok(found) = zone.to_timestamp(date.to_datetime(time))
            && found > after
        {
            return u64::try_from(found.as_second()).unwrap_or(0);
        }
        let Ok(tomorrow) = date.checked_add(1.day()) else { break };
        date = tomorrow;
    }
    u64::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(rule: &str) -> TimeZone {
        TimeZone::posix(rule).unwrap()
    }

    fn unix(text: &str) -> u64 {
        text.parse::<Timestamp>().unwrap().as_second().try_into().unwrap()
    }

    fn days(time: civil::Time, zone: &TimeZone, from: &str, count: usize) -> Vec<String> {
        let mut now = unix(from);
        let mut next = || {
            now = next_time_of_day(time, zone, now);
            Timestamp::from_second(now.try_into().unwrap()).unwrap().to_string()
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn a_time_of_day_comes_once_a_day_whatever_clocks_do() {
        let berlin = zone("CET-1CEST,M3.5.0,M10.5.0/3");
        let spring = days(civil::time(2, 30, 0, 0), &berlin, "2026-03-28T00:00:00Z", 3);
        // 02:30 does not exist on the 29th: clocks go from 02:00 to 03:00, so it becomes 03:30.
        assert_eq!(
            spring,
            ["2026-03-28T01:30:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"]
        );
        let autumn = days(civil::time(2, 30, 0, 0), &berlin, "2026-10-24T12:00:00Z", 2);
        assert_eq!(autumn, ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"], "the first of two");
        let utc = days(civil::Time::MIN, &TimeZone::UTC, "2026-12-31T00:00:00Z", 1);
        assert_eq!(utc, ["2027-01-01T00:00:00Z"], "now is over");
    }

    #[test]
    fn missed_schedule_is_skipped() {
        let every = ProcessSchedule::every(Duration::from_nanos(10));
        assert_eq!(every.first(5, 0), Due::At(15));
        assert_eq!(every.next(Due::At(15), 15, 0), Some(Due::At(25)));
        assert_eq!(every.next(Due::At(15), 48, 0), Some(Due::At(55)));
        assert_eq!(every.next(Due::At(15), 14, 0), Some(Due::At(25)));
    }

    #[test]
    fn a_time_of_day_is_looked_for_by_a_clock_that_may_be_set() {
        let due = Due::On(1_000);
        assert!(!due.has_come(u64::MAX, 999) && due.has_come(0, 1_000));
        let minute = Duration::from_secs(60);
        assert_eq!(due.look_ns(7, 990, minute), 7 + 10_000_000_000);
        assert_eq!(due.look_ns(7, 0, minute), 7 + 60_000_000_000);
        assert_eq!(due.look_ns(7, 2_000, minute), 7);
    }
}
