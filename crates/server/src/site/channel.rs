//! Channels over HTTP: `/channels/NAME` is published to by POST, and read by a WebSocket, an event stream, or a long poll.
//!
//! Owns which of them a request asks for, and from which sites browsers may. A WebSocket and an event stream become processes of their
//! own; what they say is `conn`'s.

use channels::limits::{POLL_MS, POLL_MS_MAX};
use channels::{
    Body, NameProblem, Outcome, Position, Published, Publisher, Refusal, Told, check_name,
};
use config::route::Found;
use http::{Answer, AnswerContext, BodyPolicy, Request};
use wire::http::method::Method;
use wire::http::status::Status;
use wire::http::target::query_pairs;
use wire::limits::QUERY_PAIRS_MAXIMUM;
use wire::websocket::{self, Problem};

use super::exchange::Exchange;
use super::origin::{Origin, origin_of, write_origin};
use super::state::Site;
use super::upgraded::Upgraded;
use crate::message::Message;

/// The path below which channels are.
const PREFIX: &str = "/channels";

/// The subprotocol of sockets that speak objects in JSON.
pub(crate) const JSON_PROTOCOL: &str = "velodrome.json";

/// The channel that a path names; an empty name for all channels together. `None`: it is none's.
pub(super) fn channel_in(path: &str) -> Option<&str> {
    let rest = path.strip_prefix(PREFIX)?;
    if rest.is_empty() { Some("") } else { rest.strip_prefix('/') }
}

/// What became of a request for a channel.
enum Refused {
    Name(NameProblem),
    Unknown,
    Origin,
    Json(String),
    Rules(Refusal),
}

impl Refused {
    fn status(&self) -> Status {
        match self {
            Self::Name(_) | Self::Json(_) => Status::BAD_REQUEST,
            Self::Unknown => Status::NOT_FOUND,
            Self::Origin | Self::Rules(Refusal::Denied) => Status::FORBIDDEN,
            Self::Rules(Refusal::TooLarge) => Status::CONTENT_TOO_LARGE,
            Self::Rules(Refusal::Full | Refusal::Busy) => Status::SERVICE_UNAVAILABLE,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Name(problem) => problem.to_string(),
            Self::Unknown => "no [[channel]] has a pattern for this name".to_owned(),
            Self::Origin => "pages of this origin may not use channels; see `origins`".to_owned(),
            Self::Json(problem) => format!("the body is not JSON: {problem}"),
            Self::Rules(refusal) => refusal.to_string(),
        }
    }
}

