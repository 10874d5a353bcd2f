//! The table of exchanges.
//!
//! Owns the difference between an exchange that runs and one that has ended, of which its requester has not taken the
//! last news.

use ahash::HashMap;

use crate::exchange::Exchange;
use crate::id::ExchangeId;

/// All exchanges. Boxed because the table has up to twice as many places as entries.
#[derive(Debug, Default)]
pub(crate) struct Table(HashMap<ExchangeId, Box<Exchange>>);

impl Table {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn insert(&mut self, id: ExchangeId, exchange: Exchange) {
        self.0.insert(id, Box::new(exchange));
    }

    pub(crate) fn remove(&mut self, id: ExchangeId) -> Option<Box<Exchange>> {
        self.0.remove(&id)
    }

    /// An exchange that runs.
    pub(crate) fn running(&mut self, id: ExchangeId) -> Option<&mut Exchange> {
        self.get_mut(id).filter(|exchange| exchange.is_running())
    }

    /// An exchange that runs, or has news.
    pub(crate) fn get_mut(&mut self, id: ExchangeId) -> Option<&mut Exchange> {
        self.0.get_mut(&id).map(|exchange| &mut **exchange)
    }

    /// The same, to look at.
    pub(crate) fn get(&self, id: ExchangeId) -> Option<&Exchange> {
        self.0.get(&id).map(|exchange| &**exchange)
    }
}
