//! Limits of the server that cannot be configured: name, number, unit and consequence.
//!
//! Owns only the numbers. Configurable limits are in `config::limits`, limits of the codecs in
//! `wire::limits`, those of pages in `pages/limits.rs`.

use std::time::Duration;

pub use config::limits::*;

pub use pages::limits::*;

// The defaults of the configuration are the defaults of the HTTP library.
const _: () = {
    assert!(config::limits::BODY_SIZE == http::limits::BODY_SIZE);
    assert!(config::limits::UNREAD_BODY_SIZE == http::limits::UNREAD_BODY_SIZE);
    assert!(config::limits::BODY_RATE == http::limits::BODY_RATE);
    assert!(config::limits::HEADER_DEADLINE.as_nanos() == http::limits::HEADER_DEADLINE.as_nanos());
    assert!(config::limits::BODY_IDLE.as_nanos() == http::limits::BODY_IDLE.as_nanos());
    assert!(TURN_MAX.as_nanos() == script::limits::UNINTERRUPTED.as_nanos());
    assert!(config::limits::KEEP_ALIVE.as_nanos() == http::limits::KEEP_ALIVE.as_nanos());
};

const KIB: u64 = 1024;

// Answers

/// Bytes of a request body on the control socket. Consequence: 413.
pub const ADMIN_BODY_SIZE: u64 = 64 * KIB;

/// File helper threads: how many look-ups may wait for the disk at once. Consequence: more wait in mailboxes.
pub const FILE_HELPERS: usize = 4;

/// Connections in the middle of a cold file that wait for room in the helpers' mailboxes. Consequence: one more is
/// closed; a request that is not answered yet gets 503 instead and does not wait here.
pub const POSTPONED_MAX: usize = 4_096;

/// How long a turn may last (5 s). Beyond: it is reported, and a drain whose time is over leaves its scheduler behind.
pub const TURN_MAX: Duration = Duration::from_secs(5);

/// Time between two looks at the turns (1 s): one that lasts is reported so much later.
pub const TURN_LOOK: Duration = Duration::from_secs(1);

/// Connections to the control socket and the metrics listener. Consequence: the longest idle one is closed.
pub const ADMIN_CONNECTIONS: usize = 256;

/// Connections that may wait for the control scheduler. Consequence: more are refused by the kernel.
pub const ADMIN_BACKLOG: u32 = 64;

/// Sockets taken over from systemd. Consequence: more are left alone.
pub const INHERITED_MAX: u32 = 64;

/// Bytes of the orders that a program sends in one request (1 MiB). Beyond: 413.
pub const PROGRAM_BODY_SIZE: u64 = 1024 * KIB;

/// Orders of a program in one request; each channel of a broadcast is one. Beyond: 400.
pub const PROGRAM_ORDERS: usize = 1_000;

/// Bytes of what has been answered to the orders of a request (16 MiB). Beyond: the orders that are left are answered with an error, but those that
/// publish or send users away are done.
pub const PROGRAM_ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of messages and answers that a program's request makes in a turn (256 KiB). Beyond: the rest waits for the next turn.
pub const PROGRAM_TURN_BYTES: usize = 256 * 1024;

/// 1 KiB: a shorter answer of a page is not compressed; compression would save less than a packet.
pub const PACK_FROM: usize = 1024;

/// 128 KiB of answers of pages are compressed in a turn at once, and as much of those that wait at its end: half a millisecond
/// each. A longer answer, and one that a page makes later in the turn, waits for the next turns.
pub const PACK_PER_TURN: usize = 128 * 1024;

/// 16 MiB of answers of a scheduler's pages wait to be compressed; one that has no room is sent as it is.
pub const PACK_QUEUED: usize = 16 * 1024 * 1024;

/// 64 descriptors for a scheduler; with fewer the server does not start, and says so: listeners, helpers and a few files take half of them.
pub const DESCRIPTORS_MIN: u64 = 64;

/// The part of a scheduler's descriptors (an eighth) that is kept free of connections: for listeners, logs, and files that are sent.
/// Consequence: the connection limit is the descriptor limit less this.
pub const DESCRIPTORS_RESERVED_PART: u64 = 8;

/// 24 descriptors are kept free of connections at least.
pub const DESCRIPTORS_RESERVED_MIN: u64 = 24;

/// 256 descriptors are kept free of connections at most.
pub const DESCRIPTORS_RESERVED_MAX: u64 = 256;

// Channels

/// 25 s after which a WebSocket that sends nothing is asked whether it is there, and an event stream gets a comment: less than the
/// minute after which proxies take a silent connection for dead.
pub const PING_INTERVAL_MS: u64 = 25_000;

/// 10 s for the answer of a WebSocket; then it is closed.
pub const PING_TIMEOUT_MS: u64 = 10_000;

