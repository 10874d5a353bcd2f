//! Every bound of the server that cannot be configured: its name, its number and unit, and what happens when it is
//! reached.
//!
//! Owns the numbers alone. What can be configured is in `config::limits`, bounds of the protocol codecs in
//! `wire::limits`, those of pages in `pages/limits.rs`.

use std::time::Duration;

pub use config::limits::*;

pub use crate::pages::limits::*;

const KIB: u64 = 1024;

// Answers

/// How long an application may make a request wait. Consequence: 504, and the connection is closed.
pub const ANSWER_DEADLINE: Duration = Duration::from_secs(30);

/// Bytes of a request body on the control socket. Consequence: 413.
pub const ADMIN_BODY_SIZE: u64 = 64 * KIB;

/// Bytes that the access log has of what was refused as no request. Consequence: it has no more of its first line.
pub const LOG_REFUSED_BYTES: usize = 256;

/// File helper threads: how many look-ups may wait for the disk at once. Consequence: more wait in mailboxes.
pub const FILE_HELPERS: usize = 4;

/// Connections in the middle of a cold file that wait for room in the helpers' mailboxes. Consequence: one more is
/// closed; a request that is not answered yet gets 503 instead and does not wait here.
pub const POSTPONED_MAX: usize = 4_096;

/// How long a turn may last (5 s). Beyond: it is reported, and a drain whose time is over leaves its scheduler behind.
pub const TURN_MAX: Duration = Duration::from_secs(5);

/// Time between two looks at the turns (1 s): one that lasts is reported so much later.
pub const TURN_LOOK: Duration = Duration::from_secs(1);

/// How long an idle connection is kept open in a drain, so that its next answer can say `Connection: close`.
/// Consequence: a client that sends nothing until then is closed.
pub const DRAIN_IDLE_GRACE: Duration = Duration::from_millis(500);

/// Connections to the control socket and the metrics listener. Consequence: the longest idle one is closed.
pub const ADMIN_CONNECTIONS: usize = 256;

/// Connections that may wait for the control scheduler. Consequence: more are refused by the kernel.
pub const ADMIN_BACKLOG: u32 = 64;

/// Sockets taken over from systemd. Consequence: more are left alone.
pub const INHERITED_MAX: u32 = 64;
