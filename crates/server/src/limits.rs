//! Limits of the server that cannot be configured: name, number, unit and consequence.
//!
//! Owns only the numbers. Configurable limits are in `config::limits`, limits of the codecs in
//! `wire::limits`, those of pages in `pages::limits` and `actors::limits`.

mod caching;
mod observing;

use std::time::Duration;

pub use caching::*;
pub use observing::*;

pub use config::limits::*;

pub use pages::limits::*;

// The defaults of the configuration are the defaults of the HTTP library.
const _: () = {
    assert!(resp::limits::DRAIN_GRACE.as_nanos() == http::limits::DRAIN_IDLE_GRACE.as_nanos());
    assert!(ACME_NAMES == acme::limits::CERTIFICATES && ACME_ISSUERS == acme::limits::ISSUERS);
    assert!(client::limits::URL_BYTES == script::limits::URL_SIZE);
    assert!(client::limits::HOST_NAME_BYTES == config::limits::HOST_NAME_SIZE_MAX);
    assert!(config::limits::BODY_SIZE == http::limits::BODY_SIZE);
    assert!(config::limits::UNREAD_BODY_SIZE == http::limits::UNREAD_BODY_SIZE);
    assert!(config::limits::BODY_RATE == http::limits::BODY_RATE);
    assert!(config::limits::HEADER_DEADLINE.as_nanos() == http::limits::HEADER_DEADLINE.as_nanos());
    assert!(config::limits::BODY_IDLE.as_nanos() == http::limits::BODY_IDLE.as_nanos());
    assert!(wire::limits::JSON_DEPTH_OF_PAGES == script::limits::JSON_DEPTH);
    assert!(wire::limits::JSON_NUMBER_SIZE == script::limits::JSON_NUMBER_SIZE);
    assert!(TURN_MAX.as_nanos() == script::limits::UNINTERRUPTED.as_nanos());
    assert!(config::limits::KEEP_ALIVE.as_nanos() == http::limits::KEEP_ALIVE.as_nanos());
};

const KIB: u64 = 1024;

// TLS

/// How often the files of certificates are looked at.
///
/// Consequence: a new certificate is in use after twice this time at the latest, because it may still be written.
pub const CERTIFICATE_LOOK: Duration = Duration::from_secs(10);

/// The share of a certificate's life below which its end is told (a third).
///
/// Consequence: a warning in the log.
pub const CERTIFICATE_LEFT: i64 = 3;

/// The same of one that the server orders (an eighth): it is renewed when a third to a sixth is left.
pub const ORDERED_CERTIFICATE_LEFT: i64 = 8;

/// Less time than this until the end of a certificate is told as well.
pub const CERTIFICATE_SOON: Duration = Duration::from_secs(7 * 24 * 3600);

/// Names in a certificate that is made at the start.
///
/// Consequence: a browser says of further names that the certificate is for others, besides that its issuer is
/// unknown.
pub const SELF_SIGNED_NAMES: usize = 100;

// Requests that are passed on

/// 64 KiB of a body that is kept for a second server once there is a connection to the first. Consequence: a request
/// with a longer body is not sent again then.
pub const PROXY_REPLAY_SIZE: usize = 64 * 1024;

/// 64 KiB of an answer that are passed on at a time. Consequence: the next part follows when the client has taken it.
pub const PROXY_PART_SIZE: usize = 64 * 1024;

/// 64 KiB of the answer to a check in which a text is searched. Consequence: one further behind is not found.
pub const PROXY_CHECK_BODY: usize = 64 * 1024;

/// A request that has come through servers of the name `velodrome` so often, by its `Via`, is not passed on but refused
/// with 508: its upstream may lead back to this server.
pub const PROXY_ROUNDS: usize = 8;

/// 10 lines a second about the failures of one upstream. Consequence: the next line says how many were left out.
pub const PROXY_LOG_LINES: u32 = 10;

// Answers

/// Bytes of a request body on the control socket. Consequence: 413.
pub const ADMIN_BODY_SIZE: u64 = 64 * KIB;

