//! Queries about subscribers of all schedulers, and orders to all.
//!
//! Owns what can be asked, and the shape of answers.

use std::sync::Arc;

use crate::glob::ChannelGlob;
use crate::member::{Member, Members};

/// A query about subscribers, or an order that each scheduler executes before it answers.
#[derive(Clone, Debug)]
pub enum SubscriberQuery {
    /// The channels with subscribers whose names match.
    Channels(ChannelGlob),
    /// The number of subscribers of these channels.
    Subscribers(Vec<Arc<str>>),
    /// The members of a channel: see [`SubscribeRight::members`](crate::SubscribeRight::members).
    Members(MembersOf),
    /// The patterns with subscribers.
    Patterns,
    /// Disconnects a user: from one channel, or all its connections with subscriptions. Each of these is run, and asks
    /// [`Channels::take_dismissal`](crate::Channels::take_dismissal). The answer is empty.
    Dismiss(Arc<str>, Option<Arc<str>>),
}

/// The channel whose members are asked for.
#[derive(Clone, Debug)]
pub struct MembersOf {
    name: Arc<str>,
    most: usize,
}

impl MembersOf {
    pub(crate) fn new(name: &str, most: usize) -> Self {
        Self { name: name.into(), most }
    }

    /// As another node of the cluster asks for them, which has checked the right of its client.
    pub fn asked_by_node(name: &str, most: usize) -> Self {
        Self::new(name, most)
    }

    /// The name of the channel.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// How many at most.
    pub fn most(&self) -> usize {
        self.most
    }
}

/// The answer to a query.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Names with the number of their subscribers; for patterns 1 each.
    pub counts: Vec<(Arc<str>, u64)>,
    /// The requested members.
    pub members: Members,
}

impl Findings {
    pub(crate) fn held_bytes(&self) -> usize {
        let names = self.counts.iter().map(|(name, _)| name.len() + size_of::<(Arc<str>, u64)>());
        names.sum::<usize>() + self.members.some.iter().map(Member::held_bytes).sum::<usize>()
    }
}
