//! Channels as they are seen from outside: how many subscribers, how far behind, how much is kept.
//!
//! Owns that view, and who was too slow lately. Changes nothing.

use std::sync::Arc;

use super::{Channels, Subscribed};
use crate::channel::Place;

/// A channel, as one scheduler knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelView<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its subscribers on this scheduler.
    pub subscribers: usize,
    /// Those of them that were too slow, and wait to catch up.
    pub behind: usize,
    /// Messages that subscribers did not get, as far as this scheduler counts them: those of all schedulers are the
    /// sum.
    pub dropped: u64,
    /// The pattern of its rules; empty if it has none.
    pub pattern: &'a str,
    /// Whether this scheduler is its home. Only there are the numbers that follow those of the channel.
    pub is_home: bool,
    /// Messages published since it is known.
    pub published: u64,
    /// Messages that are kept.
    pub kept: usize,
    /// Bytes that they hold.
    pub kept_bytes: usize,
}

impl Channels {
    /// The channels that this scheduler knows, with the number of slots in which they are, so that a caller can bound
    /// its work.
    pub fn views(&self) -> impl Iterator<Item = ChannelView<'_>> {
        self.channels.iter().flatten().map(|channel| ChannelView {
            name: &channel.name,
            subscribers: channel.subscribers(),
            behind: channel.audiences.iter().map(crate::audience::Audience::behind_count).sum(),
            dropped: channel.dropped,
            pattern: self.rulebook.pattern_of(&channel.name),
            is_home: matches!(channel.place, Place::Home(_)),
            published: channel.history.accepted(),
            kept: channel.history.count(),
            kept_bytes: channel.history.held_bytes(),
        })
    }

    /// A subscriber was too slow.
    #[cold]
    pub(super) fn note_slow(&mut self, of: Subscribed) {
        let channel = match of {
            Subscribed::Channel(place) => self.channels[place as usize].as_ref(),
            Subscribed::Pattern(_) => None,
        };
        let name = channel.map(|channel| Arc::clone(&channel.name));
        self.slow = (name, self.slow.1 + 1);
    }

    /// How many subscribers were too slow since this was last asked, and the channel of the last of them; `None` if it
    /// subscribes to a pattern.
    pub fn take_slow(&mut self) -> (Option<Arc<str>>, u64) {
        std::mem::take(&mut self.slow)
    }
}
