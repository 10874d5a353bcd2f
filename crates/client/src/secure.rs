//! Connections with TLS: the transport of one that begins, and what the end of its handshake means.
//!
//! Nothing of a request is sent before the handshake is over: a service that forgets the transport sends nothing, and
//! its exchanges reach their deadline. Never encrypts: `tls` does.

use runtime::service::{Context, Next};
use runtime::transport::{Transport, Violation};

use crate::client::Client;
use crate::failure::ExchangeFailure;
use crate::outbound::{End, Outbound, Past};
use crate::version::HTTP2;

impl Client {
    /// The transport of the connection with this ticket, which [`on_connect`](Self::on_connect) has just taken; `None`:
    /// it is plain.
    pub fn transport(&mut self, ticket: u64) -> Option<Box<dyn Transport>> {
        self.begun.take(ticket)
    }
}

impl Outbound {
    /// The handshake of its transport is over.
    pub fn on_agreed<M>(&mut self, client: &mut Client, context: &mut Context<'_, M>) -> Next {
        self.past = Past::Fresh;
        let agreed = context.agreed();
        let protocol = agreed.as_ref().and_then(|agreed| agreed.protocol.as_deref());
        if protocol == Some(HTTP2.as_bytes()) {
            return client.begin_shared(self, context);
        }
        client.begin_unshared(self);
        client.begin_talking(self, context)
    }

    /// The handshake of its transport failed. A server can still refuse it when this side has agreed, and has begun
    /// streams.
    pub fn on_handshake_failed(&mut self, client: &mut Client, why: Violation, now_ns: u64) {
        if self.h2.is_some() {
            return self.on_transport_failed(client, why);
        }
        let Some(id) = self.exchange.take() else { return };
        match why {
            // As if no server had listened there: another address may lead to a server that works.
            Violation::Cut => {
                client.break_promise(self);
                client.connect_failed(id, ExchangeFailure::Tls(why), now_ns);
            }
            why => client.fail(id, ExchangeFailure::Tls(why)),
        }
    }

    /// Its transport failed after the handshake. A server that wants another certificate of TLS 1.3 says so only then.
    pub fn on_transport_failed(&mut self, client: &mut Client, why: Violation) {
        let end = match why {
            Violation::Cut => End::Broken,
            Violation::OtherProtocol => End::Refused(Violation::Protocol),
            why => End::Refused(why),
        };
        if self.h2.is_some() {
            client.forget_idle(self);
            client.end_streams(self, end);
        } else if let Some(id) = self.exchange.take() {
            client.ended(id, self, end);
        }
    }
}
