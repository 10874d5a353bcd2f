//! What a link listens to.
//!
//! Owns its subscriptions, over connections: all are made again on the next one. Never reads a message.

use std::sync::Arc;

use ahash::HashMap;
use channels::{ClusterNode, Keeping};

use crate::speech::Speech;
use crate::subjects::Subjects;

/// What the messages of a subscription are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    /// Answers to requests.
    Inbox,
    /// Signs of life of nodes.
    Nodes,
    /// Questions of other nodes.
    Questions,
    /// New epochs of streams.
    Epochs,
    /// A channel.
    Channel(Arc<str>, Keeping),
    /// All channels without history.
    AllAnnounced,
    /// All channels with one.
    AllAdded,
}

/// The subscriptions of a link.
#[derive(Debug, Default)]
pub(crate) struct Following {
    channels: HashMap<Arc<str>, (Keeping, u64)>,
    follows_all: bool,
    by_number: HashMap<u64, Interest>,
}

impl Following {
    pub(crate) fn count(&self) -> usize {
        self.channels.len()
    }

    /// What the messages of this subscription are; `None`: it has ended.
    pub(crate) fn interest(&self, subscription: u64) -> Option<&Interest> {
        self.by_number.get(&subscription)
    }

    /// How a channel is followed.
    pub(crate) fn keeping(&self, name: &str) -> Option<Keeping> {
        self.channels.get(name).map(|(keeping, _)| *keeping)
    }

    /// Follows a channel; without a connection, from the next one on.
    pub(crate) fn follow(
        &mut self,
        name: Arc<str>,
        keeping: Keeping,
        speech: Option<&mut Speech>,
        subjects: &Subjects,
    ) {
        if self.keeping(&name) == Some(keeping) {
            return;
        }
        let mut speech = speech;
        self.unfollow(&name, speech.as_deref_mut());
        let number = speech.map_or(0, |speech| {
            let number = speech.subscribe(&subject(subjects, &name, keeping), None);
            self.by_number.insert(number, Interest::Channel(Arc::clone(&name), keeping));
            number
        });
        self.channels.insert(name, (keeping, number));
    }

    pub(crate) fn unfollow(&mut self, name: &str, speech: Option<&mut Speech>) {
        if let Some((_, number)) = self.channels.remove(name) {
            self.end(number, speech);
        }
    }

    fn end(&mut self, number: u64, speech: Option<&mut Speech>) {
        if self.by_number.remove(&number).is_some()
            && let Some(speech) = speech
        {
            speech.unsubscribe(number);
        }
    }

    pub(crate) fn follow_all(&mut self, speech: Option<&mut Speech>, subjects: &Subjects) {
        if !std::mem::replace(&mut self.follows_all, true)
            && let Some(speech) = speech
        {
            self.subscribe_to_all(speech, subjects);
        }
    }

    pub(crate) fn unfollow_all(&mut self, mut speech: Option<&mut Speech>) {
        self.follows_all = false;
        let is_of_all =
            |interest: &Interest| matches!(interest, Interest::AllAdded | Interest::AllAnnounced);
        let numbers = self.by_number.iter().filter(|(_, interest)| is_of_all(interest));
        let numbers: Vec<u64> = numbers.map(|(number, _)| *number).collect();
        for number in numbers {
            self.end(number, speech.as_deref_mut());
        }
    }

    fn subscribe_to_all(&mut self, speech: &mut Speech, subjects: &Subjects) {
        for (kind, interest) in [("c", Interest::AllAnnounced), ("r", Interest::AllAdded)] {
            self.by_number.insert(speech.subscribe(&subjects.all(kind), None), interest);
        }
    }

    /// A connection begins: everything is subscribed to again. A question to all nodes goes to one link of each.
    pub(crate) fn begin(&mut self, speech: &mut Speech, subjects: &Subjects, node: ClusterNode) {
        self.by_number.clear();
        let group = format!("{:x}", node.0);
        for (subject, queue, interest) in [
            (speech.inbox(), None, Interest::Inbox),
            (subjects.nodes(), None, Interest::Nodes),
            (subjects.epochs(), None, Interest::Epochs),
            (subjects.questions(), Some(&*group), Interest::Questions),
            (subjects.questions_to(node.0), Some(&*group), Interest::Questions),
        ] {
            self.by_number.insert(speech.subscribe(&subject, queue), interest);
        }
        for (name, (keeping, number)) in &mut self.channels {
            *number = speech.subscribe(&subject(subjects, name, *keeping), None);
            self.by_number.insert(*number, Interest::Channel(Arc::clone(name), *keeping));
        }
        if self.follows_all {
            self.subscribe_to_all(speech, subjects);
        }
    }
}

/// Where messages of a channel come from.
pub(crate) fn subject(subjects: &Subjects, name: &str, keeping: Keeping) -> String {
    match keeping {
        Keeping::History => subjects.added(name),
        Keeping::Nothing => subjects.announced(name),
    }
}
