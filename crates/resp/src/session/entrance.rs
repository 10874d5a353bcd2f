//! The beginning of a Redis client's connection: its handshake, if the listener encrypts, and its first deadline.
//!
//! Owns how far the connection has come. Never reads a command.

use channels::{Rights, Shown};
use runtime::clock::milliseconds;
use runtime::service::{Context, Next};

use super::Session;
use crate::limits::DRAIN_GRACE;

/// How far the connection of a client has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entrance {
    /// It may send commands.
    Open,
    /// Its handshake is not over, and has a deadline.
    Handshake,
}

/// The deadline of a client that may send its first command: none, but while the server drains, a short one for clients
/// that were in the accept queue when the drain began.
pub(super) fn set_first_deadline<M>(context: &mut Context<'_, M>) {
    context.clear_deadline();
    if context.is_draining() {
        context.set_deadline_after_ms(milliseconds(DRAIN_GRACE));
    }
}

impl Session {
    /// The connection begins with a handshake, which has to be over within this time: a silent client would keep a
    /// place among the handshakes for ever.
    pub fn await_handshake<M>(&mut self, deadline_ms: u64, context: &mut Context<'_, M>) {
        self.entrance = Entrance::Handshake;
        context.set_deadline_after_ms(deadline_ms);
    }

    /// The handshake is over.
    pub fn on_agreed<M>(&mut self, context: &mut Context<'_, M>) -> Next {
        self.entrance = Entrance::Open;
        self.rights = Rights::new(Shown::Nothing, context.agreed().as_deref());
        set_first_deadline(context);
        Next::Read
    }
}
