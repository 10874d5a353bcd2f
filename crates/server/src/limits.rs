//! Every bound of the server that cannot be configured: its name, its number and unit, and what happens when it is
//! reached.
//!
//! Owns the numbers alone. What can be configured is in `config::limits`, bounds of the protocol codecs in
//! `wire::limits`, those of pages in `pages/limits.rs`.

use std::time::Duration;

pub use config::limits::*;

pub use crate::pages::limits::*;

// What is configured where nothing is said is what connections would begin with by themselves.
const _: () = {
    assert!(config::limits::BODY_SIZE == http::limits::BODY_SIZE);
    assert!(config::limits::UNREAD_BODY_SIZE == http::limits::UNREAD_BODY_SIZE);
    assert!(config::limits::BODY_RATE == http::limits::BODY_RATE);
    assert!(config::limits::HEADER_DEADLINE.as_nanos() == http::limits::HEADER_DEADLINE.as_nanos());
    assert!(config::limits::BODY_IDLE.as_nanos() == http::limits::BODY_IDLE.as_nanos());
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
