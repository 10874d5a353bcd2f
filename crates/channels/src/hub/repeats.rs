//! Messages that a publisher may send twice with the same key, because it got no answer.
//!
//! Owns the recent keys of each channel, at the channel's home. For a repeated key the first answer
//! is repeated.

use std::collections::VecDeque;
use std::sync::Arc;

use ahash::HashMap;

use crate::limits::{KEY_MS, KEYED_CHANNELS, KEYS_PER_CHANNEL};
use crate::outcome::Published;

/// The keys of a channel's last messages, the oldest first.
type Keys = VecDeque<(Arc<str>, Published, u64)>;

/// The keys received so far.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    by_channel: HashMap<Arc<str>, Keys>,
}

impl Repeats {
    /// The result of an earlier message with this key, if there is one.
    pub(super) fn find(&self, channel: &str, key: &str, now_ms: u64) -> Option<Published> {
        let keys = self.by_channel.get(channel)?;
        let mut known = keys.iter().filter(|(_, _, at_ms)| !is_old(*at_ms, now_ms));
        known.find(|(known, ..)| **known == *key).map(|(_, published, _)| *published)
    }

    /// A message with this key was published.
    pub(super) fn keep(&mut self, channel: &str, key: Arc<str>, published: Published, now_ms: u64) {
        if self.by_channel.len() >= KEYED_CHANNELS && !self.by_channel.contains_key(channel) {
            // A search for old ones would cost as much for each new channel.
            if let Some(one) = self.by_channel.keys().next().cloned() {
                self.by_channel.remove(&one);
            }
        }
        let keys = self.by_channel.entry(channel.into()).or_default();
        if keys.len() >= KEYS_PER_CHANNEL {
            keys.pop_front();
        }
        keys.push_back((key, published, now_ms));
    }

    /// Removes keys that are too old.
    pub(super) fn forget_old(&mut self, now_ms: u64) {
        self.by_channel.retain(|_, keys| {
            while keys.front().is_some_and(|(_, _, at_ms)| is_old(*at_ms, now_ms)) {
                keys.pop_front();
            }
            !keys.is_empty()
        });
    }
}

fn is_old(at_ms: u64, now_ms: u64) -> bool {
    now_ms.saturating_sub(at_ms) >= KEY_MS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position::Position;

    #[test]
    fn a_key_is_known_for_its_time_and_its_channel() {
        let published =
            |offset| Published { position: Position { epoch: 1, offset }, receivers: 0 };
        let mut repeats = Repeats::default();
        repeats.keep("a", "k".into(), published(7), 1_000);
        assert_eq!(repeats.find("a", "k", 1_000 + KEY_MS - 1), Some(published(7)));
        assert_eq!((repeats.find("b", "k", 0), repeats.find("a", "l", 0)), (None, None));
        assert_eq!(repeats.find("a", "k", 1_000 + KEY_MS), None);
        for number in 0..KEYS_PER_CHANNEL {
            repeats.keep("a", number.to_string().into(), published(8), 2_000);
        }
        assert_eq!(repeats.find("a", "k", 2_000), None, "the oldest made room");
        assert!(repeats.find("a", "0", 2_000).is_some());
        for number in 0..2 * KEYED_CHANNELS {
            repeats.keep(&number.to_string(), "k".into(), published(1), 3_000);
        }
        assert!(repeats.by_channel.len() <= KEYED_CHANNELS);
        repeats.forget_old(3_000 + KEY_MS);
        assert!(repeats.by_channel.is_empty());
    }
}
