//! Pages read and change the store.
//!
//! Owns the meaning of their waits, and how outcomes are passed to them. The tables are
//! in `record_orders` and `record_lines`.

use std::time::Duration;

use actors::RunKey;
use runtime::trace;
use store::{Executed, Order, StepOutcome, StoreFailure};

use super::Runner;
use super::calls::{Caller, PageCall, call};
use crate::delivery::{Delivery, WaitOutcome};
use crate::limits::STORE_LINE_WAIT;
use crate::record_orders::{OrderNumber, order_of};
use crate::traced;

pub(super) const CALLS: &[PageCall] = &[
    call!("store.order"(order: text) -> Values, "the store", Any, Runner::begin_order),
    call!("store.queue"(name: text) -> Values, "its place in a line", Any, Runner::stand_in_line),
    call!("store.commit"(after: number, time: time_or_none) -> Values, "a change of the \
        store", Any, Runner::await_commit),
    call!(
        "store.wait"(database: text, key: text, version: text, time: time_or_none) -> Values,
        "a change of the store",
        Any,
        Runner::await_change
    ),
];

impl Runner {
    /// A page orders a change.
    fn begin_order(&mut self, caller: &mut Caller<'_>, text: Vec<u8>) -> WaitOutcome {
        let key = caller.key;
        match order_of(&text, &self.recording.records) {
            Ok(order) => {
                if trace::is_on() {
                    caller.host.orders(&mut order.keys().map(|(_, key)| key));
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
        self.recording.orders.take_new()
    }

    /// Resumes a page with the result of its order.
    pub fn tell_executed(&mut self, number: OrderNumber, executed: Result<Executed, StoreFailure>) {
        if let Some(key) = self.recording.orders.settle(number) {
            traced::note(key, traced::ORDERED, format_args!(""));
            self.hand_over(key, delivery_of(executed));
        }
    }

    /// A page joins or leaves a queue.
    fn stand_in_line(&mut self, caller: &mut Caller<'_>, name: Vec<u8>) -> WaitOutcome {
        let key = caller.key;
        if name.is_empty() {
            self.leave_line(key);
            return WaitOutcome::Now(Delivery::Done);
        }
        if self.recording.lines.enter(key, &name) {
            return WaitOutcome::Now(Delivery::Done);
        }
        WaitOutcome::Later { due_ns: caller.after(STORE_LINE_WAIT) }
    }

    /// The commit after which the next one concerns a waiting page; `None` if no page waits.
    pub fn awaits_commit(&self) -> Option<u64> {
        self.recording.oldest_watch()
    }

    /// There is a new commit: the waiting pages check which keys have changed.
    pub fn tell_committed(&mut self) {
        let waiting: Vec<RunKey> = self.recording.watches.take().collect();
        for key in waiting {
            self.hand_over(key, Delivery::Done);
        }
    }

    /// A page waits for a commit later than the one that it has seen.
    fn await_commit(
        &mut self,
        caller: &mut Caller<'_>,
        after: u64,
        time: Option<Duration>,
    ) -> WaitOutcome {
        self.recording.watches.wait(caller.key, after);
        WaitOutcome::Later { due_ns: caller.after(time) }
    }

    /// A page waits until a key has another version than this one: it looks again after every commit.
    fn await_change(
        &mut self,
        caller: &mut Caller<'_>,
        database: Vec<u8>,
        key: Vec<u8>,
        version: Vec<u8>,
        time: Option<Duration>,
    ) -> WaitOutcome {
        let now_ms = u64::try_from(caller.host.now().as_millis()).unwrap_or(u64::MAX);
        match self.version_of(&database, &key, now_ms) {
            Ok((now, commit)) if now.to_string().as_bytes() == version => {
                self.recording.watches.wait(caller.key, commit);
                WaitOutcome::Later { due_ns: caller.after(time) }
            }
            // It reads the key next, and is told then if that is not possible.
            _ => WaitOutcome::Now(Delivery::Done),
        }
    }

    /// The version of a key, 0 if it is absent, and the commit at which that is so.
    fn version_of(&self, database: &[u8], key: &[u8], now_ms: u64) -> Result<(u64, u64), String> {
        let records = &self.recording.records;
        let (store, database) = (records.store()?, records.database(database)?);
        let snapshot = store.snapshot().map_err(|failure| failure.to_string())?;
        let record = snapshot.get(database, key, now_ms).map_err(|failure| failure.to_string())?;
        Ok((record.map_or(0, |record| record.version), snapshot.commit()))
    }

    /// A page leaves its queue, if it is in one; the next page is first.
    pub(super) fn leave_line(&mut self, key: RunKey) {
        if let Some(first) = self.recording.lines.leave(key) {
            self.hand_over(first, Delivery::Done);
        }
    }
}

fn texts(what: &[u8], outcome: Vec<u8>) -> Delivery {
    Delivery::Texts(Box::new([what.to_vec(), outcome]))
}

fn delivery_of(executed: Result<Executed, StoreFailure>) -> Delivery {
    match executed {
        Err(failure) => texts(b"failed", failure.to_string().into_bytes()),
        Ok(Executed::Refused) => texts(b"refused", Vec::new()),
        Ok(Executed::Done(mut outcomes)) => match outcomes.pop() {
            Some(StepOutcome::Misuse(misuse)) => texts(b"failed", misuse.to_string().into_bytes()),
            Some(StepOutcome::Number(number)) => texts(b"done", number.to_string().into_bytes()),
            Some(StepOutcome::Made(is_made) | StepOutcome::Put(is_made, _)) => {
                texts(b"done", if is_made { b"1".to_vec() } else { b"0".to_vec() })
            }
            _ => texts(b"done", Vec::new()),
        },
    }
}
