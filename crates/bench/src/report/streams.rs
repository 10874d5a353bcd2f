//! HTTP/2 in a report: what happened to streams beyond the outcome of their requests.
//!
//! Owns the names and units of these fields, and their words.

use serde::{Deserialize, Serialize};

use crate::report::figures::{count, duration, numbered};
use crate::tally::StreamTally;

/// The streams of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamsReport {
    /// The fewest streams that the server allowed on a connection; null if it allowed as many as planned.
    pub allowed: Option<u32>,
    /// How often content of a request could not be sent because a window of the server was used up.
    pub window_stalls: u64,
    /// The sum of these waits over all connections.
    pub window_stalled_ns: u64,
    /// Requests that the server did not begin because it closed the connection: they were sent again.
    pub repeated: u64,
    /// The errors that ended streams and connections.
    pub ends: Vec<StreamEndReport>,
}

/// Streams and connections that ended with one error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamEndReport {
    /// The error in words, such as `RST_STREAM CANCEL`.
    pub text: String,
    /// How often it ended something.
    pub count: u64,
}

impl StreamsReport {
    /// The report of a run.
    pub fn of(streams: &StreamTally) -> Self {
        let ends = streams.ends();
        Self {
            allowed: streams.allowed,
            window_stalls: streams.window_stalls,
            window_stalled_ns: streams.window_stalled_ns,
            repeated: streams.repeated,
            ends: ends
                .map(|(text, count)| StreamEndReport { text: text.to_owned(), count })
                .collect(),
        }
    }

    /// The streams of several generators; `None` if they had none.
    pub(crate) fn together<'r>(parts: impl Iterator<Item = &'r StreamsReport>) -> Option<Self> {
        parts.cloned().reduce(|mut sum, part| {
            sum.allowed = [sum.allowed, part.allowed].into_iter().flatten().min();
            sum.window_stalls += part.window_stalls;
            sum.window_stalled_ns += part.window_stalled_ns;
            sum.repeated += part.repeated;
            for end in part.ends {
                match sum.ends.iter_mut().find(|known| known.text == end.text) {
                    Some(known) => known.count += end.count,
                    None => sum.ends.push(end),
                }
            }
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
    pub(crate) fn most_frequent(&self) -> Option<&StreamEndReport> {
        self.ends.iter().max_by_key(|end| end.count)
    }
}
