//! Connections with TLS: the transport of one that begins, and what the end of its handshake means.
//!
//! Owns the transport until the scheduler takes it. Nothing of a request is sent before the handshake is over: a
//! service that forgets the transport sends nothing, and its exchanges reach their deadline. Never encrypts: `tls`
//! does.

use std::fmt;

use runtime::service::{Context, Next};
use runtime::transport::{Transport, Violation};

use crate::client::Client;
use crate::failure::Failure;
use crate::outbound::{End, Outbound, Past};

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
}

impl Client {
    /// The transport of the connection with this ticket, which [`on_connect`](Self::on_connect) has just taken; `None`:
    /// it is plain.
    pub fn transport(&mut self, ticket: u64) -> Option<Box<dyn Transport>> {
        let (of, transport) = self.begun.0.take()?;
        (of == ticket).then_some(transport)
    }
}

impl Outbound {
    /// The handshake of its transport is over.
    pub fn on_agreed<M>(&mut self, client: &mut Client, context: &mut Context<'_, M>) -> Next {
        self.past = Past::Fresh;
        client.begin_talking(self, context)
    }

    /// The handshake of its transport failed.
    pub fn on_handshake_failed(&mut self, client: &mut Client, why: Violation) {
        let Some(id) = self.exchange.take() else { return };
        match why {
            // As if nobody had listened there: another address may lead to a server that works.
            Violation::Cut => client.connect_failed(id, Failure::Tls(why)),
            why => client.fail(id, Failure::Tls(why)),
        }
    }

    /// Its transport failed after the handshake. A server that wants another certificate of TLS 1.3 says so only then.
    pub fn on_transport_failed(&mut self, client: &mut Client, why: Violation) {
        let end = match why {
            Violation::Cut => End::Broken,
            Violation::OtherProtocol => End::Refused(Violation::Protocol),
            why => End::Refused(why),
        };
        if let Some(id) = self.exchange.take() {
            client.ended(id, self, end);
        }
    }
}