impl Site {
    /// The channel that a path names where there are channels.
    pub(super) fn channel_of<'p>(&self, path: &'p str) -> Option<&'p str> {
        if self.data.rulebook.is_empty() { None } else { channel_in(path) }
    }

    /// The body of a message is collected.
    pub(super) fn channel_body_policy(&self, request: &Request<'_>) -> Option<BodyPolicy> {
        let is_published = request.method() == Method::Post
            && self.channel_of(request.path()).is_some_and(|name| !name.is_empty());
        is_published
            .then_some(BodyPolicy::Collect { limit: config::limits::CHANNEL_MESSAGE_SIZE_MAX })
    }

    /// What the connection whose request was just answered becomes.
    pub(crate) fn take_upgraded(&mut self) -> Option<Upgraded> {
        self.upgraded.take()
    }

    /// Answers a request for a channel.
    pub(super) fn answer_channel(
        &mut self,
        name: &str,
        query: Option<&[u8]>,
        found: &Found<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        let origin = origin_of(exchange.request, &self.data.config.channel_origins);
        if matches!(origin, Origin::Strange) {
            return refuse(&Refused::Origin, &origin, exchange);
        }
        match exchange.request.method() {
            Method::Options => answer_preflight(&origin, exchange),
            Method::Get if exchange.request.head.upgrade.is_some() => {
                self.answer_socket(name, &origin, exchange)
            }
            Method::Get | Method::Post if name.is_empty() => {
                let status = Status::UPGRADE_REQUIRED;
                answer_json(
                    status,
                    "{\"error\":\"this path is for a WebSocket\"}",
                    &origin,
                    exchange,
                )
            }
            Method::Get => self.answer_reader(name, query, &origin, exchange, context),
            Method::Post => self.answer_publish(name, &origin, exchange, context),
            _ => {
                let status = Status::METHOD_NOT_ALLOWED;
                self.refuse(status, b"Allow: GET, POST, OPTIONS\r\n", found, exchange, context)
            }
        }
    }

    /// The name, if it is one of a channel that is configured.
    fn check_channel(&self, name: &str) -> Result<(), Refused> {
        check_name(name.as_bytes()).map_err(Refused::Name)?;
        self.data.rulebook.configured(name).map(drop).ok_or(Refused::Unknown)
    }

    fn check_reader(&self, name: &str) -> Result<(), Refused> {
        self.check_channel(name)?;
        let rules = self.data.rulebook.of(name);
        if rules.subscribe == channels::Access::Closed {
            return Err(Refused::Rules(Refusal::Denied));
        }
        Ok(())
    }

    fn answer_socket(
        &mut self,
        name: &str,
        origin: &Origin<'_>,
        exchange: &mut Exchange<'_, '_>,
    ) -> Answer {
        if !name.is_empty()
            && let Err(refused) = self.check_reader(name)
        {
            return refuse(&refused, origin, exchange);
        }
        let token = match websocket::check(exchange.request.head) {
            Ok(token) => token,
            Err(problem) => return answer_handshake_problem(problem, origin, exchange),
        };
        let speaks_json = offers_json(exchange.request);
        if !exchange.reply.switch_protocols("websocket") {
            let refused =
                "{\"error\":\"the last request of a connection cannot become a WebSocket\"}";
            return answer_json(Status::SERVICE_UNAVAILABLE, refused, origin, exchange);
        }
        exchange.reply.prepared_fields(b"Sec-WebSocket-Accept: ");
        exchange.reply.prepared_fields(&token);
        exchange.reply.prepared_fields(b"\r\n");
        if speaks_json {
            let _valid = exchange.reply.field("Sec-WebSocket-Protocol", JSON_PROTOCOL.as_bytes());
        }
        exchange.reply.end_head();
        self.upgraded = Some(match name {
            "" => Upgraded::JsonSocket(None),
            name if speaks_json => Upgraded::JsonSocket(Some(name.into())),
            name => Upgraded::Socket(name.into()),
        });
        Answer::Upgrade
    }

    /// An event stream where the client asks for one, else a long poll.
    fn answer_reader(
        &mut self,
        name: &str,
        query: Option<&[u8]>,
        origin: &Origin<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        if let Err(refused) = self.check_reader(name) {
            return refuse(&refused, origin, exchange);
        }
        let wanted = Wanted::of(exchange.request, query);
        if wants_events(exchange.request) {
            exchange.reply.close();
            exchange.reply.begin(Status::OK);
            exchange.configured_fields_but(|field| field.eq_ignore_ascii_case("cache-control"));
            write_origin(origin, exchange.reply);
            exchange.reply.prepared_fields(
                b"Content-Type: text/event-stream\r\nCache-Control: no-cache\r\nX-Accel-Buffering: no\r\n",
            );
            exchange.reply.end_head();
            self.upgraded = Some(Upgraded::Events(name.into(), wanted.since));
            return Answer::Upgrade;
        }
        if !self.data.rulebook.of(name).history.keeps() {
            let told = "{\"error\":\"a long poll needs a channel with a history; ask for text/event-stream, or set `history`\"}";
            return answer_json(Status::NOT_ACCEPTABLE, told, origin, exchange);
        }
        let times = (context.now.monotonic_ms(), wanted.wait_ms);
        match self.channels.poll(name, wanted.since, context.id, times) {
            Ok(Some(messages)) => {
                let text = String::from_utf8_lossy(&messages);
                answer_json(Status::OK, &text, origin, exchange)
            }
            Ok(None) => Answer::Wait,
            Err(refusal) => refuse(&Refused::Rules(refusal), origin, exchange),
        }
    }

    fn answer_publish(
        &mut self,
        name: &str,
        origin: &Origin<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        let result = match self.channels.outcome(context.id) {
            Outcome::Awaited => return Answer::Wait,
            Outcome::Known(result) => result.map_err(Refused::Rules),
            Outcome::None => match self.publish(name, exchange.request, context) {
                Ok(Some(published)) => Ok(published),
                Ok(None) => return Answer::Wait,
                Err(refused) => Err(refused),
            },
        };
        match result {
            Ok(Published { position, receivers }) => {
                let told = format!("{{\"since\":\"{position}\",\"receivers\":{receivers}}}");
                answer_json(Status::OK, &told, origin, exchange)
            }
            Err(refused) => refuse(&refused, origin, exchange),
        }
    }

    fn publish(
        &mut self,
        name: &str,
        request: &Request<'_>,
        context: &AnswerContext<'_, Message>,
    ) -> Result<Option<Published>, Refused> {
        self.check_channel(name)?;
        let media = request.field("content-type").unwrap_or_default();
        let media = media.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        let body = if media.eq_ignore_ascii_case(b"application/json") {
            Body::of_json(request.body).map_err(|problem| Refused::Json(problem.to_string()))?
        } else if media.eq_ignore_ascii_case(b"application/octet-stream") {
            Body::of_binary(request.body)
        } else {
            Body::of_bytes(request.body)
        };
        let publisher = Publisher { process: context.id, told: Told::ByResuming };
        let published =
            self.channels.publish(name, body, Some(publisher), context.now.monotonic_ms());
        published.map_err(Refused::Rules)
    }
}

/// What a reader asks for besides the channel.
struct Wanted {
    since: Option<Position>,
    wait_ms: u64,
}

