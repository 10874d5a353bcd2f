//! Encrypted connections, and what follows if their handshake fails.
//!
//! Owns which connections are encrypted. Never sends a request.

use runtime::transport::Transport;

use super::LoadClient;
use super::connection::{LoadConnection, Phase};
use crate::tally::{FailureKind, HandshakeFault};

impl LoadClient {
    /// Whether the connection with this number is encrypted.
    pub(super) fn is_encrypted(&self, number: u32) -> bool {
        let peer = self.work.plan.peers.get(self.share.way(number).peer);
        peer.is_some_and(|peer| peer.server_name.is_some())
    }

    /// The transport of the connection that was requested with this ticket; `None` if it is plain.
    pub(super) fn transport_of(&self, ticket: u64) -> Option<Box<dyn Transport>> {
        let connector = self.connector.as_ref()?;
        let number = u32::try_from(ticket).unwrap_or(u32::MAX);
        self.work.plan.transport(Some(connector), self.share.way(number).peer)
    }

    /// The handshake of a connection has failed. In TLS 1.3 a server refuses this side's certificate after this side
    /// has agreed: then requests are under way.
    pub(super) fn fail_handshake(
        &mut self,
        connection: &mut LoadConnection,
        fault: HandshakeFault,
    ) {
        let now_ns = self.now_ns;
        self.tally.handshakes.get_or_insert_default().fail(fault);
        if connection.phase() == Phase::ShakingHands {
            self.opened(connection.number());
            self.tally.refuse(now_ns.saturating_sub(connection.since_ns()));
            self.fail_unsent(connection.number(), FailureKind::Handshake, now_ns);
        }
        self.fail_all(connection, FailureKind::Handshake, FailureKind::Handshake, now_ns);
    }
}
