//! `[limits]`: the limits and deadlines of requests and connections.
//!
//! Owns the keys of that section. Defaults and allowed ranges are in [`crate::limits`].

use std::ops::RangeInclusive;

use crate::key::{ANY_DURATION, ANY_SIZE, SectionKeys, section, show_duration, show_text};
use crate::limits;
use crate::model::limits::LimitSettings;
use crate::problem::Problems;
use crate::section::Section;
use crate::value::{count_or_unlimited, deadline_or};

const HEAD_PART: RangeInclusive<u64> = 16..=limits::HEAD_PART_SIZE_MAX;

pub(super) static LIMITS: SectionKeys = section! {
    "[limits]";
    "limit_keys": whole(limits.limit_keys, 1024..=limits::QUOTA_KEYS_MAX), default, Restart,
        "How many keys of all [`[[limit]]`](#limit) are known at once: 16 bytes each on each scheduler. Each limit has the same part. Beyond that, of four keys the one that has used least and was not refused is forgotten.";
    "head_size": size(limits.head_size, HEAD_PART), default, Live,
        "Request line and header fields together; above: 431, closed. It also limits each part, where no smaller limit is set below.";
    "field_count": whole(limits.field_count, 1..=limits::FIELD_COUNT_MAX), default, Live,
        "Header fields of a request; above: 431, closed.";
    "field_size": size(limits.field_size, HEAD_PART), default, Live,
        "One header field, name and value; above: 431, closed.";
    "field_name_size": size(limits.field_name_size, HEAD_PART), default, Live,
        "The name of a header field; above: 431, closed.";
    "target_size": size(limits.target_size, HEAD_PART), default, Live,
        "Path and query; above: 414, closed.";
    "body_size": size(limits.body_size, ANY_SIZE), default, Live,
        "The body of a request, unless its route sets another limit; above: 413.";
    "chunk_extension_size": size(limits.chunk_extension_size, 0..=limits::HEAD_PART_SIZE_MAX), default, Live,
        "All chunk extensions of a body; above: 400, closed.";
    "trailer_size": size(limits.trailer_size, 0..=limits::HEAD_PART_SIZE_MAX), default, Live,
        "The fields behind a body (trailers), which count towards `field_count` on their own; above either: 431, closed; over HTTP/2 the stream is reset.";
    "unread_body_size": size(limits.unread_body_size, ANY_SIZE), default, Live,
        "How much of an unread body is discarded to keep the connection; above: closed.";
    "header_deadline": deadline(limits.header_deadline), default, Live,
        "From the start of a request to the end of its header fields, no matter how slowly they arrive; then 408, or a plain close if nothing arrived. At most 2 s while the server drains.";
    "body_idle": deadline(limits.body_idle), default, Live,
        "Time without a byte of an announced body; then 408, closed.";
    "body_rate": rate(limits.body_rate), default, Live,
        "Minimum average rate at which a client sends a body; below: 408, closed. `0` turns it off.";
    "unread_body_deadline": duration(limits.unread_body_deadline, ANY_DURATION), default, Live,
        "Time to discard an unread body; then closed.";
    "send_idle": deadline(limits.send_idle), default, Live,
        "Time in which a client's kernel acknowledges nothing of an answer; then the connection is reset, at most an eighth of this time later. This also ends HTTP clients and WebSockets that keep sending and read nothing: with 256 KiB of answers waiting, the server reads no further requests or messages.";
    "send_rate": rate(limits.send_rate), default, Live,
        "Minimum average rate at which a client reads an answer; below: reset. `0` turns it off.";
    "keep_alive": set(
        limits.keep_alive, "duration or `\"forever\"`",
        |item, _| deadline_or(item, "forever")?,
        |value| Some(value.map_or_else(|| show_text("forever"), show_duration)),
    ), default, Live,
        "Time between two requests of a connection; then closed. With `\"forever\"` only TCP detects dead peers.";
    "requests_per_connection": set(
        limits.requests_per_connection, "whole number or `\"unlimited\"`",
        |item, _| count_or_unlimited(item)?,
        |value| Some(value.map_or_else(|| show_text("unlimited"), |count| count.to_string())),
    ), default, Live,
        "After this many requests the connection is closed; over HTTP/2 as in a drain.";
    "connections": whole(limits.connections, 1..=limits::CONNECTIONS_MAX), default, Live,
        "Connections of the whole server, divided among the schedulers; each open stream of HTTP/2 counts as one more. Above, one is closed for each new one: the oldest with an incomplete request, else the one idle for longest. If all are busy, accepting pauses and new connections wait in the kernel's queue. An eighth of a scheduler's descriptors (24 to 256) is reserved for other uses; with fewer than 64 the server does not start. Requests and answers of a scheduler may hold 256 MiB of memory: from 95 % on those of the client that holds most are ended (a request with 503), and from 98 % on new connections are answered 503. If a smaller number is set in a running server, those beyond it are closed as new ones come.";
    "handshakes_per_address": whole(limits.handshakes_per_address, 1..=limits::HANDSHAKES_PER_ADDRESS_MAX),
        default, Live,
        "TLS handshakes of one address that may be under way on one scheduler; of IPv6 those of one network of 64 bits. Above, further connections of it are closed at once, and counted as `too_many_of_one_address`. Many users behind one address share this. Clients of this host and trusted proxies have no such limit.";
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
