//! The messages that subscribers have missed.
//!
//! Owns when that is counted: when a subscriber leaves, and for all at the end.

use super::Subscribers;
use super::seats::{Absence, Presence};
use crate::channel::check::{DeliveryFault, FaultKind};
use crate::channel::signs::Ending;

impl Subscribers {
    /// Counts what a subscriber has missed so far.
    pub(super) fn settle(&mut self, number: u32) {
        let address = self.share.way(number).peer;
        let record = self.seats.seat(number).record();
        let mut unnamed = record.missing();
        for hole in record.holes() {
            let (message, messages) = (hole.first(), hole.length());
            unnamed -= messages;
            self.tally.check_mut().add(DeliveryFault {
                kind: FaultKind::Gap,
                message,
                address,
                messages,
            });
        }
        self.tally.check_mut().add_unnamed(FaultKind::Gap, unnamed);
    }

    /// Counts what a subscriber that is there at the end has missed there.
    fn settle_tail(&mut self, number: u32, published: &[u64]) {
        let address = self.share.way(number).peer;
        let record = self.seats.seat(number).record();
        let tail = record.tail(published);
        self.tally.check_mut().tell(tail.told());
        self.tally.check_mut().miss(tail.away());
        if let Some(message) = record.first_after(published) {
            let messages = tail.missing();
            self.tally.check_mut().add(DeliveryFault {
                kind: FaultKind::Gap,
                message,
                address,
                messages,
            });
        }
    }

    /// Counts what every subscriber has missed.
    pub(super) fn settle_all(&mut self) {
        let published = self.orders.signs.published();
        let ending = self.orders.signs.ending();
        for number in 0..self.seats.count() {
            let seat = self.seats.seat(number);
            let presence = seat.presence();
            if presence == Presence::New {
                continue;
            }
            if let Some(received) = seat.received_from_the_beginning() {
                self.tally.end(received);
            }
            self.settle(number);
            match presence {
                Presence::Here(_) if ending == Some(Ending::Whole) => {
                    self.settle_tail(number, &published);
                }
                Presence::Away { why: Absence::Cut, .. } if ending == Some(Ending::Whole) => {
                    self.tally.workload_mut().stay_away();
                }
                // One that comes for another is not missed: it expects only what is published from then on.
                Presence::Away { .. } | Presence::Here(_) | Presence::Over | Presence::New => {}
            }
        }
    }
}
