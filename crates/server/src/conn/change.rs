//! The change of a process into one of another protocol.
//!
//! Owns what an HTTP connection or a stream can become. Never decides that it changes: the client or the answer does.

use runtime::arrival::Arrival;
use runtime::service::Next;
use sys::socket::Peer;
use wire::websocket::CloseCode;

use super::Connections;
use super::events::EventStream;
use super::lease::Lease;
use super::process::Process;
use super::socket::{self, WebSocket};
use super::tunnel::Tunnel;
use crate::message::Context;
use crate::site::{Upgrade, Upgraded};

impl Process {
    /// Turns an HTTP connection or a stream into another process, if its client or answer says so.
    pub(super) fn change(
        &mut self,
        connections: &mut Connections,
        context: &mut Context<'_>,
    ) -> Next {
        if let Self::Http(connection) = self
            && let Some(http2) = connection.to_http2(&connections.http, context)
        {
            *self = Self::Http2(Box::new(http2));
            return Next::Changed;
        }
        let site = connections.http.application_mut();
        let (upgraded, tunnelled) = (site.take_upgraded(), site.take_tunnelled());
        let (known, now) = (self.arrival(), context.now);
        let arrival = |address| match known {
            Some(known) if known.peer.address == address => known,
            // A proxy names the client.
            Some(known) => known.with_peer(Peer { address, port: 0 }),
            None => Arrival::new(Peer { address, port: 0 }, now),
        };
        if context.is_draining() {
            // The client is not told again that the server stops.
            if let Some(tunnelled) = tunnelled {
                let arrival = arrival(tunnelled.client);
                Tunnel::new(tunnelled, arrival).on_close(site);
            }
            return Next::Finish;
        }
        if let Some(tunnelled) = tunnelled {
            // Bytes that the server sent together with its head have arrived already.
            site.run_tunnel_again(context.id);
            let arrival = arrival(tunnelled.client);
            *self = Self::Tunnel(Box::new(Tunnel::new(tunnelled, arrival)));
            return Next::Changed;
        }
        let Some(Upgraded { to, rights, address, request, extension }) = upgraded else {
            return Next::Abort;
        };
        let lease = Lease::new(rights, arrival(address)).with_request(request);
        let changed = match to {
            Upgrade::Socket(right) => WebSocket::plain(right, (lease, extension), site, context)
                .map(|socket| Self::Socket(Box::new(socket))),
            Upgrade::JsonSocket(right) => WebSocket::json(right, (lease, extension), site, context)
                .map(|socket| Self::Socket(Box::new(socket))),
            Upgrade::Talk => {
                Ok(Self::Socket(Box::new(WebSocket::talking((lease, extension), context))))
            }
            Upgrade::Events(right, since) => {
                // Its head was sent: a client that gets no event reconnects.
                let Ok(stream) = EventStream::open(right, since, lease, site, context) else {
                    return Next::Finish;
                };
                Ok(Self::Events(Box::new(stream)))
            }
        };
        match changed {
            Ok(process) => {
                *self = process;
                Next::Changed
            }
            Err(refusal) => {
                socket::close(CloseCode::TRY_AGAIN_LATER, &refusal.to_string(), context)
            }
        }
    }
}
