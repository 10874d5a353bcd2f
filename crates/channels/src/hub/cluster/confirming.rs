//! When a subscription is in force: messages of other nodes come as well.
//!
//! Owns who waits for that: subscribers of channels without history, and of patterns. While the cluster is away nobody
//! waits. Never follows anything: `interest` and `run_cluster` do. Channels with a history need none of this: what was
//! published before they were followed is read.

use std::sync::Arc;

use runtime::mailbox::Endpoint;
use runtime::service::ServiceContext;

use super::super::Channels;
use super::Contact;
use super::rounds::Round;
use crate::cluster::{ClusterOrder, Keeping};
use crate::letter::Item;
use crate::shared::Sight;

/// Whether the messages of all channels come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Everything {
    #[default]
    Unfollowed,
    Ordered,
    Followed,
}

/// A scheduler that is to be told that this one knows a pattern. Plain data.
#[derive(Debug)]
pub(crate) struct PatternNote {
    pub(crate) to: Endpoint,
    pub(crate) glob: Arc<str>,
    pub(crate) ticket: u64,
}

/// The subscriptions that are ordered and not in force yet.
#[derive(Debug, Default)]
pub(super) struct Confirming {
    everything: Everything,
    notes: Vec<PatternNote>,
}

impl Channels {
    /// Follows all channels while there are patterns.
    pub(super) fn follow_for_patterns<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        let has_patterns = !self.patterns.is_empty();
        let Some(cluster) = &mut self.cluster else { return };
        if has_patterns == (cluster.confirming.everything != Everything::Unfollowed) {
            return;
        }
        if has_patterns {
            let is_away = cluster.contact != Contact::Back;
            cluster.confirming.everything =
                if is_away { Everything::Followed } else { Everything::Ordered };
            cluster.order(ClusterOrder::FollowAll);
        } else {
            cluster.confirming.everything = Everything::Unfollowed;
            cluster.order(ClusterOrder::UnfollowAll);
            // Those who wanted to know have left.
            self.tell_notes(context);
        }
    }

    /// This scheduler knows a pattern. The one with its subscribers is told when messages of other nodes come here.
    pub(in crate::hub) fn note_pattern<M>(
        &mut self,
        note: PatternNote,
        context: &mut ServiceContext<'_, M>,
    ) {
        match &mut self.cluster {
            Some(cluster)
                if cluster.contact == Contact::Back
                    && cluster.confirming.everything != Everything::Followed =>
            {
                cluster.confirming.notes.push(note);
            }
            _ => self.tell_note(note, context),
        }
    }

    fn tell_note<M>(&mut self, note: PatternNote, context: &mut ServiceContext<'_, M>) {
        let PatternNote { to, glob, ticket } = note;
        if to == self.here {
            self.on_noted(&glob, ticket, true, context);
        } else {
            let noted = Item::Noted { glob, ticket, has_room: true };
            self.outgoing[usize::from(to.0)].push(noted);
        }
    }

    fn tell_notes<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        let Some(cluster) = &mut self.cluster else { return };
        for note in std::mem::take(&mut cluster.confirming.notes) {
            self.tell_note(note, context);
        }
    }

    /// The messages of all channels come.
    pub(super) fn on_followed_all<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        if let Some(cluster) = &mut self.cluster
            && cluster.confirming.everything == Everything::Ordered
        {
            cluster.confirming.everything = Everything::Followed;
            self.tell_notes(context);
        }
    }

    /// The messages of a channel without history come.
    pub(super) fn on_followed<M>(&mut self, name: &str, context: &mut ServiceContext<'_, M>) {
        if let Some(place) = self.by_name.get(name).copied() {
            self.confirm(place, context);
        }
    }

    /// The subscribers of a channel without history wait no longer.
    pub(super) fn confirm<M>(&mut self, place: u32, context: &mut ServiceContext<'_, M>) {
        let Some(shared) = self.shared_mut(place) else { return };
        if shared.keeping == Keeping::Nothing && shared.sight == Sight::Unknown {
            shared.settle();
            self.let_in(place, |_| true, context);
            self.answer_joins(place, |_| true);
        }
    }

    /// The cluster is away. What was ordered will be in force before it is back.
    pub(super) fn confirm_all<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        self.on_followed_all(context);
        let before = self.ticket();
        if let Some(cluster) = &mut self.cluster {
            cluster.rounds.begin(Round::Confirm { before });
        }
    }
}
