//! The subscriptions of a session.
//!
//! Owns the lists of channels and patterns. Empty lists take no memory, because most clients of a
//! store do not subscribe.

use channels::{Subscription, fits_glob};

/// The name of a channel or a pattern, and the subscription.
pub(super) type Named = (Box<str>, Subscription);

/// The lists, if there are any.
#[derive(Debug, Default)]
pub(super) struct Listening(Option<Box<Lists>>);

#[derive(Debug, Default)]
struct Lists {
    channels: Vec<Named>,
    patterns: Vec<Named>,
    waiting: Option<Waiting>,
    /// The receivers of a message of this client that reaches the client itself, before the reply.
    published: Option<u32>,
}

/// A subscribe command that waits for other schedulers, for modules or for the next turn. Plain data.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// The number of subscriptions of this kind before the command.
    pub(crate) before: usize,
    /// How many names of the command were answered.
    pub(crate) answered: usize,
    /// The results of the first names of the command: the indices of their subscriptions, or why there is none.
    pub(crate) results: Vec<Result<usize, String>>,
}

/// Whether a command subscribes to patterns, or ends subscriptions to them.
fn is_about_patterns(verb: &str) -> bool {
    matches!(verb, "psubscribe" | "punsubscribe")
}

impl Listening {
    pub(super) fn channels(&self) -> &[Named] {
        self.0.as_ref().map_or(&[], |lists| &lists.channels)
    }

    fn patterns(&self) -> &[Named] {
        self.0.as_ref().map_or(&[], |lists| &lists.patterns)
    }

    /// The list that a command concerns.
    pub(super) fn of(&self, verb: &str) -> &[Named] {
        if is_about_patterns(verb) { self.patterns() } else { self.channels() }
    }

    pub(super) fn of_mut(&mut self, verb: &str) -> &mut Vec<Named> {
        let lists = self.0.get_or_insert_default();
        if is_about_patterns(verb) { &mut lists.patterns } else { &mut lists.channels }
    }

    /// Channels, then patterns.
    pub(super) fn all(&self) -> impl Iterator<Item = &Named> {
        self.channels().iter().chain(self.patterns())
    }

    /// Whether messages of this channel reach the client.
    pub(super) fn hears(&self, channel: &str) -> bool {
        let fits = |(pattern, _): &Named| fits_glob(pattern.as_bytes(), channel.as_bytes());
        self.channels().iter().any(|(name, _)| **name == *channel)
            || self.patterns().iter().any(fits)
    }

    /// The client gets its own message before it is told its receivers.
    pub(super) fn keep_published(&mut self, receivers: u32) {
        self.0.get_or_insert_default().published = Some(receivers);
    }

    /// The receivers of the last message of this client, if they are to be told now.
    pub(super) fn take_published(&mut self) -> Option<u32> {
        self.0.as_mut()?.published.take()
    }

    /// The number of channels and patterns.
    pub(super) fn len(&self) -> usize {
        self.channels().len() + self.patterns().len()
    }

    /// A command waits.
    pub(super) fn wait(&mut self, waiting: Waiting) {
        self.0.get_or_insert_default().waiting = Some(waiting);
    }

    /// The command that has waited goes on.
    pub(super) fn take_waiting(&mut self) -> Option<Waiting> {
        self.0.as_mut()?.waiting.take()
    }

    /// A command is done: frees the memory if the lists are empty.
    pub(super) fn settle(&mut self) {
        if self.len() == 0 {
            self.0 = None;
        }
    }

    /// Removes and returns all subscriptions.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Named> {
        let lists = self.0.take().map(|lists| *lists).unwrap_or_default();
        lists.channels.into_iter().chain(lists.patterns)
    }
}
