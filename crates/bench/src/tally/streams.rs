//! The events of HTTP/2's streams, beyond the outcome of their requests.
//!
//! Owns these counts. Never decides what was an error: the client does.

use std::collections::BTreeMap;

use crate::limits::STREAM_ENDS_MAXIMUM;

/// The events that one thread saw.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamTally {
    /// The fewest streams that a server allowed on a connection, if that is less than planned.
    pub allowed: Option<u32>,
    /// How often content of a request could not be sent because a window of the server was used up.
    pub window_stalls: u64,
    /// How long connections had such content, in nanoseconds.
    pub window_stalled_ns: u64,
    /// Requests that a server did not begin because it closed the connection: they were sent again.
    pub repeated: u64,
    /// The errors that ended streams and connections, in words, and how often each did.
    ends: BTreeMap<String, u64>,
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
        let is_known = self.ends.contains_key(&text);
        let text = if is_known || self.ends.len() < STREAM_ENDS_MAXIMUM {
            text
        } else {
            "other errors".to_owned()
        };
        *self.ends.entry(text).or_default() += count;
    }

    /// The errors, and how often each ended something.
    pub fn ends(&self) -> impl Iterator<Item = (&str, u64)> {
        self.ends.iter().map(|(text, count)| (text.as_str(), *count))
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
        for (text, count) in &other.ends {
            self.add(text.clone(), *count);
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
        let ends: Vec<(&str, u64)> = one.ends().collect();
        assert_eq!(ends.len(), STREAM_ENDS_MAXIMUM + 1);
        assert!(ends.contains(&("error 0", 2)) && ends.contains(&("GOAWAY NO_ERROR", 1)));
        assert_eq!(ends.iter().map(|(_, count)| count).sum::<u64>(), 102);
        one.begin();
        assert_eq!((one.allowed, one.window_stalls, one.ends().count()), (Some(30), 0, 0));
    }
}
