//! Every limit of HTTP connections: number, unit, consequence. The limits of codecs are in
//! `wire::limits`.
//!
//! The first part contains the defaults of [`HttpSettings`](crate::HttpSettings).

use std::time::Duration;

use wire::h2::BlockBounds;

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

/// 100 streams of one HTTP/2 connection, as SETTINGS announce; further ones are refused, and may be repeated.
pub const H2_STREAMS: usize = 100;
/// 100 streams are begun in one run of a connection; the rest of its input waits for the next turn.
pub const H2_STREAMS_BEGUN_PER_RUN: usize = 100;
/// 256 KiB that may be on the way to a stream or unread there; a client that sends more breaks the protocol, and its
/// stream is reset.
pub const H2_STREAM_WINDOW_BYTES: u32 = 256 * 1024;
/// 384 KiB of content that may be on the way to all streams of a connection, unread there, or collected for requests
/// that are not answered; a client that sends more breaks the protocol, and its connection ends. If bodies that are
/// collected fill it, the oldest one may become whole beyond it, up to the limit of its route; then the next. With the
/// heads of requests ([`H2_HEAD_BYTES`]) and what is lost to growing buffers, a connection holds at most 1 MiB and one
/// body, whatever its client sends.
pub const H2_CONNECTION_WINDOW_BYTES: u32 = 384 * 1024;
/// 16 KiB that a stream whose turn it is not may send at once while bodies fill that; more waits for the next grant.
pub const H2_GRANT_BYTES: usize = 16 * 1024;
/// 4 KiB that a stream may send although bodies fill that, if its process keeps little of what came and has read it
/// all: nothing tells when a process that passes a body on has less of it, so it must not wait for that.
pub const H2_PASSING_BYTES: usize = 4 * 1024;
/// 384 KiB of memory for the heads of the open streams of a connection; further streams are refused meanwhile.
pub const H2_HEAD_BYTES: usize = 384 * 1024;
/// 16 KiB in a frame of a client, as without a setting; a longer one ends the connection.
pub const H2_FRAME_BYTES: u32 = wire::h2::FRAME_BYTES_AT_FIRST;
/// 4 KiB of fields that a client may refer to; one that wants more breaks the protocol, and its connection ends.
pub const H2_TABLE_BYTES: usize = wire::limits::HPACK_TABLE_BYTES;
/// 8 CONTINUATION frames of one block of fields (CVE-2024-27316), and 32 KiB encoded; then the connection ends with
/// ENHANCE_YOUR_CALM.
pub const H2_BLOCK_BOUNDS: BlockBounds = BlockBounds { continuations: 8, bytes: 32 * 1024 };
/// 128 closed streams whose numbers are known; content on an older one is dropped, and fields end the connection.
pub const H2_CLOSED_KEPT: usize = 128;
/// 16 of them while no stream is open.
pub const H2_CLOSED_KEPT_IDLE: usize = 16;
/// 250 ms from an answer to a request whose body nobody reads, until the client is told to stop sending it: a client
/// that receives both at once loses the answer. It may send what the window of the stream has left.
pub const H2_UNREAD_MS: u64 = 250;
/// 64 such streams of a connection; of further ones the client is told at once. Fewer than [`H2_CLOSED_KEPT`].
pub const H2_UNREAD_STREAMS: usize = 64;
/// 100 streams that end without an answer, reset by the client or because of its mistakes (CVE-2023-44487,
/// CVE-2025-8671); then the connection ends with ENHANCE_YOUR_CALM. Each answer allows one more.
pub const H2_RESETS: u32 = 100;
/// 1 such stream is allowed again in each second.
pub const H2_RESETS_PER_SECOND: u32 = 1;
/// 1,000 answers to control frames that wait because the client reads nothing; then the connection ends.
pub const H2_OWED_FRAMES: u32 = 1_000;
/// 16 KiB in a DATA frame; a longer body is sent in several.
pub const H2_DATA_BYTES: usize = 16 * 1024;
/// 128 KiB are framed in one run of a connection; the rest waits until they were sent, so that a more urgent answer
/// does not wait for more than that.
pub const H2_SENT_PER_RUN: usize = 128 * 1024;
/// 64 KiB of them if other connections want something in the same turn.
pub const H2_SENT_BESIDE_OTHERS: usize = 64 * 1024;
/// 1 s after which streams that wait for others of their connection are excused again: they are no slow readers.
pub const H2_EXCUSE_MS: u64 = 1_000;
/// 1 s without a stream, then a connection gives memory back.
pub const H2_IDLE_TIDY_MS: u64 = 1_000;
/// 64 rooms for the streams of a connection are kept for connections that open one; more are freed.
pub const H2_SPARE_ROOMS: usize = 64;
/// 16 streams have place in such a room (2 KB); larger ones are freed.
pub const H2_SPARE_ROOM_STREAMS: usize = 16;
/// 60 s with open streams and without a frame of the client, then it is sent a PING.
pub const H2_PING_AFTER_MS: u64 = 60_000;
/// 30 s for the answer to that; then the connection is reset.
pub const H2_PING_ANSWER_MS: u64 = 30_000;
/// 300 ms between the two GOAWAY frames of a drain, unless the client answers a PING before. Less than
/// [`DRAIN_IDLE_GRACE`].
pub const H2_LEAVE_AFTER_MS: u64 = 300;
