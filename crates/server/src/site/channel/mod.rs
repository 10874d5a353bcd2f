//! Channels over HTTP: POST publishes to `/channels/NAME`; a WebSocket, an event stream or a long
//! poll reads it.
//!
//! Owns which of these a request wants, which sites browsers may come from, and what the client may
//! do. WebSockets and event streams become separate processes, in `conn`.

mod answers;
mod programs;
mod publishing;
mod reading;

use channels::{
    ChannelRefusal, ChannelScope, Credential, NameProblem, Rights, RuleNumber, Ruling,
    SubscribeRight, TokenProblem, check_name,
};
use config::route::FoundRoute;
use http::{Answer, Request};
use pages::{KeptRequest, RequestedAction};
use wire::http::method::Method;
use wire::http::status::Status;
use wire::http::target::query_pairs;
use wire::limits::QUERY_PAIRS_MAXIMUM;

pub(super) use self::answers::answer_handshake_problem;
pub(crate) use self::answers::members_object;
use self::answers::{answer_json, answer_preflight, refuse};
pub(crate) use self::publishing::wish_of;
use super::Site;
use super::asking::{Question, Veto, Withheld};
use super::exchange::{Exchange, allow};
use super::orders::KeyProblem;
use super::upgraded::Upgraded;
use crate::limits::KEPT_REQUEST_SIZE;
use crate::message::AnswerContext;
use crate::origin::{Origin, origin_of};
use crate::program_keys::bearer_of;

/// The methods of channels.
const CHANNEL_METHODS: &str = "GET, POST, OPTIONS";

/// The channel in the path of a route of channels, behind its first segment; an empty name stands for all channels.
pub(super) fn channel_in(path: &str) -> &str {
    path.splitn(3, '/').nth(2).unwrap_or_default()
}

/// Why a request for a channel is not answered.
enum Refused {
    Name(NameProblem),
    Origin,
    Token(TokenProblem),
    Key(KeyProblem),
    NoProgram,
    Orders(String),
    Json(String),
    Query(String),
    Rules(ChannelRefusal),
    Module(Veto),
    Head,
}

impl Refused {
    fn status(&self) -> Status {
        match self {
            Self::Name(_) | Self::Json(_) | Self::Key(_) | Self::Orders(_) | Self::Query(_) => {
                Status::BAD_REQUEST
            }
            Self::Rules(ChannelRefusal::Unknown) => Status::NOT_FOUND,
            Self::Token(_) | Self::NoProgram | Self::Rules(ChannelRefusal::NoToken) => {
                Status::UNAUTHORIZED
            }
            Self::Origin | Self::Rules(ChannelRefusal::Denied | ChannelRefusal::NoCertificate) => {
                Status::FORBIDDEN
            }
            Self::Rules(ChannelRefusal::TooLarge) => Status::CONTENT_TOO_LARGE,
            Self::Rules(ChannelRefusal::TooOften) => Status::TOO_MANY_REQUESTS,
            Self::Rules(
                ChannelRefusal::Full | ChannelRefusal::Busy | ChannelRefusal::Unconfirmed,
            ) => Status::SERVICE_UNAVAILABLE,
            Self::Module(veto) => veto.status,
            Self::Head => Status::REQUEST_HEADER_FIELDS_TOO_LARGE,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Name(problem) => problem.to_string(),
            Self::Origin => {
                "pages of other sites may not do this, except those in `origins` of [channels]"
                    .to_owned()
            }
            Self::Token(problem) => problem.to_string(),
            Self::Key(problem) => problem.to_string(),
            Self::NoProgram => "orders are for programs with one of `api_keys`".to_owned(),
            Self::Orders(problem) | Self::Query(problem) => problem.clone(),
            Self::Json(problem) => format!("the body is not JSON: {problem}"),
            Self::Rules(refusal) => refusal.to_string(),
            Self::Module(veto) => veto.why.clone(),
            Self::Head => {
                format!(
                    "a request of more than {KEPT_REQUEST_SIZE} bytes is not kept for the module of a channel"
                )
            }
        }
    }

    /// The challenge that says how to authenticate (RFC 6750, section 3).
    fn challenge(&self) -> Option<&'static str> {
        match self {
            Self::Token(_) => Some("Bearer error=\"invalid_token\""),
            Self::NoProgram | Self::Rules(ChannelRefusal::NoToken) => Some("Bearer"),
            Self::Module(veto) if veto.status == Status::UNAUTHORIZED => Some("Bearer"),
            _ => None,
        }
    }
}

/// Refuses a page of a site that may not do this.
pub(super) fn refuse_origin(origin: &Origin<'_>, exchange: &mut Exchange<'_, '_>) -> Answer {
    refuse(&Refused::Origin, origin, exchange)
}

impl Site {
    /// The protocol to which the connection changes whose request was just answered.
    pub(crate) fn take_upgraded(&mut self) -> Option<Upgraded> {
        self.underway.take_upgraded()
    }