/// File helper threads, so this many lookups may wait for the disk at once. Consequence: further ones wait in
/// mailboxes.
pub const FILE_HELPERS: usize = 4;

/// Connections in the middle of a cold file that wait for room in the helpers' mailboxes. Consequence: one more is
/// closed. A request that is not answered yet does not wait here; it gets a 503.
pub const POSTPONED_MAX: usize = 4_096;

/// How long a turn may last (5 s). Beyond: it is reported, and a drain whose time is over ends without its scheduler.
pub const TURN_MAX: Duration = Duration::from_secs(5);

/// Time of a turn after which the back-trace of its thread is an event (1 s).
pub const TURN_TRACED: Duration = Duration::from_secs(1);

/// Time between two checks of the turns (1 s): a long turn is reported this much later.
pub const TURN_LOOK: Duration = Duration::from_secs(1);

/// Time between two decisions whether to give memory back (5 s). Shorter: a short pause of a load counts as its end.
pub const MEMORY_LOOK: Duration = Duration::from_secs(5);

/// Percent of one core that a process uses at most in that time to count as quiet (5). Higher: memory is given back
/// while the process works, whose schedulers may have to wait for their heaps.
pub const MEMORY_QUIET_PERCENT: u32 = 5;

/// CPU time of a process after which it may hold memory of a load again (50 ms). Less: an idle process looks for memory
/// to give back for nothing.
pub const MEMORY_WORK: Duration = Duration::from_millis(50);

/// How often memory is given back by a process that works all the time (1 minute).
pub const MEMORY_REST: Duration = Duration::from_secs(60);

/// Bytes from which a block of memory has pages of its own, which the kernel gets back when it is freed (1 MiB).
/// Smaller: the kernel has to clear the pages of more buffers.
pub const MEMORY_OWN_PAGES: i32 = 1024 * 1024;

/// Bytes that the heap of a thread keeps at its end when memory is given back (1 MiB).
pub const MEMORY_KEPT: i32 = 1024 * 1024;

/// Connections to the control socket and the metrics listener. Consequence: the one that has been idle longest is
/// closed.
pub const ADMIN_CONNECTIONS: usize = 256;

/// Connections that may wait for the control scheduler. Consequence: the kernel refuses more.
pub const ADMIN_BACKLOG: u32 = 64;

/// Sockets taken over from systemd. Consequence: further ones are ignored.
pub const INHERITED_MAX: u32 = 64;

/// Bytes of the orders that a program sends in one request (1 MiB). Beyond: 413.
pub const PROGRAM_BODY_SIZE: u64 = 1024 * KIB;

/// Orders in one request of a program; each channel of a broadcast counts as one. Beyond: 400.
pub const PROGRAM_ORDERS: usize = 1_000;

/// Bytes of the answers to the orders of one request (16 MiB). Beyond: the remaining orders are answered with an error,
/// except that those that publish or disconnect users are still executed.
pub const PROGRAM_ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of messages and answers that a program's request produces in one turn (256 KiB). Beyond: the rest waits for
/// the next turn.
pub const PROGRAM_TURN_BYTES: usize = 256 * 1024;

/// Bytes of a body in JSON that are checked in one go (64 KiB, about half a millisecond). Beyond: the rest is checked
/// in later turns.
pub const JSON_PIECE_SIZE: usize = 64 * 1024;

/// Pieces of longer bodies that are checked in one turn (4). Beyond: other requests with such a body wait for their
/// turn.
pub const JSON_PIECES_PER_TURN: usize = 4;

/// 1 KiB: a shorter answer of a page is not compressed, because that would save less than a packet.
pub const PACK_FROM: usize = 1024;

/// 128 KiB of answers of pages are compressed immediately in one turn, and as much of the waiting ones at its end: half
/// a millisecond each. A longer answer, and one that a page produces later in the turn, waits for the next turns.
pub const PACK_PER_TURN: usize = 128 * 1024;

/// 16 MiB of answers of a scheduler's pages may wait to be compressed; if there is no room, an answer is sent
/// uncompressed.
pub const PACK_QUEUED: usize = 16 * 1024 * 1024;

