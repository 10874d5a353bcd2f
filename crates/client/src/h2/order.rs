//! Orders to shared connections: what exchanges want of their streams.
//!
//! Owns them until the connection runs. Never runs it.

use ahash::HashMap;
use runtime::slots::ProcessId;

use crate::id::ExchangeId;

/// Something to do for a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamOrder {
    /// Begin one for this exchange.
    Begin(ExchangeId),
    /// There is more of its request.
    Send(u32),
    /// The requester has taken some of its answer: open the window.
    Open { stream: u32, increment: u32 },
    /// Its exchange is over before its answer is.
    End(u32),
}

/// The orders that wait, by connection.
#[derive(Debug, Default)]
pub(crate) struct Orders(HashMap<ProcessId, Vec<StreamOrder>>);

impl Orders {
    /// Adds an order. Returns whether it is the first one, for which the connection has to run.
    pub(crate) fn add(&mut self, connection: ProcessId, order: StreamOrder) -> bool {
        let orders = self.0.entry(connection).or_default();
        orders.push(order);
        orders.len() == 1
    }

    /// All orders for a connection.
    pub(crate) fn take(&mut self, connection: ProcessId) -> Vec<StreamOrder> {
        self.0.remove(&connection).unwrap_or_default()
    }
}
