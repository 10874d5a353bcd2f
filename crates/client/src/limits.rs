//! The limits of the client that cannot be configured: name, number, consequence.

use std::time::Duration;

use wire::h2::BlockBounds;

/// 1,024 running exchanges of a scheduler, unless its service sets another number. Beyond: one more fails with
/// [`ExchangeFailure::TooMany`](crate::ExchangeFailure::TooMany).
pub const EXCHANGES: usize = 1_024;
/// 1,024 connections to one origin, unless the service sets another number. Beyond: an exchange waits in line for a
/// connection, until its deadline for connecting.
pub const CONNECTIONS_PER_ORIGIN: usize = 1_024;
/// 64 KiB of the body of an answer that its requester has not taken. Beyond: the connection is not read until it takes
/// some. What one receive adds (64 KiB) may exceed it, so an exchange holds less than 128 KiB.
pub const ANSWER_HELD_BYTES: usize = 64 * 1024;
/// 64 KiB of a streamed body that the requester has sent and the connection has not taken. Beyond: the requester waits
/// for [`ExchangeNews::Room`](crate::ExchangeNews::Room).
pub const REQUEST_HELD_BYTES: usize = 64 * 1024;
/// 64 KiB of a request in the output of its connection. Beyond: the rest follows when these have been sent.
pub const OUTPUT_BYTES: usize = 64 * 1024;
/// 256 KiB of one exchange in each direction, all that this crate holds: 64 KiB and one receive of an answer, 128 KiB
/// of a request. The rest is for the requester's own input and output. Beyond: the side that would add more waits.
pub const EXCHANGE_HELD_BYTES: usize = 256 * 1024;
/// 64 KiB of the heads of an answer, those of interim answers included. Beyond: the exchange fails with
/// [`ExchangeFailure::HeadTooLong`](crate::ExchangeFailure::HeadTooLong).
pub const HEAD_BYTES: usize = wire::limits::RESPONSE_HEAD_SIZE as usize;
/// 16 KiB of a URL. Beyond: it is refused.
pub const URL_BYTES: usize = 16 * 1024;
/// 253 bytes of a host name (RFC 1035 section 2.3.4, as text). Beyond: the URL is refused.
pub const HOST_NAME_BYTES: usize = 253;
/// 32 letters of a method. Beyond: the exchange fails with [`ExchangeFailure::Method`](crate::ExchangeFailure::Method).
pub const METHOD_BYTES: usize = 32;
/// 256 idle connections to one origin, of both versions. Beyond: one more is closed after its answer.
pub const IDLE_PER_ORIGIN: usize = 256;
/// 1,024 idle connections of a scheduler, of both versions. Beyond: one more is closed after its answer.
pub const IDLE: usize = 1_024;
/// 30 s for which a connection may be idle. Beyond: it is closed.
pub const IDLE_TIME: Duration = Duration::from_secs(30);
/// 1 s for which a body waits for `100 Continue`. Beyond: it is sent (RFC 9110, 10.1.1: a client must not wait
/// indefinitely).
pub const CONTINUE_TIME: Duration = Duration::from_secs(1);
/// 10 s for a connection: name, waiting line and handshake, unless a request says otherwise. Beyond: the exchange
/// fails.
pub const CONNECT_TIME: Duration = Duration::from_secs(10);
/// 60 s from a complete request to the first byte of its answer, unless a request says otherwise. Beyond: the exchange
/// fails.
pub const HEAD_TIME: Duration = Duration::from_secs(60);
/// 60 s between two bytes that the other server sends or takes, unless a request says otherwise. Beyond: the exchange
/// fails.
pub const PAUSE_TIME: Duration = Duration::from_secs(60);
/// 1,024 host names that a scheduler remembers or is looking up. Beyond: known names are forgotten, and if all are
/// being looked up, one more exchange fails with [`ExchangeFailure::TooMany`](crate::ExchangeFailure::TooMany).
pub const NAMES: usize = 1_024;
/// 30 s for which the addresses of a name are valid. Beyond: it is looked up again; a name that was used in the 30 s
/// before keeps its addresses meanwhile.
pub const NAME_AGE: Duration = Duration::from_secs(30);
/// 1 h for which addresses are used that cannot be looked up again, because the name service fails. Beyond: the name
/// has none.
pub const NAME_KEPT: Duration = Duration::from_secs(3600);
/// 2 s for which a name counts as having no address, or as looked up just now. Beyond: it is looked up again.
pub const NO_NAME_AGE: Duration = Duration::from_secs(2);
/// 30 s after which a name may be asked for again: its answer was lost, or a helper is slow and is asked
/// twice. Until then all exchanges wait for the one answer.
pub const QUESTION_AGE: Duration = Duration::from_secs(30);
/// 64 ports of other servers, each with the certificates that are trusted and shown there, of which sessions of TLS are
/// kept. Beyond: all are forgotten, and the next connections make full handshakes.
pub const SESSION_PORTS: usize = 64;
/// 16 addresses of a name. Beyond: others are not tried.
pub const ADDRESSES: usize = 16;

const _: () = assert!(
    ANSWER_HELD_BYTES + sys::pollset::epoll::RECEIVE_BUFFER <= EXCHANGE_HELD_BYTES / 2
        && REQUEST_HELD_BYTES + OUTPUT_BYTES <= EXCHANGE_HELD_BYTES / 2,
    "half of an exchange's bytes are left for its requester"
);

/// 100 exchanges on one connection of HTTP/2 at a time, or fewer if its server says so. Beyond: another connection is
/// opened, or the exchange waits in line for one.
pub const STREAMS: usize = 100;
/// 128 KiB of an answer that may be on the way in a stream or untaken, as much as HTTP/1.1 lets an exchange hold.
/// Beyond: the server waits until the requester takes some; one that sends more fails the exchange.
pub const STREAM_WINDOW_BYTES: u32 =
    ANSWER_HELD_BYTES as u32 + sys::pollset::epoll::RECEIVE_BUFFER as u32;
/// 12.5 MiB that may be on the way in all streams of a connection: no stream waits because the answer of another one is
/// not taken. Beyond: the server has broken the protocol, and the connection ends.
pub const CONNECTION_WINDOW_BYTES: u32 = STREAMS as u32 * STREAM_WINDOW_BYTES;
/// 16 KiB in a frame of a server, as without a setting. Beyond: the connection ends.
pub const FRAME_BYTES: u32 = wire::h2::FRAME_BYTES_AT_FIRST;
/// 16 KiB of a body in one frame, so that the bodies of several exchanges take turns. Beyond: another frame follows.
pub const DATA_BYTES: usize = 16 * 1024;
/// 8 CONTINUATION frames of one block of fields, and 64 KiB encoded. Beyond: the connection ends.
pub const BLOCK_BOUNDS: BlockBounds = BlockBounds { continuations: 8, bytes: HEAD_BYTES + 1 };
/// 1,000 answers to control frames that wait because the server reads nothing. Beyond: the connection ends.
pub const OWED_FRAMES: u32 = 1_000;
/// 2 times that a request is sent again because a server has not begun to serve it. Beyond: the exchange fails.
pub const UNSERVED_REPEATS: u8 = 2;
/// 5 s in which nothing comes on a connection with open streams. Beyond: once an exchange on it is given up, no other
/// one begins there, because its server may be gone.
pub const SILENT_TIME: Duration = Duration::from_secs(5);

/// Sessions of TLS that are kept for each server and port. A session of TLS 1.3 is used once.
///
/// Consequence: of more connections that are opened at once, the others make full handshakes.
pub const SESSIONS_PER_SERVER: usize = 8;
