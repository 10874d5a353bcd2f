//! How long other servers take for the head of their answer to a fetch.
//!
//! Owns a histogram for each of the first servers, and one for all others. A fetch that fails before counts until then,
//! so that a server that does not answer is seen.

use ahash::HashMap;
use client::ServerOrigin;
use metric::Histogram;
use runtime::account::ticks_since;

use crate::limits::FETCH_ORIGINS_TIMED;

/// The times of one scheduler, in ticks of [`ticks_since`].
#[derive(Debug, Default)]
pub(super) struct Times {
    by_origin: HashMap<ServerOrigin, Histogram>,
    others: Option<Histogram>,
}

impl Times {
    /// A fetch that began so many nanoseconds before this turn has a head, or has failed.
    pub(super) fn count(&mut self, origin: &ServerOrigin, since_ns: u64) {
        let ticks = ticks_since(since_ns);
        if let Some(known) = self.by_origin.get_mut(origin) {
            return known.count(ticks);
        }
        if self.by_origin.len() < FETCH_ORIGINS_TIMED {
            self.by_origin.entry(origin.clone()).or_default().count(ticks);
        } else {
            self.others.get_or_insert_default().count(ticks);
        }
    }

    /// Each server, and its times.
    pub(super) fn each(&self) -> impl Iterator<Item = (String, &Histogram)> {
        let known = self.by_origin.iter().map(|(origin, times)| (origin.to_string(), times));
        known.chain(self.others.iter().map(|times| ("(others)".to_owned(), times)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use client::{OriginHost, OriginTransport};

    #[test]
    fn servers_beyond_the_bound_share_their_times() {
        let mut times = Times::default();
        for port in 0..=FETCH_ORIGINS_TIMED as u16 + 1 {
            let host = OriginHost::Name("a.b".into());
            let origin = ServerOrigin { transport: OriginTransport::Encrypted, host, port };
            times.count(&origin, 5);
            times.count(&origin, 5);
        }
        let counts: Vec<(String, u64)> = times
            .each()
            .map(|(name, times)| (name, times.filled().map(|(_, count)| count).sum()))
            .collect();
        assert_eq!(counts.len(), FETCH_ORIGINS_TIMED + 1);
        assert_eq!(counts.last().unwrap(), &("(others)".to_owned(), 4));
        assert!(counts.contains(&("https://a.b:0".to_owned(), 2)));
    }
}
