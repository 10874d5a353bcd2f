//! Publishes messages.
//!
//! Owns the path of a message to its home, and from there into audiences and letters.

use std::sync::Arc;

use runtime::mailbox::Endpoint;
use runtime::slots::ProcessId;
use runtime::trace;

use super::transit::{Bound, Incoming, MessageOrigin};
use super::{Channels, Subscribed};
use crate::channel::{Channel, Place};
use crate::cluster::ClusterOrder;
use crate::format::Numbered;
use crate::letter::{Item, PublishReceipt, Publisher, Receipt};
use crate::limits::{STEPS_PER_MESSAGE, TURN_BYTES};
use crate::message::{Offer, Payload};
use crate::outcome::{ChannelRefusal, PublishOutcome, Published};
use crate::patterns::Pattern;
use crate::position::Position;
use crate::ruled::{RuleNumber, Ruled};
use crate::ruling::PublishRight;
use crate::traced;

impl Channels {
    /// A client publishes. `None`: the channel's home is another scheduler, or has done enough in this turn, or a
    /// cluster keeps the messages. If a publisher is given, it gets a receipt.
    ///
    /// # Errors
    /// If the message exceeds what the rules allow, or there is no room.
    pub fn publish(
        &mut self,
        right: &PublishRight<'_>,
        offer: impl Into<Offer>,
        publisher: Option<Publisher>,
        now_ms: u64,
    ) -> Result<Option<Published>, ChannelRefusal> {
        let offer = offer.into();
        let channel = self.rulebook.renew(right.channel());
        let rules = self.rulebook.rules_of(channel);
        let rate = rules.rate;
        if offer.body.bytes().len() as u64 > rules.message_size {
            return self.counted(Err(ChannelRefusal::TooLarge));
        }
        if let Some(rate) = rate
            && !self.rates.admit(channel.rule().section(), rate, right.sender(), now_ms)
        {
            return self.counted(Err(ChannelRefusal::TooOften));
        }
        let (name, rule) = (channel.name(), channel.rule());
        let stamp = self.lags.stamp();
        let home = self.home(name);
        let origin = MessageOrigin { from: self.here, publisher };
        if home == self.here && self.backlog.is_open() {
            self.lags.begin(stamp);
            let published = self.accept_once(channel, offer, origin, now_ms);
            let published = self.counted(published)?;
            if published.is_none() {
                self.await_receipt(publisher);
            }
            return Ok(published);
        }
        let name = name.into();
        if home == self.here {
            let message = Incoming { origin, name, rule, offer, stamp };
            let postponed = self.backlog.postpone(message);
            self.counted(postponed)?;
        } else {
            let outgoing = &mut self.outgoing[usize::from(home.0)];
            if outgoing.is_full() {
                return self.counted(Err(ChannelRefusal::Busy));
            }
            outgoing.push(Item::Publish { name, rule, offer, publisher, stamp });
        }
        self.await_receipt(publisher);
        Ok(None)
    }

    fn await_receipt(&mut self, publisher: Option<Publisher>) {
        if let Some(Publisher { process, told: PublishReceipt::ByResuming }) = publisher {
            self.awaited.insert(process, None);
        }
    }

    /// A message of a channel whose home this is. A message with a key that was used before is not published again.
    /// `None`: it is on its way into the cluster, and its publisher will be told.
    pub(super) fn accept_once(
        &mut self,
        channel: Ruled<'_>,
        offer: Offer,
        origin: MessageOrigin,
        now_ms: u64,
    ) -> Result<Option<Published>, ChannelRefusal> {
        let name = channel.name();
        let known = offer.key.as_ref().and_then(|key| self.repeats.find(name, key, now_ms));
        if known.is_some() {
            return Ok(known);
        }
        if self.cluster.is_some() && self.rulebook.rules_of(channel).history.keeps() {
            return self.commit(name, offer, origin).map(|()| None);
        }
        let Offer { body, key } = offer;
        let published = self.accept(channel, &body, now_ms)?;
        if let Some(key) = key {
            self.repeats.keep(name, key, published, now_ms);
        }
        if let Some(cluster) = &mut self.cluster {
            cluster.order(ClusterOrder::Announce { name: name.into(), body });
        }
        Ok(Some(published))
    }

