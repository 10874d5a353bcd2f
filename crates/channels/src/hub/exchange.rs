//! Channel messages between schedulers.
//!
//! Owns their order: everything from one scheduler to another stays in order, so a message is never
//! delivered to a subscriber that already has it from the history, and none is lost between the
//! two.

use std::sync::Arc;

use runtime::mailbox::Endpoint;
use runtime::service::{Command, ServiceContext};

use super::Channels;
use crate::channel::{Channel, Joined, News, Place};
use crate::format::Numbered;
use crate::history::History;
use crate::letter::{Item, Letter, Publisher, Receipt, Told};
use crate::limits::UNSENT_BYTES;
use crate::message::Body;
use crate::position::Position;

/// What has to be sent to one other scheduler.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    items: Vec<Item>,
    bytes: usize,
}

impl Outgoing {
    pub(super) fn push(&mut self, item: Item) {
        // Every item takes at least its own size.
        self.bytes += size_of::<Item>() + item.bytes();
        self.items.push(item);
    }

    /// Whether so much waits that nothing new should be begun for it.
    pub(super) fn is_full(&self) -> bool {
        self.bytes > UNSENT_BYTES
    }
}

impl Channels {
    /// A letter from another scheduler.
    pub fn on_letter<M>(
        &mut self,
        from: Endpoint,
        letter: Letter,
        context: &mut ServiceContext<'_, M>,
    ) {
        for item in letter.0 {
            self.take_item(from, item, context);
        }
    }

    fn take_item<M>(&mut self, from: Endpoint, item: Item, context: &mut ServiceContext<'_, M>) {
        match item {
            Item::Publish { name, offer, publisher } => {
                let accepted = self.accept_once(&name, offer, context.now.monotonic_ms());
                let result = self.counted(accepted);
                if let Some(publisher) = publisher {
                    let receipt = Receipt { publisher, result };
                    self.outgoing[usize::from(from.0)].push(Item::Receipt(receipt));
                }
            }
            Item::Receipt(receipt) => self.on_receipt(receipt, context),
            Item::Join { name, ticket } => self.on_join(from, name, ticket),
            Item::Joined { name, ticket, epoch, next, history } => {
                let history = History::of(history, next);
                self.on_joined(&name, ticket, (epoch, history), context);
            }
            Item::Count { name, subscribers } => self.on_count(from, &name, subscribers),
            Item::Deliver { name, epoch, offset, body } => {
                let position = Position { epoch, offset };
                self.on_deliver(&name, position, &body, context.now.monotonic_ms());
            }
            Item::Ask { process, number, question } => {
                self.on_ask(from, process, number, &question);
            }
            Item::Told { process, number, findings } => {
                self.on_told(process, number, findings, context);
            }
            Item::Member { name, member, step } => self.on_member(from, &name, &member, step),
            Item::Presence { name, member, step } => self.on_presence(&name, &member, step),
            Item::Pattern { glob, subscribers } => self.patterns.note(from, &glob, subscribers),
        }
    }

    /// The home of a channel reports the result of a message.
    fn on_receipt<M>(&mut self, receipt: Receipt, context: &mut ServiceContext<'_, M>) {
        let Publisher { process, told } = receipt.publisher;
        match told {
            Told::ByReceipt(_) => self.receipts.push(receipt),
            Told::ByResuming => {
                // A process that has ended was removed.
                if let Some(outcome) = self.awaited.get_mut(&process) {
                    *outcome = Some(receipt.result);
                    context.command(Command::Resume(process));
                }
            }
        }
    }

    /// Another scheduler has subscribers of a channel whose home this is.
    fn on_join(&mut self, from: Endpoint, name: Arc<str>, ticket: u64) {
        // The limit applies on the scheduler that asks, which has a place for the channel as well.
        let known = self.by_name.get(&name).copied();
        let Some(place) = known.or_else(|| self.make(&name).ok()) else { return };
        let Some(channel) = &mut self.channels[place as usize] else { return };
        if let Place::Home(others) = &mut channel.place {
            others.retain(|(other, _)| *other != from);
            others.push((from, 1));
        }
        let (epoch, next, history) =
            (channel.epoch, channel.history.next(), channel.history.copy());
        let joined = Item::Joined { name, ticket, epoch, next, history };
        self.outgoing[usize::from(from.0)].push(joined);
    }

