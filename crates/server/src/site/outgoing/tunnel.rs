//! Connections whose protocol a server of an upstream has changed.
//!
//! Owns how their bytes come to the server and from it. Never reads one.

use client::ExchangeNews;
use http::FieldList;
use runtime::slots::ProcessId;

use super::Tunnelled;
use crate::site::Site;

impl Site {
    /// The tunnel to which the connection changes whose request was just answered.
    pub(crate) fn take_tunnelled(&mut self) -> Option<Tunnelled> {
        self.outgoing.proxies.take_tunnelled()
    }

    /// Sends what a client has sent to the server. Returns how many bytes of it the server takes now.
    pub(crate) fn send_through(&mut self, tunnel: &Tunnelled, input: &[u8], now_ns: u64) -> usize {
        self.outgoing.client.exchanges().send(tunnel.exchange, input, now_ns)
    }

    /// The client sends no more.
    pub(crate) fn end_sending(&mut self, tunnel: &Tunnelled, now_ns: u64) {
        self.outgoing.client.exchanges().end_body(tunnel.exchange, &FieldList::new(), now_ns);
    }

    /// The next news from the server, up to so many bytes.
    pub(crate) fn next_through(
        &mut self,
        tunnel: &Tunnelled,
        room: usize,
        now_ns: u64,
    ) -> Option<ExchangeNews> {
        self.outgoing.client.exchanges().next(tunnel.exchange, room, now_ns)
    }

    /// Whether there is more of the server as soon as it is taken.
    pub(crate) fn holds_for_client(&mut self, tunnel: &Tunnelled) -> bool {
        self.outgoing.client.exchanges().is_answer_left(tunnel.exchange)
    }

    /// The process of a tunnel runs again at the end of the turn.
    pub(crate) fn run_tunnel_again(&mut self, process: ProcessId) {
        self.outgoing.proxies.run_again(process);
    }

    /// The client of a tunnel has closed.
    pub(crate) fn end_tunnel(&mut self, tunnel: &Tunnelled) {
        self.outgoing.client.exchanges().cancel(tunnel.exchange);
        self.outgoing.proxies.end_tunnel(tunnel);
    }
}