    /// The patterns of a message's channel, which are work of this turn.
    pub(super) fn match_patterns(&mut self, name: &str) -> Vec<u32> {
        let mut steps = STEPS_PER_MESSAGE;
        let matching = self.patterns.matching(name, &mut steps);
        self.backlog.charge(steps);
        matching
    }

    /// Numbers a message and distributes it.
    pub(super) fn accept(
        &mut self,
        ruled: Ruled<'_>,
        body: &Payload,
        now_ms: u64,
    ) -> Result<Published, ChannelRefusal> {
        let name = ruled.name();
        let matching = self.match_patterns(name);
        let keeps = self.rulebook.rules_of(ruled).history.keeps();
        let place = if keeps || self.by_name.contains_key(name) {
            Some(self.find_or_make(ruled)?)
        } else {
            None
        };
        let interested = self.interested(place, &matching);
        self.check_room(place, &matching, &interested)?;
        let message =
            Bound { channel: ruled, body, number: None, place, matching: &matching, at_ms: now_ms };
        let published = self.distribute(message, interested);
        self.stats.published += 1;
        Ok(published)
    }

    /// A message of a stream, which is the next one of a channel whose home this is, and for the subscribers of these
    /// patterns.
    ///
    /// # Errors
    /// If there is no room for it now.
    pub(super) fn accept_numbered(&mut self, message: Bound<'_>) -> Result<(), ChannelRefusal> {
        let interested = self.interested(message.place, message.matching);
        self.check_room(message.place, message.matching, &interested)?;
        self.backlog.charge(STEPS_PER_MESSAGE);
        self.distribute(message, interested);
        Ok(())
    }

    /// Gives a message to all its subscribers.
    fn distribute(&mut self, message: Bound<'_>, interested: Vec<Endpoint>) -> Published {
        let Bound { channel, body, number, place, matching, at_ms } = message;
        let has_history = self.rulebook.rules_of(channel).history.keeps();
        self.order += 1;
        let here = place.and_then(|place| self.channels[place as usize].as_mut());
        let (mut receivers, mut elsewhere, mut last) = (0, 0, 0);
        let position = match here {
            Some(channel) => {
                elsewhere = channel.elsewhere();
                receivers += elsewhere + channel.subscribers() as u32;
                self.backlog.charge_copies(channel.audiences.len(), body);
                let held = channel.history.held_bytes();
                last = channel.history.last();
                let number = number.unwrap_or(last + 1);
                channel.accept(self.order, number, body, at_ms);
                self.history_bytes = self.history_bytes + channel.history.held_bytes() - held;
                Position { epoch: channel.epoch, offset: number }
            }
            // No client can return to it.
            None => Position { epoch: 0, offset: 0 },
        };
        let name = channel.name();
        if trace::is_on() {
            traced::accepted(name, position, body);
        }
        let message = Numbered { channel: name, position, has_history, body };
        for place in matching {
            receivers += self.put_for_pattern(*place, message);
        }
        if !interested.is_empty() {
            self.deliver_elsewhere((channel.rule(), matching), interested, (message, last));
        }
        if let Some(place) = place {
            self.tell_listeners(place, position, body);
            self.note(place);
        }
        self.note_lag(channel, place, matching);
        self.bound_histories();
        if trace::is_noting() {
            traced::queued((receivers - elsewhere) as usize);
        }
        Published { position, receivers }
    }

