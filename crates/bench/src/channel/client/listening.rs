//! The messages that subscribers hear.
//!
//! Owns when one counts as subscribed, and that every message is checked.

use runtime::service::{Next, Progress};
use wire::websocket::{MessageLimits, Opcode, PeerRole, ReadStep, write_masked};

use super::seats::{Absence, Presence};
use super::{Phase, Subscriber, Subscribers, Wording};
use crate::channel::check::{DeliveryFault, FaultKind};
use crate::channel::message::Stamped;
use crate::channel::objects::Heard;
use crate::channel::pairs::AddressPair;
use crate::channel::record::{Excuse, Receipt};
use crate::channel::tally::Delivery;
use crate::client::Context;

/// The limits of what a server may send; the user chose the server.
const LIMITS: MessageLimits =
    MessageLimits { frame: 1 << 24, message: 1 << 24, fragments: u16::MAX };

impl Subscribers {
    /// Reads frames.
    pub(super) fn take_frames(
        &mut self,
        subscriber: &mut Subscriber,
        input: &[u8],
        context: &mut Context<'_>,
    ) -> Progress {
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut consumed = 0;
        let next = loop {
            let rest = &input[consumed..];
            let step = subscriber.reader.next(PeerRole::Client, &LIMITS, rest, &mut scratch);
            let Ok((used, step)) = step else { break Next::Abort };
            consumed += used;
            match step {
                ReadStep::NeedMore => break Next::Read,
                ReadStep::Pong => {}
                ReadStep::Ping(payload) => {
                    write_masked(context.output.buffer(), Opcode::Pong, payload, [0; 4]);
                }
                ReadStep::Close(code) => {
                    subscriber.code = code.map(wire::websocket::CloseCode::number);
                    break Next::Finish;
                }
                ReadStep::Message(_, bytes) => match subscriber.wording {
                    Wording::Frames => self.take(subscriber, bytes, context),
                    Wording::Objects => {
                        if self.take_object(subscriber, bytes, context) == Next::Abort {
                            break Next::Abort;
                        }
                    }
                },
            }
        };
        self.scratch = scratch;
        Progress { consumed, next }
    }

    fn take_object(
        &mut self,
        subscriber: &mut Subscriber,
        bytes: &[u8],
        context: &mut Context<'_>,
    ) -> Next {
        match Heard::read(bytes) {
            Heard::Subscribed { channel, since, recovered } => {
                let seat = self.seats.seat(subscriber.number);
                if recovered != Some(true) {
                    seat.set_position(&channel, &since);
                }
                if recovered == Some(false) {
                    seat.excuse(Excuse::Told);
                }
                if subscriber.phase == Phase::Confirming {
                    self.confirm(subscriber, context);
                }
            }
            Heard::Message { offset, text } => {
                self.take(subscriber, text.as_bytes(), context);
                self.seats.seat(subscriber.number).advance(offset);
            }
            Heard::Refused(why) if subscriber.phase == Phase::Confirming => {
                subscriber.fail(format!("refused: {why}"));
                return Next::Abort;
            }
            Heard::Refused(why) => {
                self.tally.fail(format!("an order was refused: {why}"));
            }
            Heard::Nothing => {}
        }
        Next::Read
    }

    /// A subscriber is subscribed.
    pub(super) fn confirm(&mut self, subscriber: &mut Subscriber, context: &mut Context<'_>) {
        subscriber.phase = Phase::Subscribed;
        context.clear_deadline();
        let seat = self.seats.seat(subscriber.number);
        let before = seat.presence();
        seat.set_presence(Presence::Here(context.id));
        match before {
            Presence::Away { since_ns, why: Absence::Cut } => {
                if subscriber.wording == Wording::Frames {
                    seat.excuse(Excuse::Away);
                }
                let after_ns = context.now.monotonic_ns.saturating_sub(since_ns);
                self.tally.workload_mut().come_back(after_ns);
                self.orders.signs.come_back(context.now.monotonic_ns);
            }
            Presence::Away { why: Absence::Left, .. } => {
                let after_ns = context.now.monotonic_ns.saturating_sub(subscriber.begun_ns);
                self.tally.workload_mut().join(after_ns);
            }
            Presence::New | Presence::Here(_) | Presence::Over => {
                self.tally.open();
                self.orders.signs.open_one();
                self.publishers.admit(subscriber.number, self.share.way(subscriber.number).peer);
            }
        }
    }

    /// A message.
    fn take(&mut self, subscriber: &Subscriber, text: &[u8], context: &Context<'_>) {
        let Some(Stamped { due_ns, run, name }) = Stamped::read(text) else { return };
        let plan = &self.orders.plan;
        let addresses = plan.plan.peers.len().max(1);
        let (generator, from) =
            (usize::from(name.publisher) / addresses, usize::from(name.publisher) % addresses);
        let pair = AddressPair { from, to: self.share.way(subscriber.number).peer };
        if run != plan.part.run {
            return;
        }
        let seat = self.seats.seat(subscriber.number);
        let Some(receipt) = seat.take(name) else { return };
        let fault = |kind| DeliveryFault { kind, message: name, address: pair.to, messages: 1 };
        match receipt {
            Receipt::Double => return self.tally.check_mut().add(fault(FaultKind::Double)),
            Receipt::Late => self.tally.check_mut().add(fault(FaultKind::Late)),
            Receipt::New { skipped, excuse: Excuse::Told } => self.tally.check_mut().tell(skipped),
            Receipt::New { skipped, excuse: Excuse::Away } => self.tally.check_mut().miss(skipped),
            Receipt::New { excuse: Excuse::None, .. } => {}
        }
        let place = self.tally.receive(Delivery {
            place: name.place(plan.publishers()),
            pair,
            due_ns: self.orders.signs.here_ns(generator, due_ns),
            now_ns: context.now.monotonic_ns,
        });
        if let Some(pair) = seat.follow(place) {
            self.tally.follow(pair);
        }
        self.publishers.hear(usize::from(generator == plan.part.generator as usize));
    }
}
