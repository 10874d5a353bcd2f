//! HTTP connections as the processes of a service.
//!
//! Owns which call each event of a connection becomes. Never keeps state: [`Http`] has what
//! connections share.

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
use super::shared::Http;

impl<A: Application> Service for Http<A> {
    type Process = Connection;
    type Message = A::Message;

    const KINDS: &'static [&'static str] = &["http"];

    fn kind(_connection: &Connection) -> usize {
        0
    }

    fn is_idle(connection: &Connection) -> bool {
        connection.is_idle()
    }

    #[inline]
    fn held_bytes(connection: &Connection) -> usize {
        connection.held_bytes()
    }

    fn client(connection: &Connection) -> Option<IpAddr> {
        Some(connection.client())
    }

    fn is_beginning(connection: &Connection) -> bool {
        connection.is_beginning()
    }

    fn on_accept(
        &mut self,
        listener: ListenerIndex,
        peer: Peer,
        context: &mut Context<'_, A::Message>,
    ) -> Option<Connection> {
        Connection::new(self, listener, peer, context)
    }

    fn transport(&mut self, beginning: Beginning) -> Option<Box<dyn Transport>> {
        match beginning {
            Beginning::Accepted { listener, .. } => self.application_mut().transport(listener),
            Beginning::Connecting { .. } => None,
        }
    }

    fn on_agreed(
        &mut self,
        connection: &mut Connection,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        connection.on_agreed(self, context)
    }

    #[inline]
    fn on_input(
        &mut self,
        connection: &mut Connection,
        input: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        let mut progress = connection.on_input(self, input, context);
        progress.next = alone(progress.next);
        progress
    }

    fn on_event(
        &mut self,
        connection: &mut Connection,
        event: Event,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        alone(connection.on_event(self, event, context))
    }

    fn on_cold_file(
        &mut self,
        _connection: &Connection,
        region: &FileRegion,
        context: &mut Context<'_, A::Message>,
    ) -> bool {
        self.warm(region, context)
    }

    fn on_close(&mut self, connection: Connection, reason: CloseReason) {
        connection.on_close(self, reason);
    }

    fn on_start(&mut self, context: &mut ServiceContext<'_, A::Message>) {
        A::on_start(self, context);
    }

    fn on_message(
        &mut self,
        from: Endpoint,
        message: A::Message,
        context: &mut ServiceContext<'_, A::Message>,
    ) {
        A::on_message(self, from, message, context);
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, A::Message>) {
        self.settle(context);
        A::on_turn_end(self, context);
    }

    fn on_stop(&mut self, context: &mut ServiceContext<'_, A::Message>) {
        self.settle(context);
        A::on_stop(self, context);
    }
}

/// A service of HTTP alone has no other protocol that a connection could change to, so the connection ends.
#[inline]
pub(super) fn alone(next: Next) -> Next {
    if next == Next::Changed { Next::Linger } else { next }
}
