//! Pages read and change the store.
//!
//! Owns the meaning of their waits, and how outcomes are passed to them. The tables are
//! in `record_orders` and `record_lines`.

use runtime::clock::nanoseconds;
use runtime::trace;
use store::{Executed, Failure, Order, Outcome};

use super::delivery::{Delivery, WaitOutcome};
use super::process::Key;
use super::record_orders::{OrderNumber, order_of};
use super::runner::{Moment, Runner};
use super::traced;
use crate::limits::STORE_LINE_WAIT;

impl Runner {
    /// A page orders a change.
    pub(super) fn begin_order(&mut self, key: Key, text: &[u8]) -> WaitOutcome {
        match order_of(text, &self.recording.records) {
            Ok(order) => {
                if trace::is_on() {
                    traced::orders(key, &order);
                }
                self.recording.orders.begin(key, order);
                WaitOutcome::Later { due_ns: u64::MAX }
            }
            Err(why) => WaitOutcome::Now(texts(b"wrong", why.into_bytes())),
        }
    }

    /// Takes the new orders of pages.
    pub fn take_record_orders(&mut self) -> Vec<(OrderNumber, Order)> {
        std::mem::take(&mut self.recording.orders.new)
    }

    /// Resumes a page with the result of its order.
    pub fn tell_executed(&mut self, number: OrderNumber, executed: Result<Executed, Failure>) {
        if let Some(key) = self.recording.orders.settle(number) {
            if trace::is_on() {
                traced::note(key, traced::ORDERED, format_args!(""));
            }
            self.hand_over(key, delivery_of(executed));
        }
    }

    /// A page joins or leaves a queue.
    pub(super) fn stand_in_line(&mut self, key: Key, name: &[u8], moment: Moment) -> WaitOutcome {
        if name.is_empty() {
            self.leave_line(key);
            return WaitOutcome::Now(Delivery::Done);
        }
        if self.recording.lines.enter(key, name) {
            return WaitOutcome::Now(Delivery::Done);
        }
        WaitOutcome::Later { due_ns: moment.now_ns.saturating_add(nanoseconds(STORE_LINE_WAIT)) }
    }

    /// The commit after which the next one concerns a waiting page; `None` if no page waits.
    #[must_use]
    pub fn awaits_commit(&self) -> Option<u64> {
        self.recording.watches.oldest()
    }

    /// There is a new commit: the waiting pages check which keys have changed.
    pub fn tell_committed(&mut self) {
        let waiting: Vec<Key> = self.recording.watches.take().collect();
        for key in waiting {
            self.hand_over(key, Delivery::Done);
        }
    }

    /// A page waits for a commit later than the one that it has seen.
    pub(super) fn await_commit(&mut self, key: Key, after: u64, due_ns: u64) -> WaitOutcome {
        self.recording.watches.wait(key, after);
        WaitOutcome::Later { due_ns }
    }

    /// A page leaves its queue, if it is in one; the next page is first.
    pub(super) fn leave_line(&mut self, key: Key) {
        if let Some(first) = self.recording.lines.leave(key) {
            self.hand_over(first, Delivery::Done);
        }
    }
}

fn texts(what: &[u8], outcome: Vec<u8>) -> Delivery {
    Delivery::Texts(Box::new([what.to_vec(), outcome]))
}

fn delivery_of(executed: Result<Executed, Failure>) -> Delivery {
    match executed {
        Err(failure) => texts(b"failed", failure.to_string().into_bytes()),
        Ok(Executed::Refused) => texts(b"refused", Vec::new()),
        Ok(Executed::Done(mut outcomes)) => match outcomes.pop() {
            Some(Outcome::Misuse(misuse)) => texts(b"failed", misuse.to_string().into_bytes()),
            Some(Outcome::Number(number)) => texts(b"done", number.to_string().into_bytes()),
            Some(Outcome::Made(is_made) | Outcome::Put(is_made, _)) => {
                texts(b"done", if is_made { b"1".to_vec() } else { b"0".to_vec() })
            }
            _ => texts(b"done", Vec::new()),
        },
    }
}
