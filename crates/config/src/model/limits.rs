//! `[limits]` as plain data.
//!
//! Owns the shape and the defaults. Never reads text: `limit_keys` does.

use std::time::Duration;

use crate::limits;

/// `[limits]`: limits and deadlines of requests and connections. Sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitSettings {
    /// Request line and fields together; more is 431.
    pub head_size: u64,
    /// Fields of a head; more is 431.
    pub field_count: u64,
    /// One field; more is 431.
    pub field_size: u64,
    /// One field's name; more is 431.
    pub field_name_size: u64,
    /// The request target; more is 414.
    pub target_size: u64,
    /// A request body where the route says nothing else; more is 413.
    pub body_size: u64,
    /// All chunk extensions of a body; more is 400.
    pub chunk_extension_size: u64,
    /// The trailer of a chunked body; more is 431.
    pub trailer_size: u64,
    /// Bytes of a request body that no handler reads which are discarded; beyond this the connection is closed.
    pub unread_body_size: u64,
    /// The time from the first byte of a head to its end.
    pub header_deadline: Duration,
    /// The time without a byte of a body.
    pub body_idle: Duration,
    /// The minimum rate of a sender in bytes per second; zero for no minimum.
    pub body_rate: u64,
    /// The time to discard a request body that no handler reads.
    pub unread_body_deadline: Duration,
    /// The time in which the peer reads no byte of an answer.
    pub send_idle: Duration,
    /// The minimum rate of a reader in bytes per second; zero for no minimum.
    pub send_rate: u64,
    /// The time between two requests on a connection; `None` for no limit.
    pub keep_alive: Option<Duration>,
    /// Requests after which a connection is closed; `None` for no limit.
    pub requests_per_connection: Option<u64>,
    /// Connections of the whole server.
    pub connections: u64,
    /// Keys of all `[[limit]]` that are known at once.
    pub limit_keys: u64,
    /// TLS handshakes of one address that may be under way on one scheduler.
    pub handshakes_per_address: u64,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            head_size: limits::HEAD_SIZE,
            field_count: limits::FIELD_COUNT,
            field_size: limits::FIELD_SIZE,
            field_name_size: limits::FIELD_NAME_SIZE,
            target_size: limits::TARGET_SIZE,
            body_size: limits::BODY_SIZE,
            chunk_extension_size: limits::CHUNK_EXTENSION_SIZE,
            trailer_size: limits::TRAILER_SIZE,
            unread_body_size: limits::UNREAD_BODY_SIZE,
            header_deadline: limits::HEADER_DEADLINE,
            body_idle: limits::BODY_IDLE,
            body_rate: limits::BODY_RATE,
            unread_body_deadline: limits::UNREAD_BODY_DEADLINE,
            send_idle: limits::SEND_IDLE,
            send_rate: limits::SEND_RATE,
            keep_alive: Some(limits::KEEP_ALIVE),
            requests_per_connection: None,
            connections: limits::CONNECTIONS,
            limit_keys: limits::QUOTA_KEYS,
            handshakes_per_address: limits::HANDSHAKES_PER_ADDRESS,
        }
    }
}
