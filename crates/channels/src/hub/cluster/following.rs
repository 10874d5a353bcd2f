//! Messages of streams: history and new messages become one sequence without a gap.
//!
//! Owns what follows when a message comes, and what subscribers are told when some are lost. Each message names the one
//! before it, so a gap is seen; what is missing is read (`histories`). What cannot be read is lost, and all are told.

use std::sync::Arc;

use runtime::service::ServiceContext;

use super::super::Channels;
use super::super::transit::Bound;
use super::Contact;
use super::rounds::Round;
use crate::channel::Place;
use crate::letter::Item;
use crate::limits::{AWAY_MS, HELD_BYTES};
use crate::message::Payload;
use crate::position::Position;
use crate::shared::{Shared, Sight};

impl Channels {
    pub(super) fn shared_mut(&mut self, place: u32) -> Option<&mut Shared> {
        self.channels[place as usize].as_mut()?.shared.as_deref_mut()
    }

    /// A subscriber has come from another node, which was ahead of this one.
    pub(in crate::hub) fn reach(&mut self, place: u32, since: Position) {
        let ticket = self.ticket();
        let Some(channel) = &mut self.channels[place as usize] else { return };
        match &mut channel.place {
            Place::Home(_) => self.want_read(place),
            Place::Elsewhere { home, ticket: known, reach, .. } => {
                *known = ticket;
                *reach = since.offset.max(*reach);
                let (name, reach) = (Arc::clone(&channel.name), *reach);
                self.outgoing[usize::from(home.0)].push(Item::Join { name, ticket, reach });
            }
        }
    }

    /// A message was added to a stream.
    pub(super) fn on_committed<M>(
        &mut self,
        name: &Arc<str>,
        position: Position,
        (before, body): (u64, &Payload),
        context: &mut ServiceContext<'_, M>,
    ) {
        if self.home(name) != self.here {
            return;
        }
        self.lags.begin(None);
        let (at_ms, returns) = (context.now.monotonic_ms(), self.returns());
        let place = self.by_name.get(name).copied();
        let channel =
            place.and_then(|place| Some((place, self.channels[place as usize].as_mut()?)));
        let Some((place, channel)) = channel.filter(|(_, channel)| channel.is_in_stream()) else {
            return self.accept_for_patterns(name, body, at_ms);
        };
        let Some(shared) = &mut channel.shared else { return };
        let is_current = shared.sight == Sight::Whole
            && channel.epoch == position.epoch
            && shared.returns == returns;
        let is_new = shared.see(position);
        if is_current && position.offset <= channel.history.known() {
            // It was read before it came. Patterns get only what comes.
            if is_new {
                self.accept_for_patterns(name, body, at_ms);
            }
            return;
        }
        if is_current && channel.history.is_next(position.offset, before) && is_new {
            let matching = self.patterns.matching(name, &mut 0);
            let (number, matching) = (Some(position.offset), &*matching);
            let place = Some(place);
            let channel = self.rulebook.find(name);
            let message = Bound { channel, body, number, place, matching, at_ms };
            if self.accept_numbered(message).is_ok() {
                return;
            }
        } else if is_new {
            self.accept_for_patterns(name, body, at_ms);
        }
        self.doubt(place, Some((position, before, body)));
    }

    /// Messages may be missing. This one waits until the others were read.
    pub(super) fn doubt(&mut self, place: u32, message: Option<(Position, u64, &Payload)>) {
        let Some(cluster) = &mut self.cluster else { return };
        let Some(channel) = &mut self.channels[place as usize] else { return };
        let Some(shared) = &mut channel.shared else { return };
        if shared.sight == Sight::Whole {
            shared.sight = Sight::Doubtful;
        }
        shared.returns = cluster.returns;
        match message {
            Some((position, before, body)) if cluster.held_bytes < HELD_BYTES => {
                let held = shared.held_bytes();
                shared.hold(position, before, body);
                cluster.held_bytes += shared.held_bytes() - held;
            }
            Some(_) => shared.miss(),
            None => {}
        }
        self.want_read(place);
    }

