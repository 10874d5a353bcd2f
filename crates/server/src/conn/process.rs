//! The processes of a scheduler: a closed enum with one variant per kind of connection.
//!
//! Owns the dispatch of events to processes, and what an HTTP connection can become. Knows nothing
//! of protocols.

use std::net::IpAddr;

use ::resp::Session;
use client::Outbound;
use http::{Connection, Http2Connection, Stream};
use runtime::arrival::Arrival;
use runtime::limits::INBOX_BYTES;
use runtime::service::{CloseReason, Event, Next, Progress};

use super::Connections;
use super::cluster::LinkConnection;
use super::events::EventStream;
use super::socket::WebSocket;
use super::tunnel::Tunnel;
use crate::message::Context;

/// A process of a scheduler.
#[derive(Debug)]
pub enum Process {
    /// An HTTP/1.1 connection of a client.
    Http(Connection),
    /// An HTTP/2 connection of a client.
    Http2(Box<Http2Connection>),
    /// A request of a client on a stream, which a connection carries.
    Stream(Stream),
    /// A connection to another server.
    Outbound(Box<Outbound>),
    /// A WebSocket of a client.
    Socket(Box<WebSocket>),
    /// An event stream of a client.
    Events(Box<EventStream>),
    /// A Redis client.
    Resp(Box<Session>),
    /// A client that speaks another protocol with a server of an upstream.
    Tunnel(Box<Tunnel>),
    /// The connection to the cluster.
    Cluster(Box<LinkConnection>),
}

// Each slot has room for any variant, and there may be a million HTTP connections, so larger states are boxed.
const _: () = assert!(size_of::<Process>() <= 48);

