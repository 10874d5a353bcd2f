//! Redis clients: sessions, commands and replies (RESP2 and RESP3).
//!
//! Owns what a client of Redis may send and what it is answered. A [`Session`] is the state of one connection; what the
//! sessions of a scheduler share is in [`RespClients`]. A session reaches the store and the channels through an
//! [`Environment`], and everything else through its [`RespHost`]: it knows no HTTP, no page and no message of the
//! server.

mod exclusive;
mod gathering;
mod held_replies;
mod host;
pub mod limits;
mod pace;
mod scan_places;
mod search;
mod session;
mod stats;
mod traced;

pub use host::{ChannelQuestion, NotAllowed, RespHost};
pub use session::{Environment, RespClients, Session, command_names, command_table};
pub use stats::{RespCounts, RespStats};
