//! The TLS handshakes of subscribers.
//!
//! Owns the choice of their transport, and what follows when a handshake is over or has failed.

use runtime::service::Beginning;
use runtime::transport::Transport;

use super::{Phase, Subscriber, Subscribers};
use crate::client::Context;
use crate::tally::HandshakeFault;

impl Subscribers {
    /// The transport of a connection that begins; `None` if it is plain.
    pub(super) fn transport_of(&self, beginning: Beginning) -> Option<Box<dyn Transport>> {
        let Beginning::Connecting { ticket } = beginning else { return None };
        let way = self.share.way(u32::try_from(ticket).unwrap_or(u32::MAX));
        self.orders.plan.plan.transport(self.connector.as_ref(), way.peer)
    }

    /// Whether the connection of a seat is encrypted.
    pub(super) fn is_encrypted(&self, number: u32) -> bool {
        let peer = self.orders.plan.plan.peers.get(self.share.way(number).peer);
        peer.is_some_and(|peer| peer.server_name.is_some())
    }

    /// A handshake is over: the request for a WebSocket can be sent.
    pub(super) fn take_agreement(
        &mut self,
        subscriber: &mut Subscriber,
        context: &mut Context<'_>,
    ) {
        if let Some(agreed) = context.agreed() {
            let took_ns = context.now.monotonic_ns.saturating_sub(subscriber.since_ns);
            self.tally.agree(&agreed, took_ns);
            self.ask(subscriber, context);
        }
    }

    /// A handshake has failed, or the server has refused what was agreed on.
    pub(super) fn fail_handshake(&mut self, subscriber: &mut Subscriber, fault: HandshakeFault) {
        if self.orders.signs.ending().is_some() {
            return;
        }
        self.tally.fail_handshake(fault);
        // In TLS 1.3 a server may refuse after this side has agreed.
        if matches!(subscriber.phase, Phase::ShakingHands | Phase::Asking) {
            subscriber.phase = Phase::Connecting;
            subscriber.fail(fault.to_string());
        }
    }
}