/// 64 MiB of messages of a scheduler's WebSockets that have come in part; the socket that passes it is closed with 1013.
pub const SOCKETS_PARTIAL_BYTES: usize = 64 * 1024 * 1024;

/// 1 MiB of compressed messages of WebSockets is unpacked in a turn, where a socket has more of them: the rest of what it has sent waits for the next.
pub const INFLATED_PER_TURN: usize = 1024 * 1024;

/// 1 MiB that waits for a WebSocket before it is told nothing more of the messages it has published.
pub const SOCKET_BEHIND_BYTES: usize = 1024 * 1024;

/// 1 KiB of what the module of a channel says against a client is told; the rest is left out.
pub const VETO_SIZE: usize = 1024;

/// 4 KiB of a request's query and fields are kept with a WebSocket where modules are asked about channels; a longer head is answered 431.
pub const KEPT_REQUEST_SIZE: usize = 4 * 1024;

// The store

/// Bytes of orders from which the writer of the store commits, though more wait (32 MiB).
pub const STORE_COMMIT_SIZE: usize = 32 * 1024 * 1024;

/// Time between two looks at a checkpoint that takes longer than the interval (5 ms). Consequence: the next one begins so much later.
pub const STORE_CHECKPOINT_LOOK: Duration = Duration::from_millis(5);

/// Time for which a server that ends lets its store wait for another program that writes, such as an import (5 s). Beyond: it ends without. What was answered is
/// kept, and the next start finds the store as after `kill -9`.
pub const STORE_END_WAIT: Duration = Duration::from_secs(5);

/// Time between two looks whether the writer of the store has ended (5 ms). Consequence: the server ends so much later.
pub const STORE_END_LOOK: Duration = Duration::from_millis(5);

/// Bytes of orders of a scheduler that the writer has not answered (64 MiB). Beyond: connections wait with their next one.
pub const STORE_WAITING_SIZE: usize = 64 * 1024 * 1024;

/// Messages of a scheduler that the writer has not answered. Beyond: orders are gathered until one is.
pub const STORE_MESSAGES: usize = 2;

/// Replies of a Redis client that are awaited from the writer of the store. Beyond: nothing more of it is read until some have come.
pub const RESP_AWAITED: usize = 1_024;

/// Bytes of orders of a Redis client that the writer has not answered (1 MiB). Beyond: as above.
pub const RESP_AWAITED_SIZE: usize = 1024 * 1024;

/// Bytes of the commands between `MULTI` and `EXEC` (1 MiB). Beyond: an error, and `EXEC` is refused.
pub const RESP_TRANSACTION_SIZE: usize = 1024 * 1024;

/// Keys that a Redis client watches. Beyond: an error, and none is watched.
pub const RESP_WATCHED: usize = 1_024;

/// Bytes of the reply to `KEYS` (16 MiB). Beyond: an error.
pub const RESP_LISTING_SIZE: usize = 16 * 1024 * 1024;

/// Bytes of the body of a request for the store: its largest value (16 MiB). Beyond: 413.
pub const STORE_BODY_SIZE: u64 = store::limits::VALUE_SIZE as u64;

/// Keys of a list of the store where the client does not say how many.
pub const STORE_LIST_KEYS: usize = 100;

/// Bytes that the Redis clients of a scheduler have it keep between commands (64 MiB): commands before `EXEC`, and keys that are watched. Beyond: an
/// error, and the client's transaction is given up.
pub const STORE_KEPT_SIZE: usize = 64 * 1024 * 1024;

/// Bytes from which a value is sent from the map as its client takes it (64 KiB). Below, it is copied.
pub const STORE_LENT_SIZE: usize = 64 * 1024;

/// Time between two looks at what is lent from the map (1 s). Consequence: what is taken back is so much later.
pub const STORE_LENT_LOOK_MS: u64 = 1_000;

/// Time for which a program may read one state of the store while others are written (1 minute). Consequence: the log names it, once.
pub const STORE_READER_PATIENCE: Duration = Duration::from_secs(60);

/// Bytes of replies of [`STORE_LENT_SIZE`] and more that have to be copied (64 MiB of a scheduler), such as those to `EXEC`, `GETDEL` and `KEYS`, while their
/// clients take them; but for the first. Beyond: an error.
pub const STORE_HELD_SIZE: usize = 64 * 1024 * 1024;

/// Bytes of the values of one reply to `MGET` (32 MiB) that are copied, but for the last one. Beyond: an error.
pub const RESP_REPLY_SIZE: usize = 32 * 1024 * 1024;

/// Processes in line for room with the writer that are admitted at once. Each may have one order, so this many of the largest go beyond the bound.
pub const STORE_ADMITTED: usize = 8;