    /// Hands a message to the other schedulers that have subscribers of it.
    fn deliver_elsewhere(
        &mut self,
        (rule, matching): (RuleNumber, &[u32]),
        interested: Vec<Endpoint>,
        (message, before): (Numbered<'_>, u64),
    ) {
        let distant = matching.iter().filter_map(|place| self.patterns.get(*place));
        let distant = distant.filter(|pattern| !pattern.elsewhere().is_empty());
        let patterns: Arc<[Arc<str>]> = distant.map(|of| Arc::clone(&of.text)).collect();
        let (name, stamp): (Arc<str>, _) = (message.channel.into(), self.lags.current());
        let Position { epoch, offset } = message.position;
        for other in interested {
            if trace::is_noting() {
                traced::sent(other);
            }
            self.outgoing[usize::from(other.0)].push(Item::Deliver {
                name: Arc::clone(&name),
                rule,
                epoch,
                offset,
                before,
                body: message.body.clone(),
                patterns: Arc::clone(&patterns),
                stamp,
            });
        }
    }

    /// The other schedulers with subscribers of a channel or of these patterns.
    fn interested(&self, place: Option<u32>, matching: &[u32]) -> Vec<Endpoint> {
        let patterns = matching.iter().filter_map(|place| self.patterns.get(*place));
        let mut interested: Vec<Endpoint> =
            patterns.flat_map(Pattern::elsewhere).map(|(other, _)| *other).collect();
        let channel = place.and_then(|place| self.channels[place as usize].as_ref());
        if let Some(Channel { place: Place::Home(others), .. }) = channel {
            interested.extend(others.iter().map(|(other, _)| *other));
        }
        interested.sort_unstable();
        interested.dedup();
        interested
    }

    /// Whether there is room for another message on its way to all its subscribers.
    fn check_room(
        &self,
        place: Option<u32>,
        matching: &[u32],
        interested: &[Endpoint],
    ) -> Result<(), ChannelRefusal> {
        let is_full = |other: &Endpoint| self.outgoing[usize::from(other.0)].is_full();
        let patterns = matching.iter().map(|place| Subscribed::Pattern(*place));
        let is_much = |of: Subscribed| {
            self.audiences(of).iter().any(|audience| audience.waiting_bytes() > TURN_BYTES)
        };
        if interested.iter().any(is_full)
            || place.map(Subscribed::Channel).into_iter().chain(patterns).any(is_much)
        {
            return Err(ChannelRefusal::Busy);
        }
        Ok(())
    }

    /// Adds a message to the audiences of a pattern; returns how many subscribers it has.
    pub(super) fn put_for_pattern(&mut self, place: u32, message: Numbered<'_>) -> u32 {
        let Some(pattern) = self.patterns.at(place) else { return 0 };
        let has_some = |of: &Pattern| of.audiences.iter().any(|one| one.waiting_bytes() > 0);
        let had_none = !has_some(pattern);
        self.backlog.charge_copies(pattern.audiences.len(), message.body);
        pattern.put(self.order, message);
        // A pattern whose subscribers are all elsewhere has nothing to send here.
        if had_none && has_some(pattern) {
            self.noted_patterns.push(place);
        }
        pattern.everywhere()
    }

    /// The result of the message for which a process was parked.
    pub fn outcome(&mut self, process: ProcessId) -> PublishOutcome {
        match self.awaited.get(&process).copied() {
            None => PublishOutcome::None,
            Some(None) => PublishOutcome::Awaited,
            Some(Some(result)) => {
                self.awaited.remove(&process);
                PublishOutcome::Known(result)
            }
        }
    }

    /// A process that may have waited has ended, or no longer waits.
    pub fn forget(&mut self, process: ProcessId) {
        self.awaited.remove(&process);
        self.forget_poll(process);
        self.forget_survey(process);
    }

    /// The results of messages that went to other schedulers, for publishers that are told by a receipt.
    pub fn take_receipts(&mut self) -> Vec<Receipt> {
        std::mem::take(&mut self.receipts)
    }
}
