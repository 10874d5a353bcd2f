//! The answers of the last minute, to compare with.
//!
//! Owns how many are kept: a minute, and no more bytes than `limits::HISTORY_BYTES`.

use std::collections::VecDeque;
use std::time::Duration;

use crate::figures::TakenSnapshot;
use crate::limits::{HISTORY, HISTORY_BYTES};

/// The shortest interval that is shown: after a key the next answer comes at once, and rates over so little time say
/// nothing.
const SHORTEST: Duration = Duration::from_millis(200);

/// A kept answer.
struct Kept {
    moment: TakenSnapshot,
    /// When it came, since the program started.
    at: Duration,
    /// Its length as JSON.
    bytes: usize,
}

/// Answers, the newest last.
#[derive(Default)]
pub(crate) struct History {
    kept: VecDeque<Kept>,
    bytes: usize,
}

impl History {
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
        self.bytes = 0;
    }

    pub(crate) fn add(&mut self, moment: TakenSnapshot, at: Duration, bytes: usize) {
        self.bytes += bytes;
        self.kept.push_back(Kept { moment, at, bytes });
        // The last two are what is shown.
        while self.kept.len() > 2 {
            let oldest = &self.kept[0];
            if self.bytes <= HISTORY_BYTES && at.saturating_sub(oldest.at) <= HISTORY {
                break;
            }
            self.bytes -= oldest.bytes;
            self.kept.pop_front();
        }
    }

    /// The newest answer.
    pub(crate) fn latest(&self) -> Option<&TakenSnapshot> {
        self.kept.back().map(|kept| &kept.moment)
    }

    /// The newest answer, and the last one that came [`SHORTEST`] before it; the same one twice if there is only one.
    pub(crate) fn newest(&self) -> Option<(&TakenSnapshot, &TakenSnapshot)> {
        let latest = self.kept.back()?;
        let is_before = |kept: &&Kept| kept.at + SHORTEST <= latest.at;
        let before = self.kept.iter().rfind(is_before).unwrap_or(&self.kept[0]);
        Some((&before.moment, &latest.moment))
    }

    /// The oldest two answers that followed each other, with the list that the newest has if there are such; none if
    /// there are not three.
    pub(crate) fn oldest(&self) -> Option<(&TakenSnapshot, &TakenSnapshot)> {
        let list = self.latest()?.wanted.list;
        let pairs = || {
            let firsts = self.kept.iter().map(|kept| &kept.moment);
            firsts.clone().zip(firsts.skip(1)).take(self.kept.len().saturating_sub(2))
        };
        let same = |(before, after): &(&TakenSnapshot, &TakenSnapshot)| {
            before.wanted.list == list && after.wanted.list == list
        };
        pairs().find(same).or_else(|| pairs().next())
    }
}

#[cfg(test)]
mod tests {
    use live::{List, ServerSnapshot};

    use super::*;
    use crate::ask::SnapshotRequest;

    fn moment(at_ms: u64, list: Option<List>) -> TakenSnapshot {
        let wanted = SnapshotRequest { list, ..SnapshotRequest::default() };
        TakenSnapshot { wanted, snapshot: ServerSnapshot { at_ms, ..ServerSnapshot::default() } }
    }

    fn times(pair: Option<(&TakenSnapshot, &TakenSnapshot)>) -> Option<(u64, u64)> {
        pair.map(|(before, after)| (before.snapshot.at_ms, after.snapshot.at_ms))
    }

    #[test]
    fn a_minute_is_kept() {
        let mut history = History::default();
        for second in 0..100 {
            history.add(moment(second, None), Duration::from_secs(second), 10);
        }
        assert_eq!(times(history.newest()), Some((98, 99)));
        assert_eq!(times(history.oldest()), Some((39, 40)));
        assert_eq!(history.bytes, 61 * 10);
    }

    #[test]
    fn bytes_are_bounded_and_the_last_two_stay() {
        let mut history = History::default();
        for second in 0..10 {
            history.add(moment(second, None), Duration::from_secs(second), HISTORY_BYTES / 4);
        }
        assert_eq!(times(history.oldest()), Some((6, 7)));
        history.add(moment(10, None), Duration::from_secs(10), HISTORY_BYTES * 2);
        assert_eq!((times(history.newest()), times(history.oldest())), (Some((9, 10)), None));
    }

    #[test]
    fn comparison_uses_same_list() {
        let mut history = History::default();
        let lists = [None, None, Some(List::Routes), Some(List::Routes), Some(List::Routes)];
        for (second, list) in (0..).zip(lists) {
            history.add(moment(second, list), Duration::from_secs(second), 1);
        }
        assert_eq!(times(history.oldest()), Some((2, 3)));
        history.add(moment(9, Some(List::Keys)), Duration::from_secs(9), 1);
        assert_eq!(times(history.oldest()), Some((0, 1)));
    }
}