    /// The home of a channel has answered.
    fn on_joined<M>(
        &mut self,
        name: &str,
        of_ticket: u64,
        (epoch, history): (u64, History),
        context: &mut ServiceContext<'_, M>,
    ) {
        let Some(place) = self.by_name.get(name).copied() else { return };
        let Some(channel) = &mut self.channels[place as usize] else { return };
        let Place::Elsewhere { ticket, joined, .. } = &mut channel.place else { return };
        if *ticket != of_ticket {
            // The join was taken back meanwhile.
            return;
        }
        *joined = Joined::Yes;
        channel.epoch = epoch;
        self.history_bytes += history.held_bytes();
        channel.history = history;
        channel.news = News::Some;
        let mut audiences = std::mem::take(&mut channel.audiences);
        for audience in &mut audiences {
            for (process, since) in audience.let_in() {
                let mut told = Vec::new();
                channel.write_since(since, audience.format, &mut told);
                if told.is_empty() {
                    // It reports by itself that its subscription is active.
                    context.command(Command::Resume(process));
                } else {
                    // One that has ended leaves by itself.
                    let _queued = context.queue(process, &told.into(), usize::MAX);
                }
            }
        }
        channel.audiences = audiences;
        self.note(place);
        self.bound_histories();
    }

    fn on_count(&mut self, from: Endpoint, name: &str, subscribers: u32) {
        let Some(place) = self.by_name.get(name).copied() else { return };
        if let Some(Channel { place: Place::Home(others), .. }) = &mut self.channels[place as usize]
        {
            others.retain(|(other, _)| *other != from);
            if subscribers > 0 {
                others.push((from, subscribers));
            }
        }
        self.note(place);
    }

    /// A message of a channel whose home is another scheduler.
    fn on_deliver(&mut self, name: &str, position: Position, body: &Body, now_ms: u64) {
        let has_history = self.rulebook.of(name).history.keeps();
        let place = self.by_name.get(name).copied();
        if let Some(place) = place
            && let Some(channel) = &mut self.channels[place as usize]
            && channel.is_known()
            && channel.epoch == position.epoch
            && channel.history.next() == position.offset
        {
            let before = channel.history.held_bytes();
            channel.accept(body, now_ms);
            self.history_bytes = self.history_bytes + channel.history.held_bytes() - before;
            self.tell_listeners(place, position, body);
            self.note(place);
            self.bound_histories();
        }
        self.patterns.put(Numbered { channel: name, position, has_history, body });
    }

    /// Sends everything that waits for other schedulers.
    pub(super) fn send_letters<M>(&mut self, context: &mut ServiceContext<'_, M>)
    where
        M: From<Box<Letter>> + TryInto<Box<Letter>> + Send,
    {
        for place in std::mem::take(&mut self.recounted_patterns) {
            let Some((glob, subscribers)) = self.patterns.recount(place) else { continue };
            for (other, outgoing) in self.outgoing.iter_mut().enumerate() {
                if other != usize::from(self.here.0) {
                    outgoing.push(Item::Pattern { glob: Arc::clone(&glob), subscribers });
                }
            }
        }
        for (other, outgoing) in self.outgoing.iter_mut().enumerate() {
            if outgoing.items.is_empty() {
                continue;
            }
            let letter = Box::new(Letter(std::mem::take(&mut outgoing.items)));
            match context.mail.send_part(Endpoint(other as u16), letter) {
                Ok(()) => outgoing.bytes = 0,
                Err(letter) => {
                    outgoing.items = letter.0;
                    context.wake_after_ms(1);
                }
            }
        }
    }
}
