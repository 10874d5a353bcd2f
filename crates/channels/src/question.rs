//! Queries about subscribers of all schedulers, and orders to all.
//!
//! Owns what can be asked, and the shape of answers.

use std::sync::Arc;

use crate::glob::Glob;
use crate::member::{Member, Members};

/// A question about subscribers, or what each scheduler does before it answers.
#[derive(Clone, Debug)]
pub enum Question {
    /// The channels with subscribers whose names fit.
    Channels(Glob),
    /// How many subscribers these channels have.
    Subscribers(Vec<Arc<str>>),
    /// The members of this channel, so many of them at most.
    Members(Arc<str>, usize),
    /// The patterns that have subscribers.
    Patterns,
    /// Sends a user away: from a channel, or its connections with subscriptions altogether. Each of them is run, and asks
    /// [`Channels::take_dismissal`](crate::Channels::take_dismissal). Nothing is found.
    Dismiss(Arc<str>, Option<Arc<str>>),
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Names with the number of their subscribers; of patterns each has one.
    pub counts: Vec<(Arc<str>, u64)>,
    /// The members that were asked for.
    pub members: Members,
}

impl Findings {
    pub(crate) fn held_bytes(&self) -> usize {
        let names = self.counts.iter().map(|(name, _)| name.len() + size_of::<(Arc<str>, u64)>());
        names.sum::<usize>() + self.members.some.iter().map(Member::held_bytes).sum::<usize>()
    }
}
