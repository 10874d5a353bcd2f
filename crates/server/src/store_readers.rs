//! Programs that hold a snapshot of the store for a long time.
//!
//! Owns which of them are reported. While a program holds an old snapshot, the pages of that snapshot cannot be reused,
//! so the file grows by everything that is written. Such a program may hang, or its output may not be read. Never ends
//! the program.

use std::time::{Duration, Instant};

use runtime::diagnostic::{self, Level};
use store::SnapshotReader;

use crate::limits::STORE_READER_PATIENCE;

/// A reader, and when it was first seen.
#[derive(Clone, Copy, Debug)]
struct Known {
    reader: SnapshotReader,
    since: Instant,
    is_told: bool,
}

/// The snapshots of other programs.
#[derive(Debug, Default)]
pub(crate) struct StoreReaders(Vec<Known>);

impl StoreReaders {
    /// Compares the current snapshots with the known ones, and reports the old ones.
    pub(crate) fn look(&mut self, readers: &[SnapshotReader], last_commit: u64, now: Instant) {
        for (reader, time) in self.found_slow(readers, last_commit, now) {
            let SnapshotReader { commit, process } = reader;
            let (behind, name) = (last_commit.saturating_sub(commit), reader.name());
            diagnostic::write(
                Level::Warn,
                format_args!(
                    "process {process} ({name}) has read one state of the store for {} s, and {behind} \
                     commits came since: the file grows by what they write; end that process if it hangs",
                    time.as_secs(),
                ),
            );
        }
    }

    fn found_slow(
        &mut self,
        readers: &[SnapshotReader],
        last_commit: u64,
        now: Instant,
    ) -> Vec<(SnapshotReader, Duration)> {
        let own = std::process::id();
        let others = readers.iter().filter(|reader| reader.process != own);
        let known = |reader: &SnapshotReader| {
            let before = self.0.iter().find(|known| known.reader == *reader);
            before.copied().unwrap_or(Known { reader: *reader, since: now, is_told: false })
        };
        let mut all: Vec<Known> = others.map(known).collect();
        let mut slow = Vec::new();
        for known in &mut all {
            let time = now.saturating_duration_since(known.since);
            let harms = known.reader.commit < last_commit;
            if harms && time >= STORE_READER_PATIENCE && !known.is_told {
                known.is_told = true;
                slow.push((known.reader, time));
            }
        }
        self.0 = all;
        slow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "times to count from")]
    fn a_reader_is_told_of_once_when_it_has_been_there_for_long_and_does_harm() {
        let begin = Instant::now();
        let own = SnapshotReader { commit: 1, process: std::process::id() };
        let slow = SnapshotReader { commit: 5, process: 2 };
        let newest = SnapshotReader { commit: 9, process: 3 };
        let mut readers = StoreReaders::default();
        let all = [own, slow, newest];
        assert_eq!(readers.found_slow(&all, 9, begin), []);
        let almost = begin + STORE_READER_PATIENCE - Duration::from_millis(1);
        assert_eq!(readers.found_slow(&all, 9, almost), []);
        let due = begin + STORE_READER_PATIENCE;
        assert_eq!(readers.found_slow(&all, 9, due), [(slow, STORE_READER_PATIENCE)]);
        assert_eq!(readers.found_slow(&all, 9, due), []);
        // A snapshot of the newest commit does no harm until the next commit.
        assert_eq!(readers.found_slow(&all, 10, due), [(newest, STORE_READER_PATIENCE)]);
        // A snapshot that was released and taken again starts anew.
        assert_eq!(readers.found_slow(&[newest], 10, due), []);
        assert_eq!(readers.found_slow(&all, 10, due), []);
        let later = due + STORE_READER_PATIENCE;
        assert_eq!(readers.found_slow(&all, 10, later), [(slow, STORE_READER_PATIENCE)]);
    }
}
