//! Detects whether a client that has shut down its sending side is still there.
//!
//! Owns the bytes for that. TCP does not distinguish a client that sends no more but wants its
//! answer from one that has closed: both send a FIN. Only sending something tells, because a closed
//! client answers with a reset. So the server sends ahead the bytes with which every answer begins,
//! or in a chunked body a leading zero of the next size; a reader of the whole sees no difference.
//! Never decides when to probe.

use runtime::service::{Context, Next};

use super::Connection;
use crate::exchange::Exchange;

/// The first bytes of every answer (RFC 9112 section 4: the server's version, whatever the request's version).
const LEAD: &[u8] = b"HTTP/1.1 ";

/// Whether [`LEAD`] was already sent for the current answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lead {
    /// No.
    Unsent,
    /// Yes: it is left out of what follows.
    Sent,
}

impl Connection {
    /// The client has ended its output: sends bytes that a closed client answers with a reset, if nothing is being
    /// sent.
    pub(super) fn probe<M>(&mut self, context: &mut Context<'_, M>) -> Next {
        if self.lead == Lead::Sent {
            return Next::Park;
        }
        match self.waiting().map(Exchange::idle_bytes) {
            None => {}
            Some(Some(bytes)) => context.output.put(bytes),
            Some(None) => {
                context.output.put(LEAD);
                self.lead = Lead::Sent;
            }
        }
        Next::Park
    }

    /// If an answer was written from `start` on, removes its lead if that was already sent.
    pub(super) fn omit_lead<M>(&mut self, start: usize, context: &mut Context<'_, M>) {
        if self.lead == Lead::Sent && context.output.buffer().len() > start {
            self.lead = Lead::Unsent;
            let omitted = context.output.omit(start, LEAD.len());
            assert_eq!(omitted, LEAD, "every answer begins with its version");
        }
    }
}
