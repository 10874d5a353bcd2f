//! Readers of a channel: a WebSocket, an event stream, a long poll.
//!
//! Owns what each of them requests, and the head of its answer. The first two become separate
//! processes.

use channels::limits::{POLL_MS, POLL_MS_MAX};
use channels::{Position, Rights, RuleNumber, Ruling, SubscribeRight};
use config::route::FoundRoute;
use http::{Answer, FieldList, Request};
use pages::{KeptRequest, RequestedAction};
use wire::http::accept;
use wire::http::status::Status;
use wire::http::target::query_pairs;
use wire::limits::QUERY_PAIRS_MAXIMUM;
use wire::websocket::{self, Extension};

use super::Refused;
use super::answers::{answer_handshake_problem, answer_json, refuse};
use crate::limits::KEPT_REQUEST_SIZE;
use crate::message::AnswerContext;
use crate::origin::{Origin, write_origin};
use crate::site::Site;
use crate::site::asking::Withheld;
use crate::site::exchange::Exchange;
use crate::site::upgraded::{Upgrade, Upgraded};

/// The subprotocol of WebSockets with JSON objects.
const JSON_PROTOCOL: &str = "velodrome.json";

impl Site {
    pub(super) fn answer_socket(
        &mut self,
        (name, query): (&str, Option<&[u8]>),
        rights: Rights,
        origin: &Origin<'_>,
        (exchange, found): (&mut Exchange<'_, '_>, &FoundRoute<'_>),
        context: &AnswerContext<'_>,
    ) -> Answer {
        let ruling = match name {
            "" => None,
            name => match self.may_read(name, &rights) {
                Ok(ruling) => Some(ruling),
                Err(refused) => return refuse(&refused, origin, exchange),
            },
        };
        let token = match websocket::check(exchange.request.head) {
            Ok(token) => token,
            Err(problem) => return answer_handshake_problem(problem, origin, exchange),
        };
        let mut kept = None;
        if self.asks() {
            let site = self.data.config.site_name(found.host);
            let request = KeptRequest::of(exchange.request, query, site);
            if request.size() > KEPT_REQUEST_SIZE {
                return refuse(&Refused::Head, origin, exchange);
            }
            kept = Some(Box::new(request));
        }
        let mut right = None;
        if let Some(ruling) = ruling {
            let asked = (exchange.request, found);
            match self.may_begin((name, query), (&rights, ruling), asked, context) {
                Some(Ok(begins)) => right = Some(begins.keep()),
                Some(Err(refused)) => return refuse(&refused, origin, exchange),
                None => return Answer::Wait,
            }
        }
        let speaks_json = offers_json(exchange.request);
        if !exchange.begin_socket(token) {
            let refused =
                "{\"error\":\"the last request of a connection cannot become a WebSocket\"}";
            return answer_json(Status::SERVICE_UNAVAILABLE, refused, origin, exchange);
        }
        if speaks_json {
            let _valid = exchange.reply.field("Sec-WebSocket-Protocol", JSON_PROTOCOL.as_bytes());
        }
        let extension = self.write_extension(exchange);
        exchange.reply.end_head();
        let to = match right {
            Some(right) if !speaks_json => Upgrade::Socket(right),
            right => Upgrade::JsonSocket(right),
        };
        let address = exchange.request.peer.address;
        self.underway.upgrade(Upgraded { to, rights, address, request: kept, extension });
        Answer::Upgrade
    }

    /// Whether a reader may begin: its channel's module allows it, and a long poll needs nothing else. The others are
    /// answered when every message from then on reaches them. `None`: that comes later.
    fn may_begin<'r>(
        &mut self,
        (name, query): (&str, Option<&[u8]>),
        (rights, ruling): (&Rights, Ruling<SubscribeRight<'r>>),
        (request, found): (&Request<'_>, &FoundRoute<'_>),
        context: &AnswerContext<'_>,
    ) -> Option<Result<SubscribeRight<'r>, Refused>> {
        let decided = ruling.decide(|rule| {
            if self.local.channels().is_polling(context.id) {
                // One that waits for its channel was already allowed.
                return Ok(());
            }
            let (channel, wish) = ((name, rule, query), RequestedAction::Subscribe);
            self.ask_about(channel, wish, rights, (request, found), context)
        });
        let right = match decided {
            Ok(right) => right,
            Err(Withheld::Refused(veto)) => return Some(Err(Refused::Module(veto))),
            Err(Withheld::Undecided) => return None,
        };
        if request.head.upgrade.is_none() && !wants_events(request) {
            return Some(Ok(right));
        }
        match self.local.channels().is_ready(&right, context.id) {
            Ok(true) => Some(Ok(right)),
            Ok(false) => None,
            Err(refusal) => Some(Err(Refused::Rules(refusal))),
        }
    }

    /// Whether messages of channels with these rules can be asked for later.
    pub(super) fn keeps_history(&self, rule: RuleNumber) -> bool {
        self.data.rulebook.policy(rule).is_some_and(|rules| rules.history.keeps())
    }

