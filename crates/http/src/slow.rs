//! Requests that took long, as the settings say ([`HttpSettings::slow_ns`](crate::HttpSettings::slow_ns)).
//!
//! Owns what the application is told of one. Never writes a line.

use runtime::slots::ProcessId;
use wire::http::status::Status;

use super::notes::Notes;

/// A request that took long. Its answer has been written, or it has ended without one.
#[derive(Debug)]
pub struct SlowRequest<'r> {
    /// The process of its connection.
    pub process: ProcessId,
    /// The status of its answer, or that of its line in the log if it got none.
    pub status: Status,
    /// When its head was complete, on the monotonic clock.
    pub began_ns: u64,
    /// Nanoseconds from then until the end of its answer was written, or until it ended without that.
    pub took_ns: u64,
    /// The notes of the application on it.
    pub notes: &'r Notes,
}
