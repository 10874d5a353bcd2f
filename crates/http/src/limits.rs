//! Every limit of HTTP connections: number, unit, consequence. The limits of codecs are in
//! `wire::limits`.
//!
//! The first part contains the defaults of [`HttpSettings`](crate::HttpSettings).

use std::time::Duration;

/// 1 MiB for a request body that is passed to a [`Function`](crate::Function); a longer one is answered with 413.
pub const BODY_SIZE: u64 = wire::limits::BODY_SIZE;
/// 64 KiB of a request body that no handler reads are discarded to keep the connection; beyond that it is closed.
pub const UNREAD_BODY_SIZE: u64 = 64 * 1024;
/// 10 s from a request's first byte (or the start of the connection) to the end of its head. After that the answer is
/// 408, or the connection is closed without an answer if no byte arrived.
pub const HEADER_DEADLINE: Duration = Duration::from_secs(10);
/// 30 s without a byte of an announced body; then 408, and the connection is closed.
pub const BODY_IDLE: Duration = Duration::from_secs(30);
/// 512 bytes per second, averaged over the body so far; a slower sender is answered with 408 and closed.
pub const BODY_RATE: u64 = 512;
/// 75 s between two requests of a connection; then it is closed.
pub const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// 30 s that an application may make a request wait; then the answer is 504, and the connection is closed.
pub const ANSWER_DEADLINE: Duration = Duration::from_secs(30);

/// 10 causes of failed handlers of an app are logged per second; the next line says how many were left out.
pub const FAILURES_LOGGED_PER_SECOND: u32 = 10;
/// 4,096 messages of an app may wait for room in the mailboxes of other schedulers; further calls that ask other
/// schedulers are answered with 503.
pub const ASKED_UNSENT_MAX: usize = 4096;

/// 8 media types of plain answers have a prepared head; the heads of others are put together for each answer.
pub const TYPED_HEADS_MAX: usize = 8;
/// 256 bytes of a malformed request line are written to the access log; the rest is left out.
pub const LOG_REFUSED_BYTES: usize = 256;
/// 128 bytes of an `X-Request-Id` of a trusted proxy; a longer one is replaced by one of this server.
pub const REQUEST_ID_SIZE: usize = 128;
/// 500 ms for which an idle connection stays open in a drain, so that its next answer can say `Connection: close`. Then
/// it is closed.
pub const DRAIN_IDLE_GRACE: Duration = Duration::from_millis(500);
/// 2 s for the rest of a head that has begun when a drain begins; then its connection is closed, as at any header
/// deadline.
pub const DRAIN_HEADER_DEADLINE: Duration = Duration::from_secs(2);
