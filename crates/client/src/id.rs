//! The number of an exchange, and the requester that began it.
//!
//! Owns these two types.

use runtime::slots::ProcessId;

/// The number of an exchange, unique on its scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExchangeId(pub u64);

/// The part of the scheduler that is told of news, and takes it with [`Client::next`](crate::Client::next).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requester {
    /// The service, which asks [`Client::heard`](crate::Client::heard) at the end of a turn.
    Service,
    /// This process, which is run with [`Event::Resumed`](runtime::service::Event::Resumed). When it ends, it must
    /// [`cancel`](crate::Client::cancel) its exchanges.
    Process(ProcessId),
}
