//! WebSocket (RFC 6455, RFC 7692): the handshake, frames, and the messages that they carry.
//!
//! Owns the codec of both sides. Never answers a frame: the connection decides what a ping or a close means to it.

mod close;
mod deflate;
mod frame;
mod handshake;
mod reader;
mod utf8;

pub use close::CloseCode;
pub use deflate::{Extension, answer_to, write_deflated};
pub use frame::{Opcode, write_close, write_control, write_frame, write_masked};
pub use handshake::{HandshakeProblem, SUPPORTED_VERSION, accept_token, check, key_of};
pub use reader::{MessageKind, MessageLimits, MessageReader, PeerFailure, PeerRole, ReadStep};
