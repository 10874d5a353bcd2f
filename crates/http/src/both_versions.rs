//! HTTP/1.1 and HTTP/2 as the processes of a service.
//!
//! Owns which call each event of a connection or a stream becomes, and the change of a connection whose client speaks
//! HTTP/2. Never keeps state: [`Http`] has what processes share.

use std::any::Any;
use std::net::IpAddr;

use runtime::mailbox::Endpoint;
use runtime::output::FileRegion;
use runtime::service::{
    Beginning, CloseReason, Context, Event, ListenerIndex, Next, Progress, Service, ServiceContext,
};
use runtime::transport::Transport;
use sys::socket::Peer;

use super::application::Application;
use super::connection::Connection;
use super::h2::Http2Connection;
use super::service::alone;
use super::shared::Http;
use super::stream::Stream;

/// A service whose clients speak either version: HTTP/2 if the handshake agrees on it, or if they know that a listener
/// speaks it ([`ListenerRules`](crate::ListenerRules)).
pub struct BothVersions<A: Application>(Http<A>);

/// A process of such a service.
#[derive(Debug)]
pub enum HttpProcess {
    /// A connection of HTTP/1.1, or a new one.
    Connection(Connection),
    /// A connection of HTTP/2.
    Http2(Box<Http2Connection>),
    /// One of its requests.
    Stream(Stream),
}

impl<A: Application> BothVersions<A> {
    /// A service of this application.
    pub fn new(http: Http<A>) -> Self {
        Self(http)
    }

    /// The state that its processes share.
    pub fn http(&self) -> &Http<A> {
        &self.0
    }

    /// A connection may have become one of HTTP/2.
    fn change(
        &self,
        process: &mut HttpProcess,
        next: Next,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        if next == Next::Changed
            && let HttpProcess::Connection(connection) = process
            && let Some(http2) = connection.to_http2(&self.0, context)
        {
            *process = HttpProcess::Http2(Box::new(http2));
            return next;
        }
        alone(next)
    }
}

impl<A: Application> Service for BothVersions<A> {
    type Process = HttpProcess;
    type Message = A::Message;

    const KINDS: &'static [&'static str] = &["http", "http2", "stream"];

    fn kind(process: &HttpProcess) -> usize {
        match process {
            HttpProcess::Connection(_) => 0,
            HttpProcess::Http2(_) => 1,
            HttpProcess::Stream(_) => 2,
        }
    }

    fn is_idle(process: &HttpProcess) -> bool {
        match process {
            HttpProcess::Connection(connection) => connection.is_idle(),
            HttpProcess::Http2(connection) => connection.is_idle(),
            HttpProcess::Stream(_) => false,
        }
    }

    fn held_bytes(process: &HttpProcess) -> usize {
        match process {
            HttpProcess::Connection(connection) => connection.held_bytes(),
            HttpProcess::Http2(connection) => connection.held_bytes(),
            HttpProcess::Stream(stream) => stream.held_bytes(),
        }
    }

    fn client(process: &HttpProcess) -> Option<IpAddr> {
        match process {
            HttpProcess::Connection(connection) => Some(connection.client()),
            HttpProcess::Http2(connection) => Some(connection.client()),
            HttpProcess::Stream(stream) => stream.client(),
        }
    }

    fn is_beginning(process: &HttpProcess) -> bool {
        matches!(process, HttpProcess::Connection(connection) if connection.is_beginning())
    }

    fn on_accept(
        &mut self,
        listener: ListenerIndex,
        peer: Peer,
        context: &mut Context<'_, A::Message>,
    ) -> Option<HttpProcess> {
        Connection::new(&self.0, listener, peer, context).map(HttpProcess::Connection)
    }

    fn transport(&mut self, beginning: Beginning) -> Option<Box<dyn Transport>> {
        self.0.transport(beginning)
    }

    fn on_agreed(
        &mut self,
        process: &mut HttpProcess,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        let next = match process {
            HttpProcess::Connection(connection) => connection.on_agreed(&self.0, context),
            HttpProcess::Http2(_) | HttpProcess::Stream(_) => Next::Read,
        };
        self.change(process, next, context)
    }

    fn on_carry(
        &mut self,
        opening: Box<dyn Any>,
        _: &mut Context<'_, A::Message>,
    ) -> Option<HttpProcess> {
        Stream::of_opening(opening).map(HttpProcess::Stream)
    }

    fn on_streams_ready(
        &mut self,
        process: &mut HttpProcess,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        match process {
            HttpProcess::Http2(connection) => connection.on_streams_ready(&mut self.0, context),
            // Cannot happen: no other carries any.
            HttpProcess::Connection(_) | HttpProcess::Stream(_) => Next::Abort,
        }
    }

    fn on_input(
        &mut self,
        process: &mut HttpProcess,
        input: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        let progress = match process {
            HttpProcess::Connection(connection) => connection.on_input(&mut self.0, input, context),
            HttpProcess::Http2(connection) => connection.on_input(&mut self.0, input, context),
            HttpProcess::Stream(stream) => stream.on_input(&mut self.0, input, context),
        };
        Progress { next: self.change(process, progress.next, context), ..progress }
    }

    fn on_event(
        &mut self,
        process: &mut HttpProcess,
        event: Event,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        let next = match process {
            HttpProcess::Connection(connection) => connection.on_event(&mut self.0, event, context),
            HttpProcess::Http2(connection) => connection.on_event(&mut self.0, event, context),
            HttpProcess::Stream(stream) => stream.on_event(&mut self.0, event, context),
        };
        self.change(process, next, context)
    }

    fn on_cold_file(
        &mut self,
        _: &HttpProcess,
        region: &FileRegion,
        context: &mut Context<'_, A::Message>,
    ) -> bool {
        self.0.warm(region, context)
    }

    fn on_close(&mut self, process: HttpProcess, reason: CloseReason) {
        match process {
            HttpProcess::Connection(connection) => connection.on_close(&mut self.0, reason),
            // Its streams have what has to end.
            HttpProcess::Http2(_) => {}
            HttpProcess::Stream(stream) => stream.on_close(&mut self.0, reason),
        }
    }

    fn on_start(&mut self, context: &mut ServiceContext<'_, A::Message>) {
        self.0.on_start(context);
    }

    fn on_message(
        &mut self,
        from: Endpoint,
        message: A::Message,
        context: &mut ServiceContext<'_, A::Message>,
    ) {
        self.0.on_message(from, message, context);
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, A::Message>) {
        self.0.on_turn_end(context);
    }

    fn on_stop(&mut self, context: &mut ServiceContext<'_, A::Message>) {
        self.0.on_stop(context);
    }
}
