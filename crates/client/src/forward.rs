//! Requests that are passed on: to a server that is known, with a head that their requester writes.
//!
//! Owns the difference to a [`OutgoingRequest`](crate::OutgoingRequest): there is no URL to read and no rule about what
//! it may reach, because the server is one of the configuration. Never decides what is passed on.

use std::rc::Rc;

use tls::Connector;

use crate::body::{ContinueWait, OutgoingBody};
use crate::client::Client;
use crate::deadlines::Deadlines;
use crate::exchange::{Exchange, Terms};
use crate::failure::ExchangeFailure;
use crate::head::HeadWriter;
use crate::id::{ExchangeId, Requester};
use crate::origin::{Destination, OriginTransport, ServerOrigin};
use crate::outgoing::Outgoing;
use crate::reach::Anywhere;
use crate::request::{AnswerTo, Repeatable};
use crate::url::UrlError;

/// A server that requests are passed on to.
#[derive(Clone, Debug)]
pub struct ForwardTarget(Rc<Destination>);

impl ForwardTarget {
    /// A server, with the certificates that are trusted and shown there, and the name that its certificate must have
    /// if that is not its address.
    ///
    /// # Errors
    /// If it is encrypted and there is nothing to know its certificate by, or its name is none.
    pub fn new(
        origin: ServerOrigin,
        connector: Option<Connector>,
        server_name: Option<&str>,
    ) -> Result<Self, ExchangeFailure> {
        let connector = match origin.transport {
            OriginTransport::Plain => None,
            OriginTransport::Encrypted => Some(connector.ok_or(ExchangeFailure::NoAuthorities)?),
        };
        let destination = Destination::checked(origin, connector, server_name.map(Into::into));
        destination.map(|it| Self(Rc::new(it))).ok_or(ExchangeFailure::Url(UrlError::Host))
    }
}

impl ForwardTarget {
    /// The same server, which is known to speak HTTP/2 on plain connections. Requests for another protocol use
    /// HTTP/1.1.
    #[must_use]
    pub fn with_prior_knowledge(self) -> Self {
        Self(Rc::new(Rc::unwrap_or_clone(self.0).with_prior_knowledge()))
    }
}

/// A request that is passed on.
#[derive(Clone, Debug)]
pub struct Forward {
    /// The server.
    pub to: ForwardTarget,
    /// The method, one of RFC 9110, 9.3 without CONNECT and TRACE, or PATCH.
    pub method: &'static str,
    /// Request line and fields.
    pub head: HeadWriter,
    /// The body.
    pub body: OutgoingBody,
    /// The protocol to go on with (RFC 9110, 7.8). Such a request is a GET without a body.
    pub upgrade: Option<String>,
    /// How long it may take.
    pub deadlines: Deadlines,
    /// The process that is told of news.
    pub requester: Requester,
    /// The bytes that its connection begins with, in front of any encryption: a PROXY header, which tells of one
    /// client. Such a connection serves this exchange alone.
    pub lead: Option<Rc<[u8]>>,
}

impl Client {
    /// Begins the exchange of a request that is passed on.
    ///
    /// # Errors
    /// If the request cannot be sent, or there are too many.
    pub fn forward(
        &mut self,
        forward: Forward,
        now_ns: u64,
    ) -> Result<ExchangeId, ExchangeFailure> {
        self.check_room()?;
        let Forward { to, method, head, body, upgrade, deadlines, requester, lead } = forward;
        if upgrade.is_some() && (method != "GET" || body != OutgoingBody::None) {
            return Err(ExchangeFailure::Method);
        }
        let answer_to = AnswerTo::of(method, upgrade.as_deref());
        let terms = Terms {
            to: to.0,
            reach: Rc::new(Anywhere),
            requester,
            repeatable: Repeatable::of(method, &body, answer_to),
            answer_to,
            deadlines,
            lead,
        };
        let head = head.end(method, &body, upgrade.as_deref(), ContinueWait::Nothing)?;
        let outgoing = Outgoing::of(head, body, answer_to, ContinueWait::Nothing);
        Ok(self.start(Exchange::new(terms, outgoing, now_ns), now_ns))
    }
}
