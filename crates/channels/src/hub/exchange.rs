//! Channel messages between schedulers.
//!
//! Owns their order: everything from one scheduler to another stays in order, so a message is never
//! delivered to a subscriber that already has it from the history, and none is lost between the
//! two. Deliveries of a turn are sent to all schedulers before anything else is: a publisher that learns that
//! a message was published, and publishes another one to any channel, does so when the first is in
//! every mailbox that it has to reach, and mailboxes keep that order.

use std::sync::Arc;

use runtime::mailbox::Endpoint;
use runtime::service::{SchedulerCommand, ServiceContext};
use runtime::trace;

use super::Channels;
use super::cluster::PatternNote;
use super::transit::{Incoming, MessageOrigin};
use crate::format::Numbered;
use crate::letter::{ChannelLetter, Item, PublishReceipt, Publisher, Receipt};
use crate::limits::UNSENT_BYTES;
use crate::member::Whereabouts;
use crate::message::Payload;
use crate::patterns::Known;
use crate::position::Position;
use crate::ruled::Ruled;
use crate::shared::WaitingJoin;
use crate::traced;

/// The unsent items for one other scheduler.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    deliveries: Vec<Item>,
    others: Vec<Item>,
    /// Bytes of each, because they may be sent in different turns.
    delivery_bytes: usize,
    other_bytes: usize,
}

impl Outgoing {
    pub(super) fn push(&mut self, item: Item) {
        let (items, bytes) = if item.is_delivery() {
            (&mut self.deliveries, &mut self.delivery_bytes)
        } else {
            (&mut self.others, &mut self.other_bytes)
        };
        // Every item takes at least its own size.
        *bytes += size_of::<Item>() + item.bytes();
        items.push(item);
    }

    /// Sends what is in the list of deliveries. `false`: the mailbox is full.
    fn send_deliveries<M>(&mut self, other: usize, context: &mut ServiceContext<'_, M>) -> bool
    where
        M: From<Box<ChannelLetter>> + TryInto<Box<ChannelLetter>> + Send,
    {
        let is_sent = send(other, &mut self.deliveries, context);
        if is_sent {
            self.delivery_bytes = 0;
        }
        is_sent
    }

    /// Whether so much waits that nothing new should be begun for it.
    pub(super) fn is_full(&self) -> bool {
        self.delivery_bytes + self.other_bytes > UNSENT_BYTES
    }
}

impl Channels {
    /// A letter from another scheduler.
    pub fn on_letter<M>(
        &mut self,
        from: Endpoint,
        letter: ChannelLetter,
        context: &mut ServiceContext<'_, M>,
    ) {
        for item in letter.0 {
            self.take_item(from, item, context);
        }
    }

    fn take_item<M>(&mut self, from: Endpoint, item: Item, context: &mut ServiceContext<'_, M>) {
        match item {
            Item::Publish { name, rule, offer, publisher, stamp } => {
                let origin = MessageOrigin { from, publisher };
                self.on_publish(Incoming { origin, name, rule, offer, stamp }, context);
            }
            Item::Receipt(receipt) => self.on_receipt(receipt, context),
            Item::Join { name, ticket, reach } => {
                self.on_join(name, WaitingJoin { from, ticket, reach });
            }
            Item::Joined { name, ticket, epoch, history } => {
                self.on_joined(&name, ticket, (epoch, history), context);
            }
            Item::Renewed { name, epoch, history } => self.on_renewed(&name, epoch, history),
            Item::Count { name, subscribers, dropped } => {
                self.on_count(from, &name, (subscribers, dropped));
            }
            Item::Deliver { name, rule, epoch, offset, before, body, patterns, stamp } => {
                self.lags.begin(stamp);
                let position = Position { epoch, offset };
                let now_ms = context.now.monotonic_ms();
                let channel = self.rulebook.renew(Ruled::new(&name, rule));
                self.on_deliver(channel, (position, before), (&body, &patterns), now_ms);
                if trace::is_on() {
                    let place = self.by_name.get(&*name).copied();
                    let channel = place.and_then(|place| self.channels[place as usize].as_ref());
                    let subscribers = channel.map_or(0, |channel| channel.subscribers());
                    traced::arrived(&name, position, from, subscribers);
                }
            }
            Item::Ask { asker, number, question } => {
                self.on_ask(from, asker, number, &question);
            }
            Item::Told { asker, number, findings } => {
                self.on_told(asker, number, findings, context);
            }
            Item::Asked { from, question } => self.on_asked(from, question),
            Item::Member { name, member, step } => {
                self.on_member(Whereabouts::Scheduler(from), &name, &member, step);
            }
            Item::Presence { name, member, step } => self.on_presence(&name, &member, step),
            Item::Pattern { glob, subscribers, ticket } => {
                let has_room = self.patterns.note(from, &glob, subscribers);
                match ticket {
                    Some(ticket) if has_room => {
                        self.note_pattern(PatternNote { to: from, glob, ticket }, context);
                    }
                    Some(ticket) => {
                        let noted = Item::Noted { glob, ticket, has_room };
                        self.outgoing[usize::from(from.0)].push(noted);
                    }
                    None => {}
                }
            }
            Item::Noted { glob, ticket, has_room } => {
                self.on_noted(&glob, ticket, has_room, context);
            }
        }
    }

    /// The home of a channel reports the result of a message.
    pub(super) fn on_receipt<M>(&mut self, receipt: Receipt, context: &mut ServiceContext<'_, M>) {
        let Publisher { process, told } = receipt.publisher;
        match told {
            PublishReceipt::ByReceipt(_) => self.receipts.push(receipt),
            PublishReceipt::ByResuming => {
                // A process that has ended was removed.
                if let Some(outcome) = self.awaited.get_mut(&process) {
                    *outcome = Some(receipt.result);
                    context.command(SchedulerCommand::Resume(process));
                }
            }
        }
    }

