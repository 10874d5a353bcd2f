//! The transport of a connection that has just begun.
//!
//! Owns it until the scheduler takes it, right after. Never makes one.

use std::fmt;

use runtime::transport::Transport;

/// The ticket and the transport of a connection that has just begun.
#[derive(Default)]
pub(crate) struct Begun(Option<(u64, Box<dyn Transport>)>);

impl fmt::Debug for Begun {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Begun").field(&self.0.as_ref().map(|(ticket, _)| ticket)).finish()
    }
}

impl Begun {
    /// The scheduler asks for it right after this.
    pub(crate) fn new(ticket: u64, transport: Box<dyn Transport>) -> Self {
        Self(Some((ticket, transport)))
    }

    /// The transport, if the connection has this ticket.
    pub(crate) fn take(&mut self, ticket: u64) -> Option<Box<dyn Transport>> {
        let (of, transport) = self.0.take()?;
        (of == ticket).then_some(transport)
    }
}
