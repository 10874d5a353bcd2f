//! The words for what happened to streams of HTTP/2.

use crate::report::figures::{count, duration, numbered};
use crate::tally::{StreamEnding, StreamTally};

impl StreamTally {
    /// The streams of several runs or generators; `None` if they had none.
    pub(crate) fn together<'r>(parts: impl Iterator<Item = &'r StreamTally>) -> Option<Self> {
        parts.cloned().reduce(|mut sum, part| {
            sum.merge(&part);
            sum
        })
    }

    /// The lines for a terminal; none if nothing happened.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(allowed) = self.allowed {
            lines.push(format!("the server allows {allowed} streams a connection"));
        }
        if self.window_stalls > 0 {
            lines.push(format!(
                "{}, {} of waiting for a window of the server",
                numbered(self.window_stalls, "window stall"),
                duration(self.window_stalled_ns as f64),
            ));
        }
        if self.repeated > 0 {
            let repeated = numbered(self.repeated, "request");
            lines.push(format!("{repeated} sent again, because the server ended connections"));
        }
        lines
            .extend(self.ends.iter().map(|end| format!("{} times {}", count(end.count), end.text)));
        lines
    }

    /// The error that ended most, if there was any.
    pub(crate) fn most_frequent(&self) -> Option<&StreamEnding> {
        self.ends.iter().max_by_key(|end| end.count)
    }
}
