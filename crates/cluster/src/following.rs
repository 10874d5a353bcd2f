//! The subjects that a link listens to.
//!
//! Owns its subscriptions, over connections: all are made again on the next one. Never reads a message.

use std::sync::Arc;

use ahash::{HashMap, HashSet};
use channels::{ClusterNode, Keeping};

use crate::speech::Speech;
use crate::subjects::Subjects;

/// The kind of the messages of a subscription.
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
    /// Mail to the node's store.
    Mail,
}

/// How much of a channel with a history the channels know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It was not read since it is followed.
    New,
    /// Everything, since this time.
    Whole(u64),
    /// Everything up to the mark of its stream at the last loss.
    Interrupted,
}

#[derive(Debug)]
struct Followed {
    keeping: Keeping,
    subscription: u64,
    standing: Standing,
}

/// The subscriptions of a link.
#[derive(Debug, Default)]
pub(crate) struct Following {
    channels: HashMap<Arc<str>, Followed>,
    follows_all: bool,
    /// The number of the node's store, if its mail comes here.
    store: Option<u64>,
    by_number: HashMap<u64, Interest>,
}

impl Following {
    pub(crate) fn count(&self) -> usize {
        self.channels.len()
    }

    /// The kind of the messages of this subscription; `None`: it has ended.
    pub(crate) fn interest(&self, subscription: u64) -> Option<&Interest> {
        self.by_number.get(&subscription)
    }

    /// How a channel is followed.
    pub(crate) fn keeping(&self, name: &str) -> Option<Keeping> {
        self.channels.get(name).map(|followed| followed.keeping)
    }

    /// A history was read to its end.
    pub(crate) fn note_read(&mut self, name: &str, now_ms: u64) {
        if let Some(followed) = self.channels.get_mut(name)
            && !matches!(followed.standing, Standing::Whole(_))
        {
            followed.standing = Standing::Whole(now_ms);
        }
    }

    /// Whether the channels knew everything of a channel up to the mark at the last loss.
    pub(crate) fn is_interrupted(&self, name: &str) -> bool {
        self.channels.get(name).is_some_and(|of| of.standing == Standing::Interrupted)
    }

    /// The streams of channels that were not read since the last loss.
    pub(crate) fn unread(&self, subjects: &Subjects) -> HashSet<u16> {
        let unread = self.channels.iter().filter(|(_, of)| of.standing == Standing::Interrupted);
        unread.map(|(name, _)| subjects.shard(name)).collect()
    }

    /// The connection was lost. `asked_ms`: the time of the mark of a stream.
    pub(crate) fn interrupt(&mut self, subjects: &Subjects, asked_ms: impl Fn(u16) -> Option<u64>) {
        for (name, followed) in &mut self.channels {
            if let Standing::Whole(since_ms) = followed.standing {
                let is_before = asked_ms(subjects.shard(name)).is_some_and(|at| since_ms < at);
                followed.standing = if is_before { Standing::Interrupted } else { Standing::New };
            }
        }
    }

    /// From the next connection on, mail to the store with this number comes here.
    pub(crate) fn follow_mail(&mut self, store: u64) {
        self.store = Some(store);
    }

    /// Whether the node's mail comes here.
    pub(crate) fn has_mail(&self) -> bool {
        self.store.is_some()
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
        let followed = Followed { keeping, subscription: number, standing: Standing::New };
        self.channels.insert(name, followed);
    }

    pub(crate) fn unfollow(&mut self, name: &str, speech: Option<&mut Speech>) {
        if let Some(followed) = self.channels.remove(name) {
            self.end(followed.subscription, speech);
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
        let mut numbers: Vec<u64> = numbers.map(|(number, _)| *number).collect();
        numbers.sort_unstable();
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
        if let Some(store) = self.store {
            for subject in [subjects.stores(), subjects.store(store)] {
                self.by_number.insert(speech.subscribe(&subject, None), Interest::Mail);
            }
        }
        // In the order of their names: a simulation that is played again says the same.
        let mut channels: Vec<_> = self.channels.iter_mut().collect();
        channels.sort_unstable_by_key(|(name, _)| *name);
        for (name, Followed { keeping, subscription, .. }) in channels {
            *subscription = speech.subscribe(&subject(subjects, name, *keeping), None);
            self.by_number.insert(*subscription, Interest::Channel(Arc::clone(name), *keeping));
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