/// 64 descriptors for a scheduler. With fewer the server does not start and says so, because listeners, helpers and a
/// few files take half of them.
pub const DESCRIPTORS_MIN: u64 = 64;

/// The fraction (an eighth) of a scheduler's descriptors that connections cannot use: for listeners, logs, and files
/// being sent. Consequence: the connection limit is the descriptor limit less this.
pub const DESCRIPTORS_RESERVED_PART: u64 = 8;

/// 24 descriptors at least that connections cannot use.
pub const DESCRIPTORS_RESERVED_MIN: u64 = 24;

/// 256 descriptors at most that connections cannot use.
pub const DESCRIPTORS_RESERVED_MAX: u64 = 256;

// The access log

/// 8 MiB of access log lines wait for a reader of the log (a pipe, a FIFO) that is slow. Beyond: lines are lost and
/// counted.
pub const LOG_WAITING_BYTES: usize = 8 * 1024 * 1024;

/// How long the log writer waits for room in a pipe before it looks for messages again (10 ms). Consequence: an order
/// to reopen the log is carried out this much later.
pub const LOG_ROOM_WAIT: Duration = Duration::from_millis(10);

/// How long a server that ends waits for a reader of its log that takes nothing (1 s). Beyond: the lines that nobody
/// read are lost and counted.
pub const LOG_END_WAIT: Duration = Duration::from_secs(1);

/// How long a server that ends waits for a slow reader of its log (5 s). Beyond: as above.
pub const LOG_END_MAX: Duration = Duration::from_secs(5);

/// How long a server that ends waits for a thread that may wait for a disk: the log writer and the control scheduler (5
/// s). Beyond: it ends without the thread.
pub const THREAD_END_WAIT: Duration = Duration::from_secs(5);

// Channels

/// 25 s after which a silent WebSocket is pinged, and an event stream gets a comment: less than the
/// minute after which proxies close a silent connection.
pub const PING_INTERVAL_MS: u64 = 25_000;

/// 10 s for the answer to a ping; then the WebSocket is closed.
pub const PING_TIMEOUT_MS: u64 = 10_000;

/// 1 MiB of compressed WebSocket messages is decompressed for one socket in one turn; the rest of its input waits for
/// the next.
pub const INFLATED_PER_TURN: usize = 1024 * 1024;

/// 1 MiB of output waiting for a WebSocket, beyond which it no longer gets the results of the messages it published.
pub const SOCKET_BEHIND_BYTES: usize = 1024 * 1024;

/// 1 KiB of a module's reason for a refusal is sent to the client; the rest is left out.
pub const VETO_SIZE: usize = 1024;

/// 4 KiB of a request's query and fields are kept with a WebSocket if modules decide about channels; a longer head is
/// answered with 431.
pub const KEPT_REQUEST_SIZE: usize = 4 * 1024;

/// How long the control thread of certificates waits for a change of its state in the store (10 s). Beyond: it counts
/// as one that was not made, so nothing is ordered, and is made again later.
pub const ORDERS_STATE_WAIT: Duration = Duration::from_secs(10);

// The store

/// How long an order of a replica's client waits for the leader (5 s). Beyond: it fails, with what is known of it.
pub const STORE_LEADER_WAIT_MS: u64 = 5_000;

/// How long the link that carries the messages of a store stays when the server begins to drain (750 ms): idle clients
/// are closed 500 ms after that, and what was written until then takes a commit. Shorter: what the last clients of a
/// leader write reaches its replicas only when it is started again.
pub const STORE_LINK_STAYS_MS: u64 = 750;

/// Bytes of other stores that wait for the writer of this one (32 MiB). Beyond: more is dropped, and asked for again.
pub const STORE_MAIL_BYTES: usize = 32 * 1024 * 1024;

/// Bytes of orders after which the writer of the store commits even if more orders wait (32 MiB).
pub const STORE_COMMIT_SIZE: usize = 32 * 1024 * 1024;

/// Time between two checks of a checkpoint that takes longer than the interval (5 ms). Consequence: the next one begins
/// this much later.
pub const STORE_CHECKPOINT_LOOK: Duration = Duration::from_millis(5);

