//! The report of the writer of the store to the control scheduler of its commits and checkpoints.
//!
//! Owns the numbers, and when they are told: after work, and not again within [`STORE_TOLD_REST`]. Nobody has to ask,
//! because a writer that waits for its disk could not answer.

use std::time::{Duration, Instant};

use runtime::clock::milliseconds;
use serde_json::{Value, json};

use crate::limits::STORE_TOLD_REST;

metric::counted! {
    /// The counters of the store's writer.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct StoreWriterStats {
        /// Commits of the writer of the store, each of the orders that waited at once.
        pub commits: u64 = Counter(Count, "store_writer.commits", "store_commits"),
        /// Time of all commits.
        pub commit_us: u64 = Counter(Microseconds, "store_writer.commit_us", "store_commit"),
        /// Time of the last commit.
        pub last_commit_us: u64 = Gauge(Microseconds, "store_writer.last_commit_us", "store_last_commit"),
        /// Time of the longest commit since the start.
        pub longest_commit_us: u64 = Gauge(Microseconds, "store_writer.commit_max_us", "store_commit_max"),
        /// When the last commit ended, in milliseconds since 1970; 0: there was none.
        pub last_commit_at_ms: u64 = Elsewhere("as an age, by `velodrome top`"),
        /// Checkpoints of the store, each of which makes the commits before it durable.
        pub checkpoints: u64 = Counter(Count, "store_writer.checkpoints", "store_checkpoints"),
        /// Time of the last checkpoint.
        pub last_checkpoint_us: u64 = Gauge(Microseconds, "store_writer.last_checkpoint_us", "store_last_checkpoint"),
        /// Time of the longest checkpoint since the start.
        pub longest_checkpoint_us: u64 = Gauge(Microseconds, "store_writer.checkpoint_max_us", "store_checkpoint_max"),
        /// Whether the store has a role.
        pub is_member: u64 = Elsewhere("by `ctl status`"),
        /// The term of the leader of a store with a role; 0: it has none.
        pub term: u64 = Gauge(Count, "store_writer.term", "store_term"),
        /// Whether a store with a role leads.
        pub leads: u64 = Gauge(Count, "store_writer.leads", "store_leads"),
        /// Whether a store with a role hears its leader, or leads.
        pub hears_leader: u64 = Gauge(Count, "store_writer.hears_leader", "store_hears_leader"),
        /// The number of the last record of a store with a role.
        pub record: u64 = Gauge(Count, "store_writer.record", "store_record"),
        /// The number of the last record of its leader, as far as it has heard: the difference is its lag.
        pub leader_record: u64 = Gauge(Count, "store_writer.leader_record", "store_leader_record"),
        /// When the last checkpoint ended, in milliseconds since 1970; 0: there was none.
        pub last_checkpoint_at_ms: u64 = Elsewhere("as an age, by `velodrome top`"),
    }
}

impl StoreWriterStats {
    /// The report of `ctl status` on a store with a role.
    pub(crate) fn role(&self) -> Option<Value> {
        let Self { term, leads, hears_leader, record, leader_record, .. } = *self;
        let role = if leads == 1 { "leader" } else { "replica" };
        (self.is_member == 1).then(|| {
            json!({
                "role": role,
                "term": term,
                "record": record,
                "leader_record": leader_record,
                "behind": leader_record.saturating_sub(record),
                "hears_leader": hears_leader == 1,
            })
        })
    }

    /// A commit has ended at this time.
    pub(crate) fn note_commit(&mut self, took: Duration, at_ms: u64) {
        self.commits += 1;
        self.last_commit_us = microseconds(took);
        self.commit_us += self.last_commit_us;
        self.longest_commit_us = self.longest_commit_us.max(self.last_commit_us);
        self.last_commit_at_ms = at_ms;
    }

    /// A checkpoint has ended at this time.
    pub(crate) fn note_checkpoint(&mut self, took: Duration, at_ms: u64) {
        self.checkpoints += 1;
        self.last_checkpoint_us = microseconds(took);
        self.longest_checkpoint_us = self.longest_checkpoint_us.max(self.last_checkpoint_us);
        self.last_checkpoint_at_ms = at_ms;
    }
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// The numbers that were told last.
#[derive(Debug, Default)]
pub(crate) struct Telling {
    told: StoreWriterStats,
    at: Option<Instant>,
}

impl Telling {
    /// The news to be told now, if any; and if it is too soon for news, how long it has to wait.
    pub(crate) fn due(
        &mut self,
        stats: StoreWriterStats,
        now: Instant,
    ) -> (Option<StoreWriterStats>, Option<Duration>) {
        if stats == self.told {
            return (None, None);
        }
        let since = self.at.map(|at| now.saturating_duration_since(at));
        if let Some(left) = since.and_then(|since| STORE_TOLD_REST.checked_sub(since))
            && milliseconds(left) > 0
        {
            return (None, Some(left));
        }
        (self.told, self.at) = (stats, Some(now));
        (Some(stats), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the helper thread has a clock of its own, too")]
    fn news_are_told_at_once_and_then_after_a_rest() {
        let (mut telling, mut stats) = (Telling::default(), StoreWriterStats::default());
        let begun = Instant::now();
        assert_eq!(telling.due(stats, begun), (None, None), "there is nothing to tell");
        stats.note_commit(Duration::from_micros(7), 1);
        assert_eq!(telling.due(stats, begun), (Some(stats), None));
        stats.note_commit(Duration::from_micros(5), 2);
        let (told, left) = telling.due(stats, begun + STORE_TOLD_REST / 4);
        assert_eq!((told, left), (None, Some(STORE_TOLD_REST / 4 * 3)));
        assert_eq!(telling.due(stats, begun + STORE_TOLD_REST), (Some(stats), None));
        assert_eq!((stats.commits, stats.commit_us, stats.longest_commit_us), (2, 12, 7));
    }
}
