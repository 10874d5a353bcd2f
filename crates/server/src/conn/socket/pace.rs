//! When a WebSocket reads the next message.
//!
//! Owns what follows a message: the next one; a pause until a module has answered or the client has
//! read its output; or the end.

use runtime::service::Next;
use wire::websocket::CloseCode;

use super::{Speaks, WebSocket, close};
use crate::message::Context;
use crate::site::Site;

/// The next step after a message of the client.
pub(super) enum After {
    /// Read the next one.
    More,
    /// Handle the same one again when a module has answered.
    Wait,
    /// Read the next one when a module waits for it.
    Busy,
    /// Close with this code and reason.
    Close(CloseCode, &'static str),
    /// End: a close was written.
    Closed,
}

impl WebSocket {
    /// Returns the held message if the module asked about it may have answered.
    pub(super) fn take_held(&mut self, site: &mut Site, context: &mut Context<'_>) -> Next {
        if matches!(self.speaks, Speaks::Talk(_)) {
            let after = self.talk(site, context);
            return self.next(after, context);
        }
        let Some(held) = self.held.take() else { return self.unchanged(site, context) };
        match self.on_message(held.kind, &held.bytes, site, context) {
            After::Wait => {
                self.held = Some(held);
                Next::Park
            }
            after => self.next(after, context),
        }
    }

    /// The next step of the process, if no message is held.
    pub(super) fn next(&mut self, after: After, context: &mut Context<'_>) -> Next {
        match after {
            After::More if context.output_is_full() => Next::Park,
            After::More => Next::Read,
            After::Wait | After::Busy => Next::Park,
            After::Close(code, reason) => {
                self.end = code.number();
                close(code, reason, context)
            }
            After::Closed => Next::Linger,
        }
    }

    /// The process continues as before: it does not read while its output is full or a module is being asked about its
    /// message.
    pub(super) fn unchanged(&self, site: &Site, context: &Context<'_>) -> Next {
        if context.output_is_full() || self.is_busy(site) { Next::Park } else { Next::Read }
    }

    /// Whether a module is being asked about a message, or does not wait for one.
    pub(super) fn is_busy(&self, site: &Site) -> bool {
        match &self.speaks {
            Speaks::Talk(_) => !site.hears(self.process),
            Speaks::Plain(_) | Speaks::Json(_) => self.held.is_some(),
        }
    }
}
