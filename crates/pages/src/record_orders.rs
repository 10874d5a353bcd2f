//! Changes of the store that pages request.
//!
//! Owns the decoding of an order, as records.lua writes it ([`order_of`]), and which page waits for which order. Never
//! resumes a page: `recording.rs` does.

use std::rc::Rc;

use actors::RunKey;
use ahash::HashMap;
use script::limits::STORE_STEPS;
use store::{
    DatabaseChange, Expiry, Old, Only, Order, OrderCondition, StoreOperation, Value, ValueKind,
};

use super::record_lines::RecordLines;
use super::record_watches::RecordWatches;
use super::records::StoreRecords;

/// The number of an order.
pub type OrderNumber = u64;

/// The pages' connection to the store.
#[derive(Default)]
pub(super) struct Recording {
    /// Reads.
    pub(crate) records: Rc<StoreRecords>,
    /// Changes.
    pub(crate) orders: RecordOrders,
    /// The queues of pages that change the same keys.
    pub(crate) lines: RecordLines,
    /// Pages that wait for a commit.
    pub(crate) watches: RecordWatches,
}

impl Recording {
    /// The oldest commit after which a page waits for another one.
    pub(super) fn oldest_watch(&self) -> Option<u64> {
        self.watches.oldest()
    }

    /// A page continues without an answer.
    pub(super) fn stop_waiting(&mut self, key: RunKey) {
        self.lines.stop_waiting(key);
        self.watches.end(key);
    }

    /// A page has ended.
    pub(super) fn end(&mut self, key: RunKey) {
        self.orders.end(key);
        self.watches.end(key);
    }
}

/// Pending orders.
#[derive(Default)]
pub(super) struct RecordOrders {
    waiting: HashMap<OrderNumber, RunKey>,
    /// The order that each waiting page expects.
    of: HashMap<RunKey, OrderNumber>,
    /// Orders that are not taken yet.
    new: Vec<(OrderNumber, Order)>,
    last: OrderNumber,
}

impl RecordOrders {
    pub(super) fn begin(&mut self, key: RunKey, order: Order) {
        self.last += 1;
        self.waiting.insert(self.last, key);
        self.of.insert(key, self.last);
        self.new.push((self.last, order));
    }

    /// Takes the orders that are new.
    pub(super) fn take_new(&mut self) -> Vec<(OrderNumber, Order)> {
        std::mem::take(&mut self.new)
    }

    pub(super) fn settle(&mut self, number: OrderNumber) -> Option<RunKey> {
        let key = self.waiting.remove(&number)?;
        self.of.remove(&key);
        Some(key)
    }

    /// A page has ended. An order that was taken is executed anyway.
    pub(super) fn end(&mut self, key: RunKey) {
        if let Some(number) = self.of.remove(&key) {
            self.waiting.remove(&number);
            self.new.retain(|(known, _)| *known != number);
        }
    }
}

/// Decodes the order of a page.
///
/// # Errors
/// The mistake of the page.
pub(super) fn order_of(text: &[u8], records: &StoreRecords) -> Result<Order, String> {
    Items(text).order(records)
}

/// The remaining items of an order.
struct Items<'t>(&'t [u8]);

impl<'t> Items<'t> {
    fn next(&mut self) -> Option<&'t [u8]> {
        let end = self.0.iter().position(|byte| *byte == b':')?;
        let (length, rest) = (number(self.0.get(..end)?)?, self.0.get(end + 1..)?);
        let (item, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(item)
    }

    fn item(&mut self) -> Result<&'t [u8], String> {
        self.next().ok_or_else(|| "the order breaks off".to_owned())
    }

    fn order(mut self, records: &StoreRecords) -> Result<Order, String> {
        let mut order = Order::default();
        let conditions: usize =
            number(self.item()?).ok_or("the order has no number of conditions")?;
        for _ in 0..conditions.min(STORE_STEPS) {
            let database = records.database(self.item()?)?;
            let key = self.item()?.into();
            let version = number(self.item()?).ok_or("a version is a number")?;
            order.conditions.push(OrderCondition { database, key, version });
        }
        while !self.0.is_empty() {
            let kind = self.item()?;
            let database = records.database(self.item()?)?;
            let key = self.item()?;
            order.steps.push((database, StoreOperation::Change(self.change(kind, key)?)));
        }
        Ok(order)
    }

    fn change(&mut self, kind: &[u8], key: &[u8]) -> Result<DatabaseChange, String> {
        Ok(match kind {
            b"put" => {
                let kind = match self.item()? {
                    b"1" => ValueKind::Number,
                    b"2" => ValueKind::Table,
                    _ => ValueKind::Bytes,
                };
                let value = Value { kind, bytes: self.item()?.into() };
                let expiry = match self.item()? {
                    b"" => Expiry::Never,
                    b"keep" => Expiry::Keep,
                    time => Expiry::At(number(time).ok_or("a time is a number")?),
                };
                let only = match self.item()? {
                    b"" => Only::Always,
                    b"absent" => Only::IfAbsent,
                    b"present" => Only::IfPresent,
                    version => Only::IfVersion(number(version).ok_or("a version is a number")?),
                };
                DatabaseChange::Put { key: key.into(), value, expiry, only, old: Old::Dropped }
            }
            b"delete" => match self.item()? {
                b"" => DatabaseChange::Delete(vec![key.into()]),
                version => {
                    let version = number(version).ok_or("a version is a number")?;
                    DatabaseChange::DeleteVersion(key.into(), version)
                }
            },
            b"add" => {
                DatabaseChange::Add(key.into(), number(self.item()?).ok_or("it adds no number")?)
            }
            _ => return Err("the order has a step of no kind".to_owned()),
        })
    }
}

fn number<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    str::from_utf8(text).ok()?.parse().ok()
}
