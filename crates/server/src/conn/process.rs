//! The processes of a scheduler: a closed enum, one variant for each kind of connection.
//!
//! Owns the choice of the process an event is for. Knows nothing of protocols.

use http::Connection;
use pages::fetch::Outbound;
use runtime::service::{CloseReason, Context, Event, Next, Progress};

use super::Connections;
use crate::message::Message;

/// A process of a scheduler.
#[derive(Debug)]
pub enum Process {
    /// A client's connection that speaks HTTP/1.1.
    Http(Connection),
    /// A connection to another server.
    Outbound(Box<Outbound>),
}

// A slot holds any of them, and there may be a million of the first kind. A larger state is boxed.
const _: () = assert!(size_of::<Process>() <= 48);

impl Process {
    /// The kinds, for statistics.
    pub(super) const KINDS: &'static [&'static str] = &["http", "outbound"];

    /// Which of them it is.
    #[inline]
    pub(super) fn kind(&self) -> usize {
        match self {
            Self::Http(_) => 0,
            Self::Outbound(_) => 1,
        }
    }

    /// Whether it does nothing now.
    pub(super) fn is_idle(&self) -> bool {
        match self {
            Self::Http(connection) => connection.is_idle(),
            Self::Outbound(outbound) => outbound.is_idle(),
        }
    }

    /// Whether the client has begun something whose rest has not come.
    pub(super) fn is_beginning(&self) -> bool {
        matches!(self, Self::Http(connection) if connection.is_beginning())
    }

    #[inline]
    pub(super) fn on_input(
        &mut self,
        connections: &mut Connections,
        input: &[u8],
        context: &mut Context<'_, Message>,
    ) -> Progress {
        match self {
            Self::Http(connection) => connection.on_input(&mut connections.http, input, context),
            Self::Outbound(outbound) => outbound.on_input(&mut connections.client, input, context),
        }
    }

    pub(super) fn on_event(
        &mut self,
        connections: &mut Connections,
        event: Event,
        context: &mut Context<'_, Message>,
    ) -> Next {
        match self {
            Self::Http(connection) => connection.on_event(&mut connections.http, event, context),
            Self::Outbound(outbound) => outbound.on_event(&mut connections.client, event, context),
        }
    }

    pub(super) fn on_close(self, connections: &mut Connections, reason: CloseReason) {
        match self {
            Self::Http(connection) => connection.on_close(&mut connections.http, reason),
            Self::Outbound(outbound) => outbound.on_close(&mut connections.client, reason),
        }
    }
}
