//! The transports of connections that begin.
//!
//! Owns which certificates, doors and leads a connection gets. Never encrypts.

use runtime::service::Beginning;
use runtime::transport::Transport;

use super::Connections;
use super::cluster::ClusterLink;
use super::door::Door;
use super::lead::{Lead, LeadKind};

impl Connections {
    /// The transport of a connection; `None`: it is plain.
    pub(super) fn transport_of(&mut self, beginning: Beginning) -> Option<Box<dyn Transport>> {
        let (listener, peer) = match beginning {
            Beginning::Accepted { listener, peer } => (listener, peer),
            Beginning::Connecting { ticket } if ClusterLink::is_ticket(ticket) => {
                return self.cluster.as_mut()?.transport(ticket);
            }
            Beginning::Connecting { ticket } => return self.exchanges().transport(ticket),
        };
        let listener = self.configured(listener);
        let transport = self.tls.acceptor(usize::from(listener.0))?.accept();
        let (protocol, _) =
            self.protocols.get(usize::from(listener.0)).copied().unwrap_or_default();
        if self.http.expects_proxy_header(listener) {
            let door = Door::before(transport, protocol, None);
            return Some(Box::new(Lead::before(Box::new(door), LeadKind::ProxyHeader)));
        }
        let under_way = Some(self.handshakes.begin(peer.address));
        Some(Box::new(Door::before(transport, protocol, under_way)))
    }
}
