//! Publishes messages.
//!
//! Owns the path of a message to its home, and from there into audiences and letters.

use std::sync::Arc;

use runtime::mailbox::Endpoint;
use runtime::slots::ProcessId;

use super::Channels;
use crate::audience::Audience;
use crate::channel::Place;
use crate::format::Numbered;
use crate::letter::{Item, Publisher, Receipt, Told};
use crate::limits::TURN_BYTES;
use crate::message::{Body, Offer};
use crate::outcome::{Outcome, Published, Refusal};
use crate::position::Position;
use crate::rights::Sender;

impl Channels {
    /// A client publishes. `None`: the channel's home is another scheduler, which sends a receipt if a publisher is given.
    ///
    /// # Errors
    /// If the rules do not allow it, or there is no room.
    pub fn publish(
        &mut self,
        name: &str,
        offer: impl Into<Offer>,
        sender: Sender<'_>,
        publisher: Option<Publisher>,
        now_ms: u64,
    ) -> Result<Option<Published>, Refusal> {
        let offer = offer.into();
        let section = self.rulebook.section(name);
        let rules = section.map_or(self.rulebook.unnamed(), |(_, rules)| rules);
        let rate = section.and_then(|(number, rules)| Some((number, rules.rate?)));
        let allowed = sender.rights.to_publish(name, rules).and_then(|()| {
            let fits = offer.body.bytes().len() as u64 <= rules.message_size;
            if fits { Ok(()) } else { Err(Refusal::TooLarge) }
        });
        self.counted(allowed)?;
        if let Some((section, rate)) = rate
            && !self.rates.admit(section, rate, sender, now_ms)
        {
            return self.counted(Err(Refusal::TooOften));
        }
        let home = self.home(name);
        if home == self.here {
            let published = self.accept_once(name, offer, now_ms).map(Some);
            return self.counted(published);
        }
        let outgoing = &mut self.outgoing[usize::from(home.0)];
        if outgoing.is_full() {
            return self.counted(Err(Refusal::Busy));
        }
        outgoing.push(Item::Publish { name: name.into(), offer, publisher });
        if let Some(Publisher { process, told: Told::ByResuming }) = publisher {
            self.awaited.insert(process, None);
        }
        Ok(None)
    }

    /// A message of a channel whose home this is. A message with a key that was used before is not published again.
    pub(super) fn accept_once(
        &mut self,
        name: &str,
        offer: Offer,
        now_ms: u64,
    ) -> Result<Published, Refusal> {
        let Offer { body, key } = offer;
        let Some(key) = key else { return self.accept(name, &body, now_ms) };
        if let Some(published) = self.repeats.find(name, &key, now_ms) {
            return Ok(published);
        }
        let published = self.accept(name, &body, now_ms)?;
        self.repeats.keep(name, key, published, now_ms);
        Ok(published)
    }

    /// Numbers a message and distributes it.
    fn accept(&mut self, name: &str, body: &Body, now_ms: u64) -> Result<Published, Refusal> {
        let elsewhere = self.patterns.elsewhere(name);
        let keeps = self.rulebook.of(name).history.keeps();
        let place = if keeps || self.by_name.contains_key(name) {
            Some(self.find_or_make(name)?)
        } else {
            None
        };
        let channel = place.and_then(|place| self.channels[place as usize].as_mut());
        let mut receivers = elsewhere.iter().map(|(_, subscribers)| subscribers).sum::<u32>();
        let mut interested: Vec<Endpoint> = elsewhere.iter().map(|(other, _)| *other).collect();
        if let Some(channel) = &channel {
            receivers += channel.elsewhere() + channel.subscribers() as u32;
            if let Place::Home(others) = &channel.place {
                interested.extend(others.iter().map(|(other, _)| *other));
            }
        }
        interested.sort_unstable();
        interested.dedup();
        if interested.iter().any(|other| self.outgoing[usize::from(other.0)].is_full()) {
            return Err(Refusal::Busy);
        }
        let is_much = |audience: &Audience| audience.waiting_bytes() > TURN_BYTES;
        if channel.as_ref().is_some_and(|channel| channel.audiences.iter().any(is_much))
            || self.patterns.own().any(|pattern| pattern.audiences.iter().any(is_much))
        {
            return Err(Refusal::Busy);
        }
        let position = match channel {
            Some(channel) => {
                let before = channel.history.held_bytes();
                let offset = channel.accept(body, now_ms);
                self.history_bytes = self.history_bytes + channel.history.held_bytes() - before;
                Position { epoch: channel.epoch, offset }
            }
            // No client can return to it.
            None => Position { epoch: 0, offset: 0 },
        };
        let message = Numbered { channel: name, position, has_history: keeps, body };
        receivers += self.patterns.put(message);
        if !interested.is_empty() {
            let name: Arc<str> = name.into();
            for other in interested {
                let Position { epoch, offset } = position;
                let (name, body) = (Arc::clone(&name), body.clone());
                self.outgoing[usize::from(other.0)].push(Item::Deliver {
                    name,
                    epoch,
                    offset,
                    body,
                });
            }
        }
        if let Some(place) = place {
            self.tell_listeners(place, position, body);
            self.note(place);
        }
        self.bound_histories();
        self.stats.published += 1;
        Ok(Published { position, receivers })
    }

    /// The result of the message for which a process was parked.
    pub fn outcome(&mut self, process: ProcessId) -> Outcome {
        match self.awaited.get(&process).copied() {
            None => Outcome::None,
            Some(None) => Outcome::Awaited,
            Some(Some(result)) => {
                self.awaited.remove(&process);
                Outcome::Known(result)
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