impl Process {
    /// The names of the kinds, for statistics.
    pub(super) const KINDS: &'static [&'static str] = &[
        "http",
        "outbound",
        "websocket",
        "event_stream",
        "resp",
        "stream",
        "tunnel",
        "cluster",
        "http2",
    ];

    /// The index of its kind.
    #[inline]
    pub(super) fn kind(&self) -> usize {
        match self {
            Self::Http(_) => 0,
            Self::Outbound(_) => 1,
            Self::Socket(_) => 2,
            Self::Events(_) => 3,
            Self::Resp(_) => 4,
            Self::Stream(_) => 5,
            Self::Tunnel(_) => 6,
            Self::Cluster(_) => 7,
            Self::Http2(_) => 8,
        }
    }

    pub(crate) fn kind_name(&self) -> &'static str {
        Self::KINDS[self.kind()]
    }

    /// The number of requests on it; `None` if that is not counted.
    pub(crate) fn requests(&self) -> Option<u32> {
        match self {
            Self::Http(connection) => Some(connection.requests()),
            Self::Http2(connection) => Some(connection.requests()),
            _ => None,
        }
    }

    /// Whether it is idle. A subscriber is not: it waits for messages.
    pub(super) fn is_idle(&self) -> bool {
        match self {
            Self::Http(connection) => connection.is_idle(),
            Self::Http2(connection) => connection.is_idle(),
            Self::Outbound(outbound) => outbound.is_idle(),
            Self::Socket(_)
            | Self::Events(_)
            | Self::Stream(_)
            | Self::Tunnel(_)
            | Self::Cluster(_) => false,
            Self::Resp(session) => session.is_idle(),
        }
    }

    /// Bytes of input that may wait: an incomplete command, or commands of a client that does not read its replies.
    pub(super) fn inbox_bytes(&self) -> usize {
        match self {
            Self::Resp(_) => ::resp::limits::PIPELINE_SIZE,
            Self::Cluster(_) => ::cluster::limits::INBOX_BYTES,
            _ => INBOX_BYTES,
        }
    }

    /// Bytes of memory in which it keeps input beyond its inbox. What a Redis client has sent stays in the inbox, and a
    /// connection to another server passes on what it receives.
    #[inline]
    pub(super) fn held_bytes(&self) -> usize {
        match self {
            Self::Http(connection) => connection.held_bytes(),
            Self::Http2(connection) => connection.held_bytes(),
            Self::Stream(stream) => stream.held_bytes(),
            Self::Socket(socket) => socket.held_bytes(),
            Self::Outbound(_)
            | Self::Events(_)
            | Self::Resp(_)
            | Self::Tunnel(_)
            | Self::Cluster(_) => 0,
        }
    }

    /// The address of the client, if it has one.
    pub(crate) fn client(&self) -> Option<IpAddr> {
        match self {
            Self::Http(connection) => Some(connection.client()),
            Self::Stream(stream) => stream.client(),
            Self::Tunnel(tunnel) => Some(tunnel.client()),
            _ => self.arrival().map(|arrival| arrival.peer.address),
        }
    }

    /// The other end of its connection; `None` for what another connection carries, or has begun itself.
    pub(crate) fn arrival(&self) -> Option<Arrival> {
        match self {
            Self::Http(connection) => Some(connection.arrival()),
            Self::Http2(connection) => Some(connection.arrival()),
            Self::Socket(socket) => Some(socket.arrival()),
            Self::Events(stream) => Some(stream.arrival()),
            Self::Resp(session) => Some(session.arrival()),
            Self::Tunnel(tunnel) => Some(tunnel.arrival()),
            Self::Stream(_) | Self::Outbound(_) | Self::Cluster(_) => None,
        }
    }

    /// The server to which this has connected, if it has.
    pub(crate) fn server(&self) -> Option<String> {
        match self {
            Self::Outbound(outbound) => Some(outbound.server()),
            _ => None,
        }
    }

    /// Whether the client has begun something that is incomplete.
    pub(super) fn is_beginning(&self) -> bool {
        matches!(self, Self::Http(connection) if connection.is_beginning())
    }

    /// The handshake of its transport is over.
    pub(super) fn on_agreed(
        &mut self,
        connections: &mut Connections,
        context: &mut Context<'_>,
    ) -> Next {
        let agreed = context.agreed();
        if agreed.and_then(|agreed| agreed.protocol.clone()).as_deref()
            == Some(tls::CHALLENGE_PROTOCOL.as_bytes())
        {
            // An authority has seen the certificate; this protocol has no messages (RFC 8737 section 3).
            return Next::Finish;
        }
        match self {
            Self::Http(connection) => {
                let next = connection.on_agreed(&connections.http, context);
                if next == Next::Changed { self.change(connections, context) } else { next }
            }
            Self::Outbound(outbound) => outbound.on_agreed(connections.exchanges(), context),
            Self::Resp(session) => session.on_agreed(context),
            Self::Cluster(connection) => match &mut connections.cluster {
                Some(link) => connection.on_agreed(link, context),
                None => Next::Abort,
            },
            Self::Http2(_)
            | Self::Stream(_)
            | Self::Socket(_)
            | Self::Events(_)
            | Self::Tunnel(_) => Next::Read,
        }
    }

    #[inline]
    pub(super) fn on_input(
        &mut self,
        connections: &mut Connections,
        input: &[u8],
        context: &mut Context<'_>,
    ) -> Progress {
        let progress = match self {
            Self::Http(connection) => connection.on_input(&mut connections.http, input, context),
            Self::Stream(stream) => stream.on_input(&mut connections.http, input, context),
            Self::Http2(connection) => connection.on_input(&mut connections.http, input, context),
            Self::Outbound(outbound) => outbound.on_input(connections.exchanges(), input, context),
            Self::Socket(socket) => {
                let site = connections.http.application_mut();
                socket.on_input(&mut connections.sockets, site, input, context)
            }
            Self::Events(_) => EventStream::on_input(input),
            Self::Cluster(connection) => match &mut connections.cluster {
                Some(link) => connection.on_input(link, input, context),
                None => Progress { consumed: input.len(), next: Next::Abort },
            },
            Self::Tunnel(tunnel) => {
                tunnel.on_input(connections.http.application_mut(), input, context)
            }
            Self::Resp(session) => {
                connections.with_environment(|env| session.on_input(env, input, context))
            }
        };
        if progress.next == Next::Changed {
            return Progress { next: self.change(connections, context), ..progress };
        }
        self.leave_at_end(progress.next, connections);
        progress
    }

    pub(super) fn on_event(
        &mut self,
        connections: &mut Connections,
        event: Event,
        context: &mut Context<'_>,
    ) -> Next {
        let next = match self {
            Self::Http(connection) => connection.on_event(&mut connections.http, event, context),
            Self::Stream(stream) => stream.on_event(&mut connections.http, event, context),
            Self::Http2(connection) => connection.on_event(&mut connections.http, event, context),
            Self::Outbound(outbound) => outbound.on_event(connections.exchanges(), event, context),
            Self::Socket(socket) => {
                socket.on_event(connections.http.application_mut(), event, context)
            }
            Self::Events(stream) => {
                stream.on_event(connections.http.application_mut(), event, context)
            }
            Self::Resp(session) => {
                connections.with_environment(|env| session.on_event(env, event, context))
            }
            Self::Cluster(connection) => match &mut connections.cluster {
                Some(link) => connection.on_event(link, event, context),
                None => Next::Abort,
            },
            Self::Tunnel(tunnel) => {
                tunnel.on_event(connections.http.application_mut(), event, context)
            }
        };
        let next = if next == Next::Changed { self.change(connections, context) } else { next };
        self.leave_at_end(next, connections);
        next
    }

    /// A subscriber that will only send what is queued, and be closed, is one no longer. A client that does not read
    /// may keep it for half a minute.
    fn leave_at_end(&mut self, next: Next, connections: &mut Connections) {
        if !matches!(next, Next::Finish | Next::Linger) {
            return;
        }
        let site = connections.http.application_mut();
        match self {
            Self::Http(_)
            | Self::Http2(_)
            | Self::Stream(_)
            | Self::Outbound(_)
            | Self::Tunnel(_)
            | Self::Cluster(_) => {}
            Self::Socket(socket) => socket.leave_all(site),
            Self::Events(stream) => stream.leave(site),
            Self::Resp(session) => session.leave(&mut connections.local.channels()),
        }
    }

    /// Some of the streams that it carries have something.
    pub(super) fn on_streams_ready(
        &mut self,
        connections: &mut Connections,
        context: &mut Context<'_>,
    ) -> Next {
        match self {
            Self::Http2(connection) => connection.on_streams_ready(&mut connections.http, context),
            // Cannot happen: no other carries any.
            _ => Next::Abort,
        }
    }

    pub(super) fn on_close(self, connections: &mut Connections, reason: CloseReason) {
        let http = &mut connections.http;
        match self {
            Self::Http(connection) => connection.on_close(http, reason),
            Self::Stream(stream) => stream.on_close(http, reason),
            // Its streams have what has to end.
            Self::Http2(_) => {}
            Self::Outbound(outbound) => {
                outbound.on_close(http.application_mut().exchanges(), reason);
            }
            Self::Tunnel(tunnel) => tunnel.on_close(http.application_mut()),
            Self::Cluster(connection) => {
                if let Some(link) = &mut connections.cluster {
                    connection.on_close(link);
                }
            }
            Self::Socket(socket) => socket.on_close(http.application_mut()),
            Self::Events(stream) => stream.on_close(http.application_mut()),
            Self::Resp(session) => connections.with_environment(|env| session.on_close(env)),
        }
    }
}