    /// Answers a request for a channel, or lets it wait.
    pub(super) fn answer_channel(
        &mut self,
        query: Option<&[u8]>,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let name = channel_in(&found.path);
        let answer = self.answer_asked(name, query, found, exchange, context);
        if !matches!(answer, Answer::Wait) {
            // A result it waited for must not be given to the next request of the connection, even if a token has
            // expired meanwhile.
            self.local.channels().forget(context.id);
            self.underway.forget_orders(context.id);
        }
        answer
    }

    fn answer_asked(
        &mut self,
        name: &str,
        query: Option<&[u8]>,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let origin = origin_of(exchange.request, &self.data.config.channel_settings.origins);
        if matches!(origin, Origin::Strange) {
            return refuse(&Refused::Origin, &origin, exchange);
        }
        if exchange.request.method() == Method::Options {
            return answer_preflight(&origin, exchange);
        }
        let rights = match self.rights_shown(exchange.request, query, context.now.unix_seconds) {
            Ok(rights) => rights,
            Err(problem) => return refuse(&Refused::Token(problem), &origin, exchange),
        };
        match exchange.request.method() {
            Method::Get if exchange.request.head.upgrade.is_some() => {
                self.answer_socket((name, query), rights, &origin, (exchange, found), context)
            }
            Method::Post if name.is_empty() => {
                self.answer_orders(&rights, &origin, exchange, context)
            }
            Method::Get if name.is_empty() => {
                let status = Status::UPGRADE_REQUIRED;
                answer_json(
                    status,
                    "{\"error\":\"this path is for a WebSocket\"}",
                    &origin,
                    exchange,
                )
            }
            Method::Get => {
                self.answer_reader((name, query), rights, &origin, (exchange, found), context)
            }
            Method::Post => {
                self.answer_publish((name, query), &rights, &origin, (exchange, found), context)
            }
            _ => {
                let status = Status::METHOD_NOT_ALLOWED;
                self.refuse(status, &allow(CHANNEL_METHODS), found, exchange, context)
            }
        }
    }

    /// Whether the rules let a reader of a channel begin.
    fn may_read<'r>(
        &self,
        name: &'r str,
        rights: &'r Rights,
    ) -> Result<Ruling<SubscribeRight<'r>>, Refused> {
        check_name(name.as_bytes()).map_err(Refused::Name)?;
        let ruling = self.local.channels().may_subscribe(name, ChannelScope::Configured, rights);
        ruling.map_err(Refused::Rules)
    }

    /// Asks the module of a channel, which these rules name, about a request.
    fn ask_about(
        &mut self,
        (channel, rule, query): (&str, RuleNumber, Option<&[u8]>),
        wish: RequestedAction<'_>,
        rights: &Rights,
        (request, found): (&Request<'_>, &FoundRoute<'_>),
        context: &AnswerContext<'_>,
    ) -> Result<(), Withheld> {
        let kept = KeptRequest::of(request, query, self.data.config.site_name(found.host));
        let process = context.id;
        let question = Question { process, channel, rule, wish, rights, request: &kept };
        self.ask(question, (context.now, context.mail.endpoint()))
    }

    /// The credential that a client shows: a key or a token.
    pub(crate) fn read_shown(
        &self,
        text: &[u8],
        unix_seconds: u64,
    ) -> Result<Credential, TokenProblem> {
        self.data.channel_keys.read_shown(text, unix_seconds)
    }

    /// Whether a request has the key of a program.
    fn is_program(&self, request: &Request<'_>) -> bool {
        bearer_of(request).is_some_and(|shown| self.data.channel_keys.is_program(shown))
    }

    /// Whether any key is configured with which a client could authenticate.
    pub(crate) fn has_channel_keys(&self) -> bool {
        self.data.channel_keys.are_there()
    }

    /// The rights of a client by the certificate of its connection, and by the key or token in a request:
    /// `Authorization: Bearer`, or `token` in the query, because browsers let a page send no field with an event stream
    /// or a WebSocket (RFC 6750, sections 2.1 and 2.3).
    pub(in crate::site) fn rights_shown(
        &self,
        request: &Request<'_>,
        query: Option<&[u8]>,
        unix_seconds: u64,
    ) -> Result<Rights, TokenProblem> {
        let mut pairs = query_pairs(query.unwrap_or_default(), QUERY_PAIRS_MAXIMUM);
        let shown = if let Some(text) = bearer_of(request) {
            self.read_shown(text, unix_seconds)?
        } else if let Some((_, text)) = pairs.find(|(name, _)| **name == *b"token") {
            self.read_shown(&text, unix_seconds)?
        } else {
            Credential::Nothing
        };
        Ok(Rights::new(shown, request.secured.map(|agreed| &**agreed)))
    }
}
