//! One channel as one scheduler knows it.
//!
//! Owns its numbers, its history and its audiences. The home numbers the messages; other schedulers
//! with subscribers have a copy of the history. Never sends: bytes are added to audiences, and
//! `hub` sends them at the end of the turn.

use std::collections::BTreeSet;
use std::sync::Arc;

use runtime::mailbox::Endpoint;
use runtime::slots::ProcessId;

use crate::audience::Audience;
use crate::cluster::Keeping;
use crate::format::{Format, Numbered};
use crate::history::History;
use crate::limits::UNUSED_MS;
use crate::member::{Everywhere, Here};
use crate::message::Payload;
use crate::position::Position;
use crate::rules::ChannelPolicy;
use crate::seat::Seat;
use crate::shared::{Shared, Sight};

/// Whether this scheduler numbers the messages.
#[derive(Debug)]
pub(crate) enum Place {
    /// It does, and these other schedulers have this many subscribers.
    Home(Vec<(Endpoint, u32)>),
    /// Another one does.
    Elsewhere {
        home: Endpoint,
        ticket: u64,
        /// The number that the home was asked to reach first, because a subscriber has seen it on another node.
        reach: u64,
        /// Whether its home has answered: until then nothing is known about the channel.
        is_joined: bool,
    },
}

#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) name: Arc<str>,
    pub(crate) rules: Arc<ChannelPolicy>,
    pub(crate) epoch: u64,
    pub(crate) history: History,
    pub(crate) place: Place,
    pub(crate) audiences: Vec<Audience>,
    /// Requests for messages that are not answered yet.
    pub(crate) polls: u32,
    /// Those of them that wait for the next message.
    pub(crate) waiting: BTreeSet<ProcessId>,
    /// Whether there is something for them: a message, or the answer of its home.
    pub(crate) has_news: bool,
    /// Since when it has had neither subscribers nor messages.
    pub(crate) unused_since_ms: Option<u64>,
    /// Whether it is in the list of channels that have something to send in this turn.
    pub(crate) is_noted: bool,
    /// Subscribers within the server.
    pub(crate) listeners: BTreeSet<u64>,
    /// The users here, for presence.
    pub(crate) members: Here,
    /// The users on all schedulers, if this is the home.
    pub(crate) everywhere: Everywhere,
    /// Whether the home has to be told the number of subscribers.
    pub(crate) is_recounted: bool,
    /// Messages that subscribers did not get, because they were too slow: of this scheduler, as far as its home was not
    /// told; at the home, also those of others.
    pub(crate) dropped: u64,
    /// How it is followed in a cluster, if this is the home.
    pub(crate) shared: Option<Box<Shared>>,
}

impl Channel {
    pub(crate) fn new(name: &str, rules: &Arc<ChannelPolicy>, epoch: u64, place: Place) -> Self {
        Self {
            name: name.into(),
            rules: Arc::clone(rules),
            epoch,
            history: History::default(),
            place,
            audiences: Vec::new(),
            polls: 0,
            waiting: BTreeSet::new(),
            has_news: false,
            unused_since_ms: None,
            listeners: BTreeSet::new(),
            members: Here::default(),
            everywhere: Everywhere::default(),
            is_noted: false,
            is_recounted: false,
            dropped: 0,
            shared: None,
        }
    }

    /// Whether this scheduler knows what the home knows.
    pub(crate) fn is_known(&self) -> bool {
        let is_away = matches!(self.place, Place::Elsewhere { is_joined: false, .. });
        !is_away && self.shared.as_ref().is_none_or(|shared| shared.sight != Sight::Unknown)
    }

