//! The state of a channel goes from its home to the schedulers that have subscribers.
//!
//! Owns what happens before the first message that follows: which subscribers join then, and what all are told if
//! messages are lost.

use std::sync::Arc;

use runtime::mailbox::Endpoint;
use runtime::service::{SchedulerCommand, ServiceContext};

use super::Channels;
use crate::channel::{Channel, Place};
use crate::history::History;
use crate::letter::Item;
use crate::position::Position;
use crate::shared::WaitingJoin;

impl Channels {
    /// Another scheduler has subscribers of a channel whose home this is.
    pub(super) fn on_join(&mut self, name: Arc<str>, join: WaitingJoin) {
        let from = join.from;
        // The limit applies on the scheduler that asks, which has a place for the channel as well.
        let known = self.by_name.get(&name).copied();
        let Some(place) = known.or_else(|| self.make(self.rulebook.find(&name)).ok()) else {
            return;
        };
        let Some(channel) = &mut self.channels[place as usize] else { return };
        if let Place::Home(others) = &mut channel.place {
            others.retain(|(other, _)| *other != from);
            others.push((from, 1));
        }
        let is_reached = channel.is_known()
            && (join.reach <= channel.history.known() || channel.shared.is_none());
        if is_reached {
            self.tell_joined(place, join);
        } else if let Some(shared) = &mut channel.shared {
            shared.joins.retain(|other| other.from != from);
            shared.joins.push(join);
            self.want_read(place);
        }
    }

    /// Tells another scheduler the state of a channel whose home this is.
    pub(super) fn tell_joined(&mut self, place: u32, join: WaitingJoin) {
        let Some(channel) = &self.channels[place as usize] else { return };
        let (name, epoch) = (Arc::clone(&channel.name), channel.epoch);
        let history = channel.history.clone();
        let joined = Item::Joined { name, ticket: join.ticket, epoch, history };
        self.outgoing[usize::from(join.from.0)].push(joined);
    }

    /// The home of a channel has answered.
    pub(super) fn on_joined<M>(
        &mut self,
        name: &str,
        of_ticket: u64,
        (epoch, history): (u64, History),
        context: &mut ServiceContext<'_, M>,
    ) {
        let Some(place) = self.by_name.get(name).copied() else { return };
        let Some(channel) = &mut self.channels[place as usize] else { return };
        let Place::Elsewhere { ticket, is_joined, reach, .. } = &mut channel.place else { return };
        if *ticket != of_ticket {
            // The join was taken back meanwhile.
            return;
        }
        *is_joined = true;
        let reached = std::mem::take(reach);
        channel.epoch = epoch;
        self.history_bytes += history.held_bytes();
        self.history_bytes -= channel.history.held_bytes();
        channel.history = history;
        let is_beyond = |since: &Position| channel.is_ahead(*since) && since.offset > reached;
        let waiting = channel.audiences.iter().flat_map(|audience| audience.reaches());
        let beyond = waiting.filter(is_beyond).max_by_key(|since| since.offset);
        self.let_in(place, |since| beyond.is_none() || since.is_none(), context);
        if let Some(beyond) = beyond {
            // It came while the home answered.
            self.reach(place, beyond);
        }
        self.bound_histories();
    }

    /// Subscribers that waited join.
    pub(super) fn let_in<M>(
        &mut self,
        place: u32,
        may_join: impl Fn(Option<Position>) -> bool,
        context: &mut ServiceContext<'_, M>,
    ) {
        let Some(channel) = &mut self.channels[place as usize] else { return };
        channel.has_news = true;
        let mut audiences = std::mem::take(&mut channel.audiences);
        for audience in &mut audiences {
            for (process, since) in audience.let_in(&may_join) {
                let mut told = Vec::new();
                channel.write_since(since, audience.format, &mut told);
                if told.is_empty() {
                    // It reports by itself that its subscription is active.
                    context.command(SchedulerCommand::Resume(process));
                } else {
                    // One that has ended leaves by itself.
                    let _queued = context.queue(process, &told.into(), usize::MAX);
                }
            }
        }
        channel.audiences = audiences;
        self.note(place);
    }

    /// The home of a channel has lost messages, or knows another epoch.
    pub(super) fn on_renewed(&mut self, name: &str, epoch: u64, history: History) {
        let Some(place) = self.by_name.get(name).copied() else { return };
        let Some(channel) = &mut self.channels[place as usize] else { return };
        if !matches!(channel.place, Place::Elsewhere { is_joined: true, .. }) {
            return;
        }
        self.history_bytes += history.held_bytes();
        self.history_bytes -= channel.history.held_bytes();
        (channel.epoch, channel.history) = (epoch, history);
        self.put_lost(place);
        self.bound_histories();
    }

    /// Subscribers and listeners here are told that messages before the current position are lost.
    pub(super) fn put_lost(&mut self, place: u32) {
        self.order += 1;
        let Some(channel) = &mut self.channels[place as usize] else { return };
        let position = channel.position();
        for audience in &mut channel.audiences {
            audience.put_lost(self.order, position.offset, |format, out| {
                format.write_subscribed(&channel.name, position, Some(false), out);
            });
        }
        channel.has_news = true;
        for number in &channel.listeners {
            self.listeners.lose(*number);
        }
        self.note(place);
    }

    pub(super) fn on_count(
        &mut self,
        from: Endpoint,
        name: &str,
        (subscribers, dropped): (u32, u64),
    ) {
        let Some(place) = self.by_name.get(name).copied() else { return };
        if let Some(Channel { place: Place::Home(others), dropped: of_channel, .. }) =
            &mut self.channels[place as usize]
        {
            *of_channel += dropped;
            others.retain(|(other, _)| *other != from);
            if subscribers > 0 {
                others.push((from, subscribers));
            }
        }
        self.note(place);
    }
}
