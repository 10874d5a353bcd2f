//! The processes of the HTTP service: connections of clients, and its own to other servers.
//!
//! Owns which of the two an event is for. Knows nothing of either.

use runtime::service::{CloseReason, Context, Event, Next, Progress};

use super::application::Application;
use super::connection::Connection;
use super::service::Http;
use crate::fetch::Outbound;

/// A process of the HTTP service.
#[derive(Debug)]
pub enum Process {
    /// A client's connection.
    Connection(Connection),
    /// A connection to another server.
    Outbound(Box<Outbound>),
}

// A slot holds either, and there may be a million of the first kind.
const _: () = assert!(size_of::<Process>() <= 48);

impl Process {
    /// The kinds, for statistics.
    pub(super) const KINDS: &'static [&'static str] = &["http", "outbound"];

    /// Which of them it is.
    #[inline]
    pub(super) fn kind(&self) -> usize {
        match self {
            Self::Connection(_) => 0,
            Self::Outbound(_) => 1,
        }
    }

    /// Whether it does nothing now.
    pub(super) fn is_idle(&self) -> bool {
        match self {
            Self::Connection(connection) => connection.is_idle(),
            Self::Outbound(outbound) => outbound.is_idle(),
        }
    }

    /// Whether a head has begun and is not there.
    pub(super) fn is_beginning(&self) -> bool {
        matches!(self, Self::Connection(connection) if connection.is_beginning())
    }

    #[inline]
    pub(super) fn on_input<A: Application>(
        &mut self,
        http: &mut Http<A>,
        input: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        match self {
            Self::Connection(connection) => connection.on_input(http, input, context),
            Self::Outbound(outbound) => outbound.on_input(http.client_mut(), input, context),
        }
    }

    pub(super) fn on_event<A: Application>(
        &mut self,
        http: &mut Http<A>,
        event: Event,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        match self {
            Self::Connection(connection) => connection.on_event(http, event, context),
            Self::Outbound(outbound) => outbound.on_event(http.client_mut(), event, context),
        }
    }

    pub(super) fn on_close<A: Application>(self, http: &mut Http<A>, reason: CloseReason) {
        match self {
            Self::Connection(mut connection) => connection.leave(http),
            Self::Outbound(outbound) => outbound.on_close(http.client_mut(), reason),
        }
    }
}
