//! `[limits]`: the limits and deadlines of requests and connections.
//!
//! Owns the keys of that section. Defaults and allowed ranges are in [`crate::limits`].

use std::ops::RangeInclusive;
use std::time::Duration;

use super::Problems;
use super::key::{
    ANY_DURATION, ANY_SIZE, Absent, ChangeEffect, ConfigKey, SectionKeys, Value, show_duration,
    show_text,
};
use super::section::Section;
use super::value::{count_or_unlimited, deadline_or_forever};
use crate::limits;

/// The range of a limit for a head or a part of it.
const HEAD_PART: RangeInclusive<u64> = 16..=limits::HEAD_PART_SIZE_MAX;

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

pub(super) static LIMITS: SectionKeys = SectionKeys {
    name: "[limits]",
    own: &[
        ConfigKey {
            name: "limit_keys",
            value: Value::Whole(
                |config| &mut config.limits.limit_keys,
                1024..=limits::QUOTA_KEYS_MAX,
            ),
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "How many keys of all [`[[limit]]`](#limit) are known at once: 16 bytes each on each scheduler. Each limit has the same part. Beyond that, of four keys the one that has used least and was not refused is forgotten.",
        },
        ConfigKey {
            name: "head_size",
            value: Value::Size(|config| &mut config.limits.head_size, HEAD_PART),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "Request line and header fields together; above: 431, closed. It also limits each part, where no smaller limit is set below.",
        },
        ConfigKey {
            name: "field_count",
            value: Value::Whole(
                |config| &mut config.limits.field_count,
                1..=limits::FIELD_COUNT_MAX,
            ),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "Header fields of a request; above: 431, closed.",
        },
        ConfigKey {
            name: "field_size",
            value: Value::Size(|config| &mut config.limits.field_size, HEAD_PART),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "One header field, name and value; above: 431, closed.",
        },
        ConfigKey {
            name: "field_name_size",
            value: Value::Size(|config| &mut config.limits.field_name_size, HEAD_PART),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "The name of a header field; above: 431, closed.",
        },
        ConfigKey {
            name: "target_size",
            value: Value::Size(|config| &mut config.limits.target_size, HEAD_PART),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "Path and query; above: 414, closed.",
        },
        ConfigKey {
            name: "body_size",
            value: Value::Size(|config| &mut config.limits.body_size, ANY_SIZE),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "The body of a request, unless its route sets another limit; above: 413.",
        },
        ConfigKey {
            name: "chunk_extension_size",
            value: Value::Size(
                |config| &mut config.limits.chunk_extension_size,
                0..=limits::HEAD_PART_SIZE_MAX,
            ),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "All chunk extensions of a body; above: 400, closed.",
        },
        ConfigKey {
            name: "trailer_size",
            value: Value::Size(
                |config| &mut config.limits.trailer_size,
                0..=limits::HEAD_PART_SIZE_MAX,
            ),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "The trailer of a body; above: 431, closed.",
        },
        ConfigKey {
            name: "unread_body_size",
            value: Value::Size(|config| &mut config.limits.unread_body_size, ANY_SIZE),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "How much of an unread body is discarded to keep the connection; above: closed.",
        },
        ConfigKey {
            name: "header_deadline",
            value: Value::Deadline(|config| &mut config.limits.header_deadline),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "From the start of a request to the end of its header fields, no matter how slowly they arrive; then 408, or a plain close if nothing arrived. At most 2 s while the server drains.",
        },
        ConfigKey {
            name: "body_idle",
            value: Value::Deadline(|config| &mut config.limits.body_idle),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "Time without a byte of an announced body; then 408, closed.",
        },
        ConfigKey {
            name: "body_rate",
            value: Value::Rate(|config| &mut config.limits.body_rate),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "Minimum average rate at which a client sends a body; below: 408, closed. `0` turns it off.",
        },
        ConfigKey {
            name: "unread_body_deadline",
            value: Value::Duration(|config| &mut config.limits.unread_body_deadline, ANY_DURATION),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "Time to discard an unread body; then closed.",
        },
        ConfigKey {
            name: "send_idle",
            value: Value::Deadline(|config| &mut config.limits.send_idle),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "Time in which a client's kernel acknowledges nothing of an answer; then the connection is reset, at most an eighth of this time later. This also ends HTTP clients and WebSockets that keep sending and read nothing: with 256 KiB of answers waiting, the server reads no further requests or messages.",
        },
        ConfigKey {
            name: "send_rate",
            value: Value::Rate(|config| &mut config.limits.send_rate),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "Minimum average rate at which a client reads an answer; below: reset. `0` turns it off.",
        },
        ConfigKey {
            name: "keep_alive",
            value: Value::Own {
                takes: "duration or `\"forever\"`",
                read: |config, item, _| {
                    config.limits.keep_alive = deadline_or_forever(item)?;
                    Ok(())
                },
                show: |config| {
                    Some(
                        config
                            .limits
                            .keep_alive
                            .map_or_else(|| show_text("forever"), show_duration),
                    )
                },
            },
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "Time between two requests of a connection; then closed. With `\"forever\"` only TCP detects dead peers.",
        },
        ConfigKey {
            name: "requests_per_connection",
            value: Value::Own {
                takes: "whole number or `\"unlimited\"`",
                read: |config, item, _| {
                    config.limits.requests_per_connection = count_or_unlimited(item)?;
                    Ok(())
                },
                show: |config| {
                    Some(
                        config
                            .limits
                            .requests_per_connection
                            .map_or_else(|| show_text("unlimited"), |count| count.to_string()),
                    )
                },
            },
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "After this many requests the connection is closed.",
        },
        ConfigKey {
            name: "connections",
            value: Value::Whole(
                |config| &mut config.limits.connections,
                1..=limits::CONNECTIONS_MAX,
            ),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "Connections of the whole server, divided among the schedulers. Above, one is closed for each new one: the oldest with an incomplete request, else the one idle for longest. If all are busy, accepting pauses and new connections wait in the kernel's queue. An eighth of a scheduler's descriptors (24 to 256) is reserved for other uses; with fewer than 64 the server does not start. Requests and answers of a scheduler may hold 256 MiB of memory: from 95 % on those of the client that holds most are ended (a request with 503), and from 98 % on new connections are answered 503. If a smaller number is set in a running server, those beyond it are closed as new ones come.",
        },
        ConfigKey {
            name: "handshakes_per_address",
            value: Value::Whole(
                |config| &mut config.limits.handshakes_per_address,
                1..=limits::HANDSHAKES_PER_ADDRESS_MAX,
            ),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "TLS handshakes of one address that may be under way on one scheduler; of IPv6 those of one network of 64 bits. Above, further connections of it are closed at once, and counted as `too_many_of_one_address`. Many users behind one address share this. Clients of this host and trusted proxies have no such limit.",
        },
    ],
    shared: &[],
    shared_in: "",
};

/// A part larger than the whole would be a limit that never applies: if it is written it is a mistake, a default is
/// lowered.
pub(super) fn fit_parts(
    section: &Section<'_>,
    limits: &mut LimitSettings,
    problems: &mut Problems,
) {
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
