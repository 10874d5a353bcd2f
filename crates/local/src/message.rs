//! The messages between the schedulers of a server and the writer of its store.
//!
//! Plain data only.

use runtime::slots::ProcessId;
use store::{Executed, Order, ReplicationNews, StoreFailure};

/// Messages to the writer of the store.
#[derive(Debug)]
pub enum ToStoreWriter {
    /// Execute orders; the answer is one message.
    Orders(Box<StoreOrders>),
    /// Report the next commit after this one, once.
    TellCommit(u64),
    /// The news that the link of the node brings from other stores, for a store with a role.
    Replication(Vec<ReplicationNews>),
    /// Make this store the leader, and report whether it is.
    Promote,
    /// Write to the disk what is not there yet, then end.
    Stop,
}

/// Orders for the store, of one scheduler.
#[derive(Debug)]
pub struct StoreOrders {
    /// The time by which keys expire, in milliseconds since 1970.
    pub now_ms: u64,
    /// The senders that wait for them, in the same order.
    pub waiting: Vec<OrderedBy>,
    /// The orders.
    pub orders: Vec<Order>,
}

/// The sender that waits for an order to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderedBy {
    /// A connection.
    Process(ProcessId),
    /// A page, which has given its order this number.
    Page(u64),
    /// The control thread of certificates, which has given its order this number. Its answers go to its own seat.
    State(u64),
}

/// The outcome of an order, for the one that waits.
pub type Stored = (OrderedBy, Result<Executed, StoreFailure>);