    /// A message of a channel whose home is another scheduler.
    fn on_deliver(
        &mut self,
        ruled: Ruled<'_>,
        (position, before): (Position, u64),
        (body, patterns): (&Payload, &[Arc<str>]),
        now_ms: u64,
    ) {
        self.order += 1;
        let has_history = self.rulebook.rules_of(ruled).history.keeps();
        let name = ruled.name();
        let place = self.by_name.get(name).copied();
        if let Some(place) = place
            && let Some(channel) = &mut self.channels[place as usize]
            && channel.is_known()
            && channel.epoch == position.epoch
            && channel.history.is_next(position.offset, before)
        {
            let held = channel.history.held_bytes();
            channel.accept(self.order, position.offset, body, now_ms);
            self.history_bytes = self.history_bytes + channel.history.held_bytes() - held;
            self.tell_listeners(place, position, body);
            self.note(place);
            self.bound_histories();
        }
        let message = Numbered { channel: name, position, has_history, body };
        let found = patterns.iter().filter_map(|text| self.patterns.find(text));
        let patterns: Vec<u32> = found.collect();
        for place in &patterns {
            self.put_for_pattern(*place, message);
        }
        self.note_lag(ruled, place, &patterns);
    }

    /// Tells the other schedulers how many subscribers patterns have here.
    fn tell_patterns<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        let in_cluster = usize::from(self.cluster.is_some());
        for place in self.patterns.take_recounted() {
            let new = self.ticket();
            // In a cluster this scheduler follows the messages of other nodes, as all do.
            let left = self.outgoing.len() - 1 + in_cluster;
            let Some(pattern) = self.patterns.at(place) else { continue };
            let (glob, subscribers) = (Arc::clone(&pattern.text), pattern.subscribers());
            let mut ticket = None;
            if subscribers == 0 {
                pattern.known = Known::No;
            } else if pattern.known == Known::No {
                ticket = Some(new);
                pattern.known = Known::Told { ticket: new, left };
            }
            for (other, outgoing) in self.outgoing.iter_mut().enumerate() {
                if other != usize::from(self.here.0) {
                    let glob = Arc::clone(&glob);
                    outgoing.push(Item::Pattern { glob, subscribers, ticket });
                }
            }
            if let Some(ticket) = ticket.filter(|_| in_cluster > 0) {
                self.note_pattern(PatternNote { to: self.here, glob, ticket }, context);
            }
            self.patterns.forget_unused(place);
        }
    }

    /// A scheduler knows a pattern, or has no room for it. When all have answered, its subscribers are told.
    pub(super) fn on_noted<M>(
        &mut self,
        glob: &str,
        of_ticket: u64,
        has_room: bool,
        context: &mut ServiceContext<'_, M>,
    ) {
        let place = self.patterns.find(glob);
        let Some(pattern) = place.and_then(|place| self.patterns.at(place)) else { return };
        let Known::Told { ticket, left } = &mut pattern.known else { return };
        if *ticket != of_ticket {
            // They have all left since.
            return;
        }
        *left -= 1;
        if has_room && *left > 0 {
            return;
        }
        pattern.known = if has_room { Known::Yes } else { Known::NoRoom };
        for audience in &mut pattern.audiences {
            for process in audience.waiting() {
                context.command(SchedulerCommand::Resume(process));
            }
            if has_room {
                audience.let_in(|_| true);
            }
        }
    }

    /// Sends everything that waits for other schedulers: deliveries first, and nothing else before all of them are
    /// sent.
    pub(super) fn send_letters<M>(&mut self, context: &mut ServiceContext<'_, M>)
    where
        M: From<Box<ChannelLetter>> + TryInto<Box<ChannelLetter>> + Send,
    {
        self.tell_patterns(context);
        let last = self.outgoing.iter().rposition(|outgoing| !outgoing.deliveries.is_empty());
        let mut is_sent = true;
        for (other, outgoing) in self.outgoing.iter_mut().enumerate() {
            if Some(other) != last {
                is_sent &= outgoing.send_deliveries(other, context);
            }
        }
        if let Some(last) = last {
            let outgoing = &mut self.outgoing[last];
            let count = outgoing.deliveries.len();
            if is_sent {
                // After the last deliveries everything else may follow, so it goes in the same letter.
                outgoing.deliveries.append(&mut outgoing.others);
            }
            if !outgoing.send_deliveries(last, context) {
                is_sent = false;
                outgoing.others.extend(outgoing.deliveries.drain(count..));
            }
        }
        if is_sent {
            for (other, outgoing) in self.outgoing.iter_mut().enumerate() {
                if send(other, &mut outgoing.others, context) {
                    outgoing.other_bytes = 0;
                } else {
                    is_sent = false;
                }
            }
        }
        if !is_sent {
            context.wake_after_ms(1);
        }
    }
}

/// Sends items to a scheduler. `false`: its mailbox is full.
fn send<M>(other: usize, items: &mut Vec<Item>, context: &mut ServiceContext<'_, M>) -> bool
where
    M: From<Box<ChannelLetter>> + TryInto<Box<ChannelLetter>> + Send,
{
    if items.is_empty() {
        return true;
    }
    let letter = Box::new(ChannelLetter(std::mem::take(items)));
    match context.mail.send_part(Endpoint(other as u16), letter) {
        Ok(()) => true,
        Err(letter) => {
            *items = letter.0;
            false
        }
    }
}