impl Wanted {
    /// Of the query; `Last-Event-ID`, which a browser sends when it comes back, goes before it (HTML, section 9.2.4).
    fn of(request: &Request<'_>, query: Option<&[u8]>) -> Self {
        let mut wanted = Self { since: None, wait_ms: POLL_MS };
        let position = |text: &[u8]| str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        for (name, value) in query_pairs(query.unwrap_or_default(), QUERY_PAIRS_MAXIMUM) {
            match &*name {
                // A position that is none is one of another life of the channel: the client is told that messages were lost.
                b"since" => {
                    let none = Position { epoch: 0, offset: u64::MAX };
                    wanted.since = Some(position(&value).unwrap_or(none));
                }
                b"wait" => {
                    let seconds =
                        str::from_utf8(&value).ok().and_then(|text| text.parse::<u64>().ok());
                    let wait_ms = seconds.map_or(POLL_MS, |seconds| seconds.saturating_mul(1000));
                    wanted.wait_ms = wait_ms.min(POLL_MS_MAX);
                }
                _ => {}
            }
        }
        if let Some(id) = request.field("last-event-id").filter(|id| !id.is_empty()) {
            wanted.since = Some(position(id).unwrap_or(Position { epoch: 0, offset: u64::MAX }));
        }
        wanted
    }
}

fn wants_events(request: &Request<'_>) -> bool {
    let mut accepted = request.head.fields.all("accept");
    accepted.any(|value| {
        let mut types = value.split(|byte| *byte == b',');
        types.any(|media| {
            let media = media.split(|byte| *byte == b';').next().unwrap_or_default();
            media.trim_ascii().eq_ignore_ascii_case(b"text/event-stream")
        })
    })
}

fn offers_json(request: &Request<'_>) -> bool {
    let mut offered = request.head.fields.all("sec-websocket-protocol");
    offered.any(|value| {
        let mut names = value.split(|byte| *byte == b',');
        names.any(|name| name.trim_ascii() == JSON_PROTOCOL.as_bytes())
    })
}

/// A browser asks whether a page of another site may (Fetch, section 4.8).
fn answer_preflight(origin: &Origin<'_>, exchange: &mut Exchange<'_, '_>) -> Answer {
    exchange.reply.begin(Status::NO_CONTENT);
    exchange.configured_fields();
    write_origin(origin, exchange.reply);
    exchange.reply.prepared_fields(b"Allow: GET, POST, OPTIONS\r\n");
    if matches!(origin, Origin::Allowed(_)) {
        exchange.reply.prepared_fields(
            b"Access-Control-Allow-Methods: GET, POST\r\n\
            Access-Control-Allow-Headers: Content-Type, Last-Event-ID\r\nAccess-Control-Max-Age: 600\r\n",
        );
    }
    exchange.reply.end_head();
    Answer::Done
}

fn answer_handshake_problem(
    problem: Problem,
    origin: &Origin<'_>,
    exchange: &mut Exchange<'_, '_>,
) -> Answer {
    let (status, text) = match problem {
        Problem::NotAsked => (Status::BAD_REQUEST, "Upgrade is not websocket"),
        Problem::Version => (Status::UPGRADE_REQUIRED, "Sec-WebSocket-Version is not 13"),
        Problem::Key => (Status::BAD_REQUEST, "Sec-WebSocket-Key is not 16 bytes in base64"),
    };
    answer_json(status, &format!("{{\"error\":\"{text}\"}}"), origin, exchange)
}

fn refuse(refused: &Refused, origin: &Origin<'_>, exchange: &mut Exchange<'_, '_>) -> Answer {
    let text = serde_json::Value::String(refused.text());
    answer_json(refused.status(), &format!("{{\"error\":{text}}}"), origin, exchange)
}

fn answer_json(
    status: Status,
    text: &str,
    origin: &Origin<'_>,
    exchange: &mut Exchange<'_, '_>,
) -> Answer {
    exchange.reply.begin(status);
    exchange.configured_fields_but(|field| field.eq_ignore_ascii_case("cache-control"));
    write_origin(origin, exchange.reply);
    if status == Status::UPGRADE_REQUIRED {
        // RFC 9110 section 15.5.22 and RFC 6455 section 4.4.
        let _valid = exchange.reply.field("Upgrade", b"websocket");
        let _valid =
            exchange.reply.field("Sec-WebSocket-Version", websocket::SUPPORTED_VERSION.as_bytes());
    }
    if status == Status::SERVICE_UNAVAILABLE {
        exchange.reply.prepared_fields(b"Retry-After: 1\r\n");
    }
    exchange
        .reply
        .prepared_fields(b"Content-Type: application/json\r\nCache-Control: no-store\r\n");
    exchange.reply.end_head_with_length(text.len() as u64);
    exchange.reply.body(text.as_bytes());
    Answer::Done
}
