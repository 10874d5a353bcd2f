//! The client of a request whose connection may come from a proxy.
//!
//! Owns the decision: a trusted proxy is believed, and of everybody else the fields of proxies are left out before
//! anything else sees the request. Never parses such a field.

use sys::socket::Peer;
use wire::http::forwarded::{self, ForwardingField, MalformedForwarded};
use wire::http::head::{FieldSlots, RequestHead};

use super::settings::TrustedProxies;

/// Both ends of the way of a request. Plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sender {
    /// The client.
    pub(crate) peer: Peer,
    /// The proxy that told so.
    pub(crate) via: Option<Peer>,
}

impl Sender {
    /// The other end of the connection itself.
    #[inline(always)]
    pub(super) fn itself(peer: Peer) -> Self {
        Self { peer, via: None }
    }
}

impl TrustedProxies {
    /// The request as its client sent it, and who that is. `room` receives the positions of the fields that stay.
    ///
    /// # Errors
    /// If a trusted proxy tells something that cannot be true. The proxy's own address is no substitute: it may be
    /// allowed what no client is.
    pub(super) fn read<'r>(
        &self,
        request: &RequestHead<'r, 'r>,
        peer: Peer,
        room: &'r mut FieldSlots,
    ) -> Result<(RequestHead<'r, 'r>, Sender), MalformedForwarded> {
        let fields = request.fields;
        let mut read: RequestHead<'r, 'r> = request.clone();
        if !self.contain(peer.address) {
            read.fields = fields.without(forwarded::is_one, room);
            return Ok((read, Sender::itself(peer)));
        }
        let told = forwarded::read(&fields, &self.fields, |address| self.contain(address))?;
        let is_disbelieved = |name: &str| {
            let is = |field: &ForwardingField| name.eq_ignore_ascii_case(field.name());
            ForwardingField::ALL.iter().any(is) && !self.fields.iter().any(is)
        };
        read.fields = fields.without(is_disbelieved, room);
        read.scheme = told.scheme.unwrap_or(request.scheme);
        read.host = told.host.or(request.host);
        let client = told.client.map(|client| Peer { address: client.ip(), port: client.port() });
        Ok((read, Sender { peer: client.unwrap_or(peer), via: Some(peer) }))
    }
}