    /// Accepts compressed messages, if they are configured and the client offers them.
    pub(in crate::site) fn write_extension(&self, exchange: &mut Exchange<'_, '_>) -> Extension {
        let offers = exchange.request.head.fields.all("sec-websocket-extensions");
        let is_on = self.data.config.channel_settings.compress;
        match is_on.then(|| websocket::answer_to(offers)).flatten() {
            Some(answer) => {
                let _valid = exchange.reply.field("Sec-WebSocket-Extensions", answer.as_bytes());
                Extension::Deflate
            }
            None => Extension::None,
        }
    }

    /// An event stream if the client asks for one, otherwise a long poll.
    pub(super) fn answer_reader(
        &mut self,
        (name, query): (&str, Option<&[u8]>),
        rights: Rights,
        origin: &Origin<'_>,
        (exchange, found): (&mut Exchange<'_, '_>, &FoundRoute<'_>),
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let ruling = match self.may_read(name, &rights) {
            Ok(ruling) => ruling,
            Err(refused) => return refuse(&refused, origin, exchange),
        };
        let wanted = match Wanted::of(exchange.request, query) {
            Ok(wanted) => wanted,
            Err(refused) => return refuse(&refused, origin, exchange),
        };
        let asked = (exchange.request, found);
        let right = match self.may_begin((name, query), (&rights, ruling), asked, context) {
            Some(Ok(right)) => right,
            Some(Err(refused)) => return refuse(&refused, origin, exchange),
            None => return Answer::Wait,
        };
        if wants_events(exchange.request) {
            exchange.reply.close();
            exchange.reply.begin(Status::OK);
            exchange.configured_fields_but(|field| field.eq_ignore_ascii_case("cache-control"));
            write_origin(origin, exchange.reply);
            let fields = FieldList::of(&[
                ("Content-Type", "text/event-stream"),
                ("Cache-Control", "no-cache"),
                ("X-Accel-Buffering", "no"),
            ]);
            exchange.reply.fields(fields.fields());
            exchange.reply.end_head();
            let to = Upgrade::Events(right.keep(), wanted.since);
            let address = exchange.request.peer.address;
            let extension = Extension::None;
            self.underway.upgrade(Upgraded { to, rights, address, request: None, extension });
            return Answer::Upgrade;
        }
        if !self.keeps_history(right.rule()) {
            let told = "{\"error\":\"a long poll needs a channel with a history; ask for text/event-stream, \
                        or set `history`\"}";
            return answer_json(Status::NOT_ACCEPTABLE, told, origin, exchange);
        }
        let times = (context.now.monotonic_ms(), wanted.wait_ms);
        match self.local.channels().poll(&right, wanted.since, context.id, times) {
            Ok(Some(messages)) => {
                let text = String::from_utf8_lossy(&messages);
                answer_json(Status::OK, &text, origin, exchange)
            }
            Ok(None) => Answer::Wait,
            Err(refusal) => refuse(&Refused::Rules(refusal), origin, exchange),
        }
    }
}

/// The parameters of a reader, besides the channel.
struct Wanted {
    since: Option<Position>,
    wait_ms: u64,
}

impl Wanted {
    /// From the query. `Last-Event-ID`, which a browser sends when it reconnects, takes precedence (HTML, section
    /// 9.2.4).
    fn of(request: &Request<'_>, query: Option<&[u8]>) -> Result<Self, Refused> {
        let mut wanted = Self { since: None, wait_ms: POLL_MS };
        let position = |text: &[u8]| str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        for (name, value) in query_pairs(query.unwrap_or_default(), QUERY_PAIRS_MAXIMUM) {
            match &*name {
                b"since" => wanted.since = Some(position(&value).unwrap_or(Position::UNKNOWN)),
                b"wait" => {
                    let why = "`wait` is a number of seconds, such as 25 or 0.5".to_owned();
                    wanted.wait_ms = wait_ms(&value).ok_or(Refused::Query(why))?;
                }
                _ => {}
            }
        }
        if let Some(id) = request.field("last-event-id").filter(|id| !id.is_empty()) {
            wanted.since = Some(position(id).unwrap_or(Position::UNKNOWN));
        }
        Ok(wanted)
    }
}

/// An event stream must be asked for by its name. A client that likes JSON better gets that.
fn wants_events(request: &Request<'_>) -> bool {
    let fit = |media| accept::fit(request.head.fields.all("accept"), media);
    let (events, json) = (fit(("text", "event-stream")), fit(("application", "json")));
    events.is_asked_for() && !(json.is_asked_for() && json.weight > events.weight)
}

/// A number of seconds, perhaps with a fraction, in milliseconds; at most as long as a long poll may wait.
fn wait_ms(text: &[u8]) -> Option<u64> {
    let is_number = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let text =
        str::from_utf8(text).ok().filter(|text| text.bytes().all(|byte| is_number(&byte)))?;
    let seconds: f64 = text.parse().ok()?;
    Some(((seconds * 1000.0).ceil() as u64).min(POLL_MS_MAX))
}

fn offers_json(request: &Request<'_>) -> bool {
    let mut offered = request.head.fields.all("sec-websocket-protocol");
    offered.any(|value| {
        let mut names = value.split(|byte| *byte == b',');
        names.any(|name| name.trim_ascii() == JSON_PROTOCOL.as_bytes())
    })
}
