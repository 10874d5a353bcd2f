//! The events of HTTP/2's streams, beyond the outcome of their requests.
//!
//! Owns these counts. Never decides what was an error: the client does.

use serde::{Deserialize, Serialize};

use crate::limits::STREAM_ENDS_MAXIMUM;

/// The events that one thread saw, or all of a run, as stored in its report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamTally {
    /// The fewest streams that a server allowed on a connection, if that is less than planned; null otherwise.
    pub allowed: Option<u32>,
    /// How often content of a request could not be sent because a window of the server was used up.
    pub window_stalls: u64,
    /// How long connections had such content, in nanoseconds.
    pub window_stalled_ns: u64,
    /// Requests that a server did not begin because it closed the connection: they were sent again.
    pub repeated: u64,
    /// The errors that ended streams and connections, in order of first occurrence.
    pub ends: Vec<StreamEnding>,
}

/// Streams and connections that ended with one error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamEnding {
    /// The error in words, such as `RST_STREAM CANCEL`.
    pub text: String,
    /// How often it ended something.
    pub count: u64,
}

impl StreamTally {
    /// A server allows this many streams, where more were planned.
    pub fn limit(&mut self, allowed: u32) {
        self.allowed = Some(self.allowed.map_or(allowed, |known| known.min(allowed)));
    }

    /// A stream or connection ended with an error. Of very many different ones only the first are told apart.
    pub fn end(&mut self, text: String) {
        self.add(text, 1);
    }

    fn add(&mut self, text: String, count: u64) {
        let is_told = self.ends.len() < STREAM_ENDS_MAXIMUM
            || self.ends.iter().any(|known| known.text == text);
        let text = if is_told { text } else { "other errors".to_owned() };
        match self.ends.iter_mut().find(|known| known.text == text) {
            Some(known) => known.count += count,
            None => self.ends.push(StreamEnding { text, count }),
        }
    }

    /// Forgets the warm-up. A limit of a server is a fact of the connections that stay open.
    pub fn begin(&mut self) {
        *self = Self { allowed: self.allowed, ..Self::default() };
    }

    /// Adds what another thread saw.
    pub fn merge(&mut self, other: &StreamTally) {
        if let Some(allowed) = other.allowed {
            self.limit(allowed);
        }
        self.window_stalls += other.window_stalls;
        self.window_stalled_ns += other.window_stalled_ns;
        self.repeated += other.repeated;
        for end in &other.ends {
            self.add(end.text.clone(), end.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tallies_of_two_threads_add_up_and_stay_small() {
        let mut one = StreamTally { window_stalls: 2, repeated: 1, ..StreamTally::default() };
        one.limit(100);
        one.limit(30);
        one.end("GOAWAY NO_ERROR".to_owned());
        let mut other = StreamTally { window_stalls: 1, ..StreamTally::default() };
        other.limit(50);
        (0..100).for_each(|number| other.end(format!("error {number}")));
        other.end("error 0".to_owned());
        one.merge(&other);
        assert_eq!((one.allowed, one.window_stalls, one.repeated), (Some(30), 3, 1));
        let of = |text| one.ends.iter().find(|end| end.text == text).map(|end| end.count);
        assert_eq!(one.ends.len(), STREAM_ENDS_MAXIMUM + 1);
        assert_eq!((of("error 0"), of("GOAWAY NO_ERROR")), (Some(2), Some(1)));
        assert_eq!(one.ends.iter().map(|end| end.count).sum::<u64>(), 102);
        one.begin();
        assert_eq!((one.allowed, one.window_stalls, one.ends.len()), (Some(30), 0, 0));
    }
}
