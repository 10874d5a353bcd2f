//! The small application over HTTP/2.
//!
//! Owns a service whose connections speak nothing else.

use std::any::Any;
use std::net::IpAddr;

use http::{Connection, Http, Http2Connection, Stream};
use runtime::mailbox::Endpoint;
use runtime::output::FileRegion;
use runtime::service::{
    CloseReason, Context, Event, ListenerIndex, Next, Progress, Service, ServiceContext,
};
use sys::socket::Peer;

use crate::small::{Order, Small};

pub(crate) struct SmallOnStreams(pub(crate) Http<Small>);

pub(crate) enum Process {
    /// The preface has not come.
    New(Connection),
    Http2(Box<Http2Connection>),
    Stream(Stream),
}

impl SmallOnStreams {
    /// A connection on which the preface has come.
    fn changed(&self, process: &mut Process, next: Next, context: &mut Context<'_, Order>) -> Next {
        if next == Next::Changed
            && let Process::New(connection) = process
        {
            let http2 = connection.to_http2(&self.0, context).expect("the preface of HTTP/2");
            *process = Process::Http2(Box::new(http2));
        }
        next
    }
}

impl Service for SmallOnStreams {
    type Process = Process;
    type Message = Order;

    const KINDS: &'static [&'static str] = &["new", "http2", "stream"];

    fn kind(process: &Process) -> usize {
        match process {
            Process::New(_) => 0,
            Process::Http2(_) => 1,
            Process::Stream(_) => 2,
        }
    }

    fn is_idle(process: &Process) -> bool {
        match process {
            Process::New(connection) => connection.is_idle(),
            Process::Http2(connection) => connection.is_idle(),
            Process::Stream(_) => false,
        }
    }

    fn held_bytes(process: &Process) -> usize {
        match process {
            Process::New(connection) => connection.held_bytes(),
            Process::Http2(connection) => connection.held_bytes(),
            Process::Stream(stream) => stream.held_bytes(),
        }
    }

    fn client(process: &Process) -> Option<IpAddr> {
        match process {
            Process::New(connection) => Some(connection.client()),
            Process::Http2(connection) => Some(connection.client()),
            Process::Stream(stream) => stream.client(),
        }
    }

    fn on_accept(
        &mut self,
        listener: ListenerIndex,
        peer: Peer,
        context: &mut Context<'_, Order>,
    ) -> Option<Process> {
        Connection::new(&self.0, listener, peer, context).map(Process::New)
    }

    fn on_carry(&mut self, opening: Box<dyn Any>, _: &mut Context<'_, Order>) -> Option<Process> {
        Stream::of_opening(opening).map(Process::Stream)
    }

    fn on_streams_ready(
        &mut self,
        process: &mut Process,
        context: &mut Context<'_, Order>,
    ) -> Next {
        match process {
            Process::Http2(connection) => connection.on_streams_ready(&self.0, context),
            Process::New(_) | Process::Stream(_) => panic!("it carries no streams"),
        }
    }

    fn on_input(
        &mut self,
        process: &mut Process,
        input: &[u8],
        context: &mut Context<'_, Order>,
    ) -> Progress {
        let progress = match process {
            Process::New(connection) => connection.on_input(&mut self.0, input, context),
            Process::Http2(connection) => connection.on_input(&mut self.0, input, context),
            Process::Stream(stream) => stream.on_input(&mut self.0, input, context),
        };
        Progress { next: self.changed(process, progress.next, context), ..progress }
    }

    fn on_event(
        &mut self,
        process: &mut Process,
        event: Event,
        context: &mut Context<'_, Order>,
    ) -> Next {
        match process {
            Process::New(connection) => connection.on_event(&mut self.0, event, context),
            Process::Http2(connection) => connection.on_event(&mut self.0, event, context),
            Process::Stream(stream) => stream.on_event(&mut self.0, event, context),
        }
    }

    fn on_cold_file(
        &mut self,
        _: &Process,
        region: &FileRegion,
        context: &mut Context<'_, Order>,
    ) -> bool {
        self.0.warm(region, context)
    }

    fn on_close(&mut self, process: Process, reason: CloseReason) {
        match process {
            Process::New(connection) => connection.on_close(&mut self.0, reason),
            Process::Http2(_) => {}
            Process::Stream(stream) => stream.on_close(&mut self.0, reason),
        }
    }

    fn on_message(
        &mut self,
        from: Endpoint,
        message: Order,
        context: &mut ServiceContext<'_, Order>,
    ) {
        self.0.on_message(from, message, context);
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, Order>) {
        self.0.on_turn_end(context);
    }
}
