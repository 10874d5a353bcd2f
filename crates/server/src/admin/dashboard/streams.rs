//! The event streams that are open, and when each is due.
//!
//! Owns the pace: a snapshot a second, and none while the client has not taken the last one. So a slow reader gets
//! fewer snapshots, and nothing queues up for it. Takes no snapshots.

use std::sync::Arc;

use runtime::slots::ProcessId;

use crate::limits::DASHBOARD_STREAMS;
use crate::live::ViewRequest;

/// Milliseconds from one snapshot to the next. All streams are due at the same moments, so that those with the same
/// list share one query of the schedulers.
const PACE_MS: u64 = 1000;

/// The open streams.
#[derive(Debug, Default)]
pub(in crate::admin) struct Streams(Vec<Stream>);

#[derive(Debug)]
struct Stream {
    process: ProcessId,
    /// The list that it shows.
    wish: Arc<ViewRequest>,
    /// When the next snapshot is due.
    due_ms: u64,
    /// Whether it waits for its time; otherwise it is being answered, or its client has yet to take the last snapshot.
    is_resting: bool,
}

/// The next step of an open stream when its connection is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::admin) enum Turn {
    /// It waits until it is due.
    Rest,
    /// It sends a snapshot with this list.
    Show(Arc<ViewRequest>),
}

impl Streams {
    /// Opens a stream. `false`: there are as many as there may be.
    pub(in crate::admin) fn open(&mut self, process: ProcessId, wish: Arc<ViewRequest>) -> bool {
        if self.0.len() >= DASHBOARD_STREAMS {
            return false;
        }
        self.0.push(Stream { process, wish, due_ms: 0, is_resting: false });
        true
    }

    /// Whether this process has a stream.
    pub(in crate::admin) fn has(&self, process: ProcessId) -> bool {
        self.0.iter().any(|stream| stream.process == process)
    }

    /// The client of a stream has taken everything: what comes next. `None`: the process has no stream.
    pub(in crate::admin) fn turn(&mut self, process: ProcessId, now_ms: u64) -> Option<Turn> {
        let stream = self.0.iter_mut().find(|stream| stream.process == process)?;
        if now_ms < stream.due_ms {
            stream.is_resting = true;
            return Some(Turn::Rest);
        }
        stream.is_resting = false;
        Some(Turn::Show(Arc::clone(&stream.wish)))
    }

    /// A snapshot was written to a stream.
    pub(in crate::admin) fn on_shown(&mut self, process: ProcessId, now_ms: u64) {
        if let Some(stream) = self.0.iter_mut().find(|stream| stream.process == process) {
            // Not the next moment if that is near: too little would have happened.
            stream.due_ms = (now_ms + PACE_MS / 2).next_multiple_of(PACE_MS);
        }
    }

    /// The process of a stream has ended.
    pub(in crate::admin) fn on_gone(&mut self, process: ProcessId) {
        self.0.retain(|stream| stream.process != process);
    }

    /// The streams that rest and are due.
    pub(in crate::admin) fn due(&mut self, now_ms: u64) -> Vec<ProcessId> {
        let due = self.0.iter_mut().filter(|stream| stream.is_resting && stream.due_ms <= now_ms);
        due.map(|stream| {
            stream.is_resting = false;
            stream.process
        })
        .collect()
    }

    /// Milliseconds until the next stream is due; `None` if none rests.
    pub(in crate::admin) fn next_due_ms(&self, now_ms: u64) -> Option<u64> {
        let resting = self.0.iter().filter(|stream| stream.is_resting);
        resting.map(|stream| stream.due_ms.saturating_sub(now_ms)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(number: u64) -> ProcessId {
        ProcessId::from_bits(number)
    }

    #[test]
    fn a_stream_shows_once_a_second_and_not_before_its_client_has_taken_the_last() {
        let mut streams = Streams::default();
        let one = process(1);
        assert!(streams.open(one, Arc::default()));
        assert_eq!(streams.turn(one, 5000), Some(Turn::Show(Arc::default())));
        streams.on_shown(one, 5000);
        // Its client is slow: however late it is, it is not asked to show.
        assert_eq!((streams.due(9000), streams.next_due_ms(9000)), (vec![], None));
        assert_eq!(streams.turn(one, 9000), Some(Turn::Show(Arc::default())));
        streams.on_shown(one, 9000);
        assert_eq!(streams.turn(one, 9100), Some(Turn::Rest));
        assert_eq!((streams.due(9999), streams.next_due_ms(9999)), (vec![], Some(1)));
        assert_eq!((streams.due(10_000), streams.due(10_000)), (vec![one], vec![]));
        streams.on_gone(one);
        assert_eq!(streams.turn(one, 20_000), None);
    }

    #[test]
    fn as_many_are_open_as_may_be() {
        let mut streams = Streams::default();
        for number in 0..DASHBOARD_STREAMS {
            assert!(streams.open(process(number as u64), Arc::default()));
        }
        assert!(!streams.open(process(1000), Arc::default()));
        streams.on_gone(process(0));
        assert!(streams.open(process(1000), Arc::default()));
    }
}
