//! Messages that wait for a later turn, because those of this turn were work enough.
//!
//! Owns how much a turn may do for the channels whose home this scheduler is. A message is compared
//! with all patterns and copied for each audience, so a publisher decides how much work it is; one
//! that has to wait is told later, as if the home were another scheduler.

use std::collections::VecDeque;

use runtime::service::ServiceContext;
use runtime::trace;

use super::Channels;
use super::transit::{Incoming, MessageOrigin};
use crate::letter::{Item, Receipt};
use crate::limits::{BYTES_PER_STEP, STEPS_PER_TURN, UNSENT_BYTES};
use crate::message::Payload;
use crate::outcome::{ChannelRefusal, Published};
use crate::ruled::Ruled;
use crate::traced;

/// The waiting messages, in order, and the steps of this turn so far.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    waiting: VecDeque<Incoming>,
    bytes: usize,
    steps: usize,
}

impl Backlog {
    /// Whether a message can be distributed now.
    pub(super) fn is_open(&self) -> bool {
        self.waiting.is_empty() && self.steps < STEPS_PER_TURN
    }

    /// This turn has done so much.
    pub(super) fn charge(&mut self, steps: usize) {
        self.steps += steps;
    }

    /// A message was copied for each of so many audiences.
    pub(super) fn charge_copies(&mut self, audiences: usize, body: &Payload) {
        self.charge(audiences * (1 + body.bytes().len() / BYTES_PER_STEP));
    }

    /// A message waits for a later turn.
    pub(super) fn postpone(&mut self, message: Incoming) -> Result<(), ChannelRefusal> {
        if self.bytes > UNSENT_BYTES {
            return Err(ChannelRefusal::Busy);
        }
        self.bytes += message.bytes();
        self.waiting.push_back(message);
        Ok(())
    }

    fn next(&mut self) -> Option<Incoming> {
        if self.steps >= STEPS_PER_TURN {
            return None;
        }
        let message = self.waiting.pop_front()?;
        self.bytes -= message.bytes();
        Some(message)
    }
}

impl Channels {
    /// A message for a channel whose home this is.
    pub(super) fn on_publish<M>(&mut self, message: Incoming, context: &mut ServiceContext<'_, M>) {
        if self.backlog.is_open() {
            return self.accept_incoming(message, context);
        }
        let origin = message.origin;
        let postponed = self.backlog.postpone(message);
        if let Err(refusal) = self.counted(postponed) {
            self.tell_publisher(origin, Err(refusal), context);
        }
    }

    /// Distributes messages that have waited, as many as this turn may.
    pub(super) fn run_backlog<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        while let Some(message) = self.backlog.next() {
            self.accept_incoming(message, context);
        }
    }

    /// The turn ends: the next one may do as much again.
    pub(super) fn refill_backlog<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        self.backlog.steps = 0;
        // Receipts of messages that have waited are there only now, and are handed over in the next turn.
        if !self.backlog.waiting.is_empty() || !self.receipts.is_empty() {
            context.wake_after_ms(0);
        }
    }

    fn accept_incoming<M>(&mut self, message: Incoming, context: &mut ServiceContext<'_, M>) {
        let Incoming { origin, name, rule, offer, stamp } = message;
        self.lags.begin(stamp);
        let channel = self.rulebook.renew(Ruled::new(&name, rule));
        let accepted = self.accept_once(channel, offer, origin, context.now.monotonic_ms());
        if trace::is_noting() && origin.from != self.here && accepted.is_ok() {
            traced::came(origin.from);
        }
        if let Some(result) = self.counted(accepted).transpose() {
            self.tell_publisher(origin, result, context);
        }
    }

    pub(super) fn tell_publisher<M>(
        &mut self,
        MessageOrigin { from, publisher }: MessageOrigin,
        result: Result<Published, ChannelRefusal>,
        context: &mut ServiceContext<'_, M>,
    ) {
        let Some(publisher) = publisher else { return };
        let receipt = Receipt { publisher, result };
        if from == self.here {
            self.on_receipt(receipt, context);
        } else {
            self.outgoing[usize::from(from.0)].push(Item::Receipt(receipt));
        }
    }
}