/// How long the start waits for the store before it says so (2 s). It goes on waiting.
pub const STORE_OPEN_PATIENCE: Duration = Duration::from_secs(2);

/// How long a server that ends waits for another program that writes to its store, such as an import (5 s). Beyond: it
/// ends without waiting. Answered writes are kept, and the next start recovers as after `kill -9`.
pub const STORE_END_WAIT: Duration = Duration::from_secs(5);

/// How long a server that ends waits for the disk of its store (60 s). Beyond: as above.
pub const STORE_DISK_WAIT: Duration = Duration::from_secs(60);

/// Time between two checks why the writer of the store has not ended (100 ms). Consequence: the server gives it up this
/// much later.
pub const STORE_END_LOOK: Duration = Duration::from_millis(100);

/// Bytes of the body of a request for the store: its largest value (16 MiB). Beyond: 413.
pub const STORE_BODY_SIZE: u64 = store::limits::VALUE_SIZE as u64;

/// Keys in a list of the store if the client does not give a number.
pub const STORE_LIST_KEYS: usize = 100;

/// Bytes of a list of the store over HTTP (256 KiB), which take about 3 ms. Beyond: the list ends, and names the key
/// behind which the next one begins. One list is answered in a turn.
pub const STORE_LIST_SIZE: usize = 256 * 1024;

/// Bytes of a value in a list (64 KiB). Beyond: the list has its length instead.
pub const STORE_LIST_VALUE_SIZE: usize = 64 * 1024;

/// How long a program may read one state of the store while others write (1 minute). Consequence: the log names the
/// program, once.
pub const STORE_READER_PATIENCE: Duration = Duration::from_secs(60);

/// 4 KiB for the file with the key of an account at an issuer of certificates; a longer one is refused.
pub const ACCOUNT_KEY_SIZE: usize = 4096;

/// 4 MiB for a file of users; a longer one is refused when the configuration is read.
pub const USERS_FILE_SIZE: u64 = 4 * 1024 * 1024;
/// 255 bytes for the name of a user; a file with a longer one is refused, and a request that shows one is not let in.
pub const USER_NAME_SIZE: usize = 255;
/// 1,024 bytes for a password; a request that shows a longer one is not let in.
pub const PASSWORD_SIZE: usize = 1024;
/// Cost 14 of bcrypt, about a second; a file with a higher one is refused.
pub const BCRYPT_COST_MAX: u32 = 14;
/// 256 MiB of memory for a check with Argon2; a file with a hash that needs more is refused.
pub const ARGON2_MEMORY_KIB_MAX: u32 = 256 * 1024;
/// 16 passes, and as many lanes, of Argon2; a file with a hash that needs more is refused.
pub const ARGON2_PASSES_MAX: u32 = 16;
/// 256 passwords may be verified or wait for it, per scheduler; further requests that show one are answered with 503.
pub const PASSWORD_CHECKS: usize = 256;
/// 8 of these for one address (IPv6: one /64), so that a client that guesses delays others little; then 503.
pub const PASSWORD_CHECKS_PER_CLIENT: usize = 8;
/// 10 s of waiting for the helper, by how long checks take lately; further requests that show a password are answered
/// with 503 at once, instead of after their deadline.
pub const PASSWORD_WAIT: Duration = Duration::from_secs(10);
/// 4,096 names with passwords that were right are known per scheduler, 100 bytes each; beyond that the oldest is
/// verified again.
pub const PASSWORDS_KNOWN: usize = 4096;
/// 5 minutes; then a password that was right is verified again.
pub const PASSWORD_KNOWN_MS: u64 = 5 * 60 * 1000;

/// 4,096 requests may wait because of a limit with `delay`, per scheduler; further ones are answered with 429.
pub const LIMIT_DELAYED_MAX: usize = 4096;

/// Milliseconds after which a scheduler with a full mailbox is told again what was used of limits. Until then it lets
/// that much more through.
pub const UNTOLD_AGAIN_MS: u64 = 1;