    /// Whether the cluster keeps its messages, and this is the home.
    pub(crate) fn is_in_stream(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.keeping == Keeping::History)
    }

    /// Whether a subscriber with this position waits: it was ahead of this scheduler, on another node.
    pub(crate) fn must_wait(&self, since: Option<Position>) -> bool {
        !self.is_known() || since.is_some_and(|since| self.is_ahead(since))
    }

    /// Whether a position is one of the current epoch that is not known here yet.
    pub(crate) fn is_ahead(&self, since: Position) -> bool {
        !self.history.is_dense() && since.epoch == self.epoch && since.offset > self.history.known()
    }

    /// Subscribers of this scheduler.
    pub(crate) fn subscribers(&self) -> usize {
        let sockets = self.audiences.iter().map(Audience::len).sum::<usize>();
        sockets + self.listeners.len() + self.polls as usize
    }

    /// Subscribers on other schedulers, if this is the home.
    pub(crate) fn elsewhere(&self) -> u32 {
        match &self.place {
            Place::Home(others) => others.iter().map(|(_, subscribers)| subscribers).sum(),
            Place::Elsewhere { .. } => 0,
        }
    }

    /// Whether the channel is no longer needed.
    pub(crate) fn is_unused(&mut self, now_ms: u64) -> bool {
        let is_left = self.subscribers() == 0 && self.elsewhere() == 0;
        if matches!(self.place, Place::Elsewhere { .. }) {
            return is_left;
        }
        // The messages of a cluster can be read again.
        if !is_left || !self.history.is_empty() && !self.is_in_stream() {
            self.unused_since_ms = None;
            return false;
        }
        let since_ms = *self.unused_since_ms.get_or_insert(now_ms);
        // Without a history no client returns to a position.
        !self.rules.history.keeps() || now_ms.saturating_sub(since_ms) >= UNUSED_MS
    }

    /// The position after the last message.
    pub(crate) fn position(&self) -> Position {
        Position { epoch: self.epoch, offset: self.history.known() }
    }

    /// A subscriber joins; returns its audience and seat.
    pub(crate) fn join(
        &mut self,
        process: ProcessId,
        format: Format,
        since: Option<Position>,
    ) -> (u8, Seat) {
        let known = self.audiences.iter().position(|audience| audience.format == format);
        let at = known.unwrap_or_else(|| {
            self.audiences.push(Audience::new(format));
            self.audiences.len() - 1
        });
        let must_wait = self.must_wait(since);
        let audience = &mut self.audiences[at];
        let seat = if must_wait { audience.wait(process, since) } else { audience.join(process) };
        (at as u8, seat)
    }

    /// Takes the message with this number, and adds it to all audiences.
    pub(crate) fn accept(&mut self, order: u32, number: u64, body: &Payload, now_ms: u64) {
        self.history.push(number, body, now_ms, &self.rules.history);
        self.history.trim(now_ms, &self.rules.history);
        self.has_news = true;
        let (position, has_history) =
            (Position { epoch: self.epoch, offset: number }, self.rules.history.keeps());
        let message = Numbered { channel: &self.name, position, has_history, body };
        for audience in &mut self.audiences {
            audience.put(order, number, |format, out| format.encode(message, out));
        }
    }

    /// Writes the messages since this position. Before them the subscriber is told its position, which is before the
    /// first of these messages, so that a client that closes in the middle of them does not return to a position after
    /// them.
    pub(crate) fn write_since(&self, since: Option<Position>, format: Format, out: &mut Vec<u8>) {
        let is_of_now = since.is_some_and(|since| self.is_of_now(since));
        let known = self.history.known();
        let after = since.filter(|_| is_of_now).map_or(known, |since| since.offset);
        let (messages, is_lost) = self.history.since(after);
        let recovered = since.map(|_| is_of_now && !is_lost);
        let position =
            Position { epoch: self.epoch, offset: after.max(self.history.complete_after()) };
        format.write_subscribed(&self.name, position, recovered, out);
        for (offset, body) in messages {
            let position = Position { epoch: self.epoch, offset };
            let message = Numbered { channel: &self.name, position, has_history: true, body };
            format.encode(message, out);
        }
    }

    /// Whether a client of the current epoch can have this position.
    pub(crate) fn is_of_now(&self, since: Position) -> bool {
        since.epoch == self.epoch && since.offset <= self.history.known()
    }

    /// The position of a request without one: before the first message.
    pub(crate) fn beginning(&self) -> Position {
        let is_dense = self.history.is_dense();
        let offset = if is_dense { 0 } else { self.history.complete_after() };
        Position { epoch: self.epoch, offset }
    }

    /// Whether a request with this position can be answered by the messages after it. Another node may be ahead of this
    /// one, so the position may also be one that is not known here yet.
    pub(crate) fn is_reached_by(&self, since: Position) -> bool {
        self.is_of_now(since) || self.is_ahead(since)
    }

    /// Whether there is something to tell a request with this position.
    pub(crate) fn is_behind(&self, since: Position) -> bool {
        if !self.is_reached_by(since) {
            return true;
        }
        let (mut messages, is_lost) = self.history.since(since.offset);
        is_lost || messages.next().is_some()
    }
}
