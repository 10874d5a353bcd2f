//! The subscribers that publish: one at each address.
//!
//! Owns when a message is due and who publishes it.

use super::{Subscriber, Subscribers, Wording};
use crate::channel::message::{MessageName, Stamped};
use crate::channel::{ChannelPace, ChannelPlan, objects};
use crate::client::Context;

/// A subscriber that publishes.
#[derive(Debug)]
struct Publisher {
    seat: u32,
    address: usize,
    sent: u64,
}

/// Those of a generator: all are subscribers of its first thread.
#[derive(Debug, Default)]
pub(super) struct Publishers {
    /// The addresses that have none yet.
    vacant: Vec<usize>,
    /// In the order of their addresses.
    each: Vec<Publisher>,
    /// The publisher whose turn it is, if they wait for each other.
    turn: usize,
    /// Deliveries of their messages.
    heard: u64,
}

impl Publishers {
    /// Those that a thread of this number has.
    pub(super) fn of(plan: &ChannelPlan, thread: u32) -> Self {
        let all = 0..plan.plan.peers.len();
        let vacant = all.filter(|at| plan.publish_to.is_none_or(|only| only == *at));
        let vacant = if thread == 0 { vacant.collect() } else { Vec::new() };
        Self { vacant, ..Self::default() }
    }

    /// A subscriber at an address is there: it publishes if that address has no publisher.
    pub(super) fn admit(&mut self, seat: u32, address: usize) {
        if let Some(at) = self.vacant.iter().position(|vacant| *vacant == address) {
            self.vacant.swap_remove(at);
            self.each.push(Publisher { seat, address, sent: 0 });
            self.each.sort_by_key(|publisher| publisher.address);
        }
    }

    /// Deliveries of messages of this generator.
    pub(super) fn hear(&mut self, messages: usize) {
        self.heard += messages as u64;
    }

    /// Whether a subscriber publishes.
    pub(super) fn has(&self, seat: u32) -> bool {
        self.each.iter().any(|publisher| publisher.seat == seat)
    }

    /// Messages of all of them.
    pub(super) fn sent(&self) -> u64 {
        self.each.iter().map(|publisher| publisher.sent).sum()
    }

    /// When the next message of one is due, in nanoseconds from the begin, if they publish in turn at a rate.
    fn due_after_ns(&self, at: usize, rate: f64) -> u64 {
        let number = self.each[at].sent * self.each.len() as u64 + at as u64;
        (number as f64 / rate * 1e9) as u64
    }
}

impl Subscribers {
    /// Publishes the messages of this subscriber that are due.
    pub(super) fn publish(&mut self, subscriber: &Subscriber, context: &mut Context<'_>) {
        let each = self.publishers.each.iter();
        let Some(at) = each.clone().position(|publisher| publisher.seat == subscriber.number)
        else {
            return;
        };
        let now_ns = context.now.monotonic_ns;
        let begin_ns = self.orders.signs.begin_ns();
        if now_ns < begin_ns || now_ns >= self.orders.signs.end_ns() {
            return;
        }
        match self.orders.plan.pace {
            ChannelPace::AtOnce(count) if self.is_heard() && self.publishers.turn == at => {
                for _ in 0..count {
                    if !self.send(at, now_ns, subscriber, context) {
                        break;
                    }
                }
                self.publishers.turn = (at + 1) % self.publishers.each.len();
            }
            ChannelPace::AtOnce(_) => {}
            ChannelPace::Rate(rate) => loop {
                let due_ns = begin_ns.saturating_add(self.publishers.due_after_ns(at, rate));
                if due_ns > now_ns || !self.send(at, due_ns, subscriber, context) {
                    break;
                }
            },
        }
    }

    /// Sends one message; `false` if there are to be no more.
    fn send(
        &mut self,
        at: usize,
        due_ns: u64,
        subscriber: &Subscriber,
        context: &mut Context<'_>,
    ) -> bool {
        let plan = &self.orders.plan;
        if self.publishers.sent() >= plan.messages {
            return false;
        }
        let Publisher { address, sent, seat } = &mut self.publishers.each[at];
        let publisher = plan.publisher(*address);
        let name = MessageName { publisher, number: *sent };
        let text = Stamped { due_ns, run: plan.part.run, name }.text(plan.size);
        *sent += 1;
        self.orders.signs.publish(usize::from(publisher), *sent);
        match (subscriber.wording, self.seats.seat(*seat).channel()) {
            (Wording::Objects, Some(channel)) => {
                subscriber.send(objects::publish(channel, &text).as_bytes(), context);
            }
            _ => subscriber.send(text.as_bytes(), context),
        }
        self.tally.publish();
        true
    }

    /// Whether every subscriber of this thread has received everything that this generator published.
    fn is_heard(&self) -> bool {
        self.publishers.heard >= self.publishers.sent().saturating_mul(self.tally.opened())
    }

    /// The next publisher that should run, and when; `None` while there is nothing to publish.
    pub(super) fn due(&self) -> Option<(u32, u64)> {
        let begin_ns = self.orders.signs.begin_ns();
        if begin_ns == u64::MAX || self.publishers.sent() >= self.orders.plan.messages {
            return None;
        }
        let each = self.publishers.each.iter().enumerate();
        match self.orders.plan.pace {
            ChannelPace::Rate(rate) => each
                .map(|(at, publisher)| {
                    let due_ns = begin_ns.saturating_add(self.publishers.due_after_ns(at, rate));
                    (publisher.seat, due_ns)
                })
                .min_by_key(|(_, due_ns)| *due_ns),
            ChannelPace::AtOnce(_) if !self.is_heard() => None,
            ChannelPace::AtOnce(_) => {
                let publisher = self.publishers.each.get(self.publishers.turn)?;
                Some((publisher.seat, begin_ns))
            }
        }
    }
}
