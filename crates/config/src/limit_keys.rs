//! `[limits]`: the bounds and deadlines of requests and connections.
//!
//! Owns the keys of that section. The defaults and the bounds of the bounds are in [`crate::limits`].

use std::ops::RangeInclusive;
use std::time::Duration;

use super::Problems;
use super::section::Section;
use super::value::{
    count_or_unlimited, deadline, deadline_or_forever, duration, rate, size, size_within, whole,
};
use crate::limits;

/// What a head and its parts may be bounded by.
const HEAD_PART: RangeInclusive<u64> = 16..=limits::HEAD_PART_SIZE_MAX;

/// `[limits]`: bounds and deadlines of requests and connections. Sizes are bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
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
    /// What is thrown away of a body nobody reads before the connection is closed instead.
    pub unread_body_size: u64,
    /// From the first byte of a head to its end.
    pub header_deadline: Duration,
    /// Without a byte of a body.
    pub body_idle: Duration,
    /// The slowest allowed sender in bytes a second; zero for any.
    pub body_rate: u64,
    /// To throw away a body nobody reads.
    pub unread_body_deadline: Duration,
    /// Without the peer taking a byte of an answer.
    pub send_idle: Duration,
    /// The slowest allowed reader in bytes a second; zero for any.
    pub send_rate: u64,
    /// Between two requests of a connection; `None` for ever.
    pub keep_alive: Option<Duration>,
    /// Requests after which a connection is closed; `None` for never.
    pub requests_per_connection: Option<u64>,
    /// Connections of the whole server.
    pub connections: u64,
}

impl Default for Limits {
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
        }
    }
}

/// Reads the section over the defaults.
pub(super) fn read(section: Option<Section<'_>>, problems: &mut Problems) -> Limits {
    let mut limits = Limits::default();
    if let Some(section) = section {
        read_sizes(&section, &mut limits, problems);
        read_deadlines(&section, &mut limits, problems);
        fit_parts(&section, &mut limits, problems);
    }
    limits
}

fn read_sizes(section: &Section<'_>, limits: &mut Limits, problems: &mut Problems) {
    for (key, target) in [
        ("head_size", &mut limits.head_size),
        ("field_size", &mut limits.field_size),
        ("field_name_size", &mut limits.field_name_size),
        ("target_size", &mut limits.target_size),
    ] {
        section.read_into(key, target, problems, |item| size_within(item, HEAD_PART));
    }
    for (key, target) in [
        ("chunk_extension_size", &mut limits.chunk_extension_size),
        ("trailer_size", &mut limits.trailer_size),
    ] {
        let range = 0..=limits::HEAD_PART_SIZE_MAX;
        section.read_into(key, target, problems, |item| size_within(item, range));
    }
    section.read_into("body_size", &mut limits.body_size, problems, size);
    section.read_into("unread_body_size", &mut limits.unread_body_size, problems, size);
    section.read_into("field_count", &mut limits.field_count, problems, |item| {
        whole(item, 1..=limits::FIELD_COUNT_MAX)
    });
    section.read_into("connections", &mut limits.connections, problems, |item| {
        whole(item, 1..=limits::CONNECTIONS_MAX)
    });
    section.read_into(
        "requests_per_connection",
        &mut limits.requests_per_connection,
        problems,
        count_or_unlimited,
    );
}

fn read_deadlines(section: &Section<'_>, limits: &mut Limits, problems: &mut Problems) {
    section.read_into("header_deadline", &mut limits.header_deadline, problems, deadline);
    section.read_into("body_idle", &mut limits.body_idle, problems, deadline);
    section.read_into("body_rate", &mut limits.body_rate, problems, rate);
    section.read_into("unread_body_deadline", &mut limits.unread_body_deadline, problems, duration);
    section.read_into("send_idle", &mut limits.send_idle, problems, deadline);
    section.read_into("send_rate", &mut limits.send_rate, problems, rate);
    section.read_into("keep_alive", &mut limits.keep_alive, problems, deadline_or_forever);
}

/// A part above the whole would be a bound that never holds: one that is written is a mistake, a default gives way.
fn fit_parts(section: &Section<'_>, limits: &mut Limits, problems: &mut Problems) {
    let mut fit = |key, part: &mut u64, whole_key: &str, whole: u64| {
        if *part <= whole {
            return;
        }
        match section.item(key) {
            None => *part = whole,
            Some(item) => problems.at(
                item.offset,
                format!("`{key}` ({part} bytes) is more than `{whole_key}` ({whole} bytes)"),
            ),
        }
    };
    fit("field_size", &mut limits.field_size, "head_size", limits.head_size);
    fit("target_size", &mut limits.target_size, "head_size", limits.head_size);
    fit("field_name_size", &mut limits.field_name_size, "field_size", limits.field_size);
}
