//! Which channels are followed.
//!
//! Owns when that begins and ends: a channel is followed as long as this scheduler knows it.

use std::sync::Arc;

use super::super::Channels;
use super::Contact;
use crate::channel::Channel;
use crate::cluster::{ClusterOrder, Keeping};
use crate::history::History;
use crate::shared::{Shared, Sight};

impl Channels {
    /// A channel whose home this is begins: its messages are followed.
    pub(in crate::hub) fn follow(&mut self, place: u32) {
        let Some(keeping) = self.keeping(place) else { return };
        let ticket = self.ticket();
        let Some(cluster) = &mut self.cluster else { return };
        let Some(channel) = &mut self.channels[place as usize] else { return };
        let sight = match (keeping, cluster.contact) {
            // There is nothing to wait for.
            (Keeping::Nothing, Contact::Away { .. }) => Sight::Whole,
            _ => Sight::Unknown,
        };
        channel.shared = Some(Box::new(Shared::new(keeping, sight, (ticket, cluster.returns))));
        let name = Arc::clone(&channel.name);
        cluster.order(ClusterOrder::Follow { name, keeping });
        if keeping == Keeping::History {
            channel.history = History::of_stream(0);
            self.want_read(place);
        }
        self.ask_about_members(place);
    }

    /// A channel is no longer needed here.
    pub(in crate::hub) fn unfollow(&mut self, channel: &Channel) {
        if let Some(cluster) = &mut self.cluster
            && let Some(shared) = &channel.shared
        {
            let (name, keeping) = (Arc::clone(&channel.name), shared.keeping);
            cluster.held_bytes -= shared.held_bytes();
            cluster.order(ClusterOrder::Unfollow { name, keeping });
        }
    }

    /// The rules have changed: some channels have a history now, or no longer.
    pub(in crate::hub) fn follow_by_rules(&mut self) {
        if self.cluster.is_none() {
            return;
        }
        for place in 0..self.channels.len() as u32 {
            let Some(channel) = self.channels[place as usize].take_if(|channel| {
                let keeps = channel.rules.history.keeps();
                channel.shared.as_ref().is_some_and(|of| (of.keeping == Keeping::History) != keeps)
            }) else {
                continue;
            };
            self.unfollow(&channel);
            let joins = channel.shared.as_ref().map(|of| of.joins.clone()).unwrap_or_default();
            self.history_bytes -= channel.history.held_bytes();
            let ticket = self.ticket();
            let epoch = self.home_of.hash_one((self.here, ticket, &*channel.name));
            let history = History::default();
            self.channels[place as usize] = Some(Channel { epoch, history, ..channel });
            self.follow(place);
            if let Some(shared) = self.shared_mut(place) {
                (shared.joins, shared.is_told) = (joins, true);
            }
            if self.keeping(place) == Some(Keeping::Nothing) {
                self.tell_lost(place);
                self.answer_joins(place, |_| true);
            }
        }
    }
}