    /// The messages of the stream were read. If nothing is missing before the messages that wait, they follow.
    pub(super) fn settle_stream<M>(
        &mut self,
        place: u32,
        read: Option<u64>,
        context: &mut ServiceContext<'_, M>,
    ) {
        let at_ms = context.now.monotonic_ms();
        loop {
            let Some(channel) = &mut self.channels[place as usize] else { return };
            let (epoch, known) = (channel.epoch, channel.position());
            let name = Arc::clone(&channel.name);
            let Some(shared) = &mut channel.shared else { return };
            let held = shared.held_bytes();
            shared.forget_held(known, read);
            if let Some(cluster) = &mut self.cluster {
                cluster.held_bytes -= held - shared.held_bytes();
            }
            let Some((number, held)) = shared.first_held(epoch) else { break };
            if !channel.history.is_next(number, held.before) {
                if !shared.try_again() {
                    break;
                }
                // It was not to be found: what is before this message is lost.
                self.lose(place, held.before);
            }
            let (number, body, matching) = (Some(number), &held.body, &[][..]);
            let place = Some(place);
            let channel = self.rulebook.find(&name);
            let message = Bound { channel, body, number, place, matching, at_ms };
            if self.accept_numbered(message).is_err() {
                break;
            }
        }
        let Some(channel) = &mut self.channels[place as usize] else { return };
        let position = channel.position();
        let Some(shared) = &mut channel.shared else { return };
        if shared.wants_more() {
            self.want_read(place);
        } else {
            self.let_in_reached(place, position, context);
        }
    }

    /// Nothing is missing. Subscribers that are ahead wait for another read, unless that was tried.
    fn let_in_reached<M>(
        &mut self,
        place: u32,
        position: Position,
        context: &mut ServiceContext<'_, M>,
    ) {
        let Some(channel) = &mut self.channels[place as usize] else { return };
        let is_ahead =
            |since: Position| since.epoch == position.epoch && since.offset > position.offset;
        let Some(shared) = &mut channel.shared else { return };
        let is_missed = channel.audiences.iter().flat_map(|of| of.reaches()).any(is_ahead)
            || shared.joins.iter().any(|join| join.reach > position.offset);
        let is_over = is_missed && shared.try_again();
        if is_missed && !is_over {
            shared.sight = Sight::Whole;
            self.want_read(place);
        } else {
            shared.settle();
        }
        self.let_in(place, |since| is_over || since.is_none_or(|since| !is_ahead(since)), context);
        self.answer_joins(place, |reach| is_over || reach <= position.offset);
        self.note(place);
    }

    /// Other schedulers that waited for the state of the channel get it.
    pub(super) fn answer_joins(&mut self, place: u32, is_reached: impl Fn(u64) -> bool) {
        let Some(shared) = self.shared_mut(place) else { return };
        let joins = std::mem::take(&mut shared.joins);
        let (ready, rest) = joins.into_iter().partition(|join| is_reached(join.reach));
        shared.joins = rest;
        let ready: Vec<_> = ready;
        for join in ready {
            self.tell_joined(place, join);
        }
    }

    /// Messages up to this number are lost, as far as they are not known.
    pub(super) fn lose(&mut self, place: u32, last: u64) {
        let Some(channel) = &mut self.channels[place as usize] else { return };
        self.history_bytes -= channel.history.held_bytes();
        channel.history.begin_anew(last);
        self.tell_lost(place);
    }

    /// All subscribers are told that messages before the current position are lost.
    pub(super) fn tell_lost(&mut self, place: u32) {
        self.stats.lost += 1;
        let Some(channel) = &mut self.channels[place as usize] else { return };
        if let Place::Home(others) = &channel.place {
            for (other, _) in others {
                let (name, epoch) = (Arc::clone(&channel.name), channel.epoch);
                let history = channel.history.clone();
                let renewed = Item::Renewed { name, epoch, history };
                self.outgoing[usize::from(other.0)].push(renewed);
            }
        }
        self.put_lost(place);
    }

    /// Subscribers join although nothing is known: as if messages were lost, and they are told so when the history was
    /// read.
    pub(super) fn go_on_without<M>(&mut self, place: u32, context: &mut ServiceContext<'_, M>) {
        let Some(shared) = self.shared_mut(place) else { return };
        (shared.sight, shared.is_told, shared.draft) = (Sight::Doubtful, true, None);
        self.let_in(place, |_| true, context);
        self.answer_joins(place, |_| true);
    }

    /// The cluster is there again: what was missed is read.
    pub(super) fn on_back(&mut self) {
        let Some(cluster) = &mut self.cluster else { return };
        cluster.contact = Contact::Back;
        cluster.returns += 1;
        cluster.reads.retry();
        cluster.rounds.end(Round::GoOn);
        cluster.rounds.begin(Round::Doubt);
        self.ask_about_all(None);
    }

    /// From time to time: histories that could not be read are tried again, and nobody waits for long while the cluster
    /// is away.
    pub(in crate::hub) fn sweep_cluster<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        let Some(cluster) = &mut self.cluster else { return };
        cluster.reads.retry();
        if cluster.is_long_away(context.now.monotonic_ms(), AWAY_MS) {
            cluster.rounds.begin_if_none(Round::GoOn);
            // The sweep comes behind the rounds of its turn.
            context.wake_after_ms(0);
        } else {
            self.begin_reads();
        }
    }
}
