//! The answer of a server, on its way to the client.
//!
//! Owns its order: interim heads, the head, parts of the body no faster than the client takes them, trailers, the end;
//! and what the client gets if there is no answer.

mod protocol;

use client::{
    BodyLength, ExchangeFailure, ExchangeId, ExchangeNews, OutgoingBody, ResponseHead, TrailedBody,
};
use config::route::FoundRoute;
use config::{ProxyRoute, RouteAction};
use http::{Answer, FieldList, Request, Status};
use runtime::slots::ProcessId;
use runtime::trace;
use wire::http::head::Framing;
use wire::http::method::Method;

use crate::limits::PROXY_PART_SIZE;
use crate::message::AnswerContext;
use crate::site::Site;
use crate::site::exchange::{Exchange, try_again_soon};
use crate::site::outgoing::cached::{self, Headed};
use crate::site::outgoing::proxy::Carried;
use crate::site::outgoing::proxy::answer_head::{self, interim_fields};
use crate::site::outgoing::proxy::carried::{Idempotence, Parcel, Refused, Stage};
use crate::site::outgoing::proxy::failing::{Answered, Then};
use crate::site::outgoing::proxy::hop::HopFields;
use crate::site::outgoing::proxy::introduction;
use crate::site::outgoing::proxy::request_head::{head_of, target_of_request};
use crate::site::outgoing::proxy::upgrade;
use crate::site::traced;

/// The step after a piece of news.
enum Step {
    /// More news.
    On,
    /// The answer of the application.
    Answer(Answer),
    /// There is no answer of a server.
    Refuse(Refused),
    /// The client gets the site's page of this status, with these fields.
    Replace(Status, FieldList),
}

/// An answer that is being passed on in this call.
struct Passing<'a> {
    route: Option<&'a ProxyRoute>,
    id: ExchangeId,
    /// Bytes of the body that may be written.
    room: usize,
    trailers: FieldList,
}

impl Site {
    /// Answers a request with what a server says to it.
    pub(in crate::site) fn answer_proxied(
        &mut self,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        match exchange.place.handed_on() {
            Some(handed_on) => exchange.with_headers(handed_on.headers(), |exchange| {
                self.answer_by_server(found, Some(handed_on.route()), exchange, context)
            }),
            None => {
                let route = match found.action {
                    Ok(RouteAction::Proxy(route)) => Some(&**route),
                    _ => None,
                };
                self.answer_by_server(found, route, exchange, context)
            }
        }
    }

    fn answer_by_server(
        &mut self,
        found: &FoundRoute<'_>,
        route: Option<&ProxyRoute>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        // The answer of a server that was asked first is not one of the route.
        let route = route.filter(|_| !self.outgoing.proxies.is_question(context.id));
        let (process, now_ns) = (context.id, context.now.monotonic_ns);
        if !self.outgoing.proxies.carries(process) {
            let Some(route) = route else {
                return self.refuse_proxied(Refused::Busy, found, exchange, context);
            };
            let wish =
                self.outgoing.proxies.wish_of(&route.upstream, exchange.request, &found.path);
            let idempotence = Idempotence::of(exchange.request.method());
            let client = introduction::client_of(exchange.request, &self.data);
            self.outgoing.proxies.insert(process, Carried::of(wish, client, idempotence, now_ns));
            exchange.place.pass_on();
        }
        loop {
            let refused = match self.send_or_go_on(process, found, route, exchange, now_ns) {
                Stage::Sent => match self.pass(process, route, exchange, now_ns) {
                    Step::On => continue,
                    Step::Answer(answer) => return answer,
                    Step::Refuse(refused) => refused,
                    Step::Replace(status, fields) => {
                        self.end_proxied(process, exchange, now_ns);
                        // A stale answer is better than a page of an error; nobody waits for what is replaced.
                        let refused = match status.code() {
                            500.. => Refused::Failed,
                            _ => Refused::Request,
                        };
                        if let Some(answer) = self.cache_refusal(process, found, refused, exchange)
                        {
                            return answer;
                        }
                        exchange.place.refuse_to_pass_on();
                        return self.refuse(status, &fields, found, exchange, context);
                    }
                },
                Stage::InLine => return Answer::Wait,
                Stage::TooLate => Refused::Busy,
                Stage::Refused(refused) => refused,
            };
            return self.refuse_proxied(refused, found, exchange, context);
        }
    }

    /// The stage of a request, after it was sent if it can be.
    fn send_or_go_on(
        &mut self,
        process: ProcessId,
        found: &FoundRoute<'_>,
        route: Option<&ProxyRoute>,
        exchange: &Exchange<'_, '_>,
        now_ns: u64,
    ) -> Stage {
        let parcel = match self.outgoing.proxies.stage_of(process) {
            Some((Stage::InLine, parcel)) => parcel,
            Some((stage, _)) => return stage,
            None => return Stage::Refused(Refused::Failed),
        };
        let wanted = self.outgoing.caches.wanted(process);
        let make = || match (parcel, route) {
            (Some(parcel), _) => Ok(parcel),
            (None, Some(route)) => {
                let own = exchange.place.handed_on().map(|handed_on| {
                    // A module sees the whole path, whatever it compares its routes with.
                    let whole = || target_of_request(exchange.request, (&found.path, 0));
                    handed_on.target(exchange.request).unwrap_or_else(whole)
                });
                let whole = || target_of_request(exchange.request, (&found.path, found.rest));
                let target = own.unwrap_or_else(whole);
                match wanted {
                    Some(wanted) => cached::parcel_of(exchange.request, &target, route, wanted),
                    None => parcel_of(exchange, &target, route),
                }
            }
            // A reload has given the path to something else.
            (None, None) => Err(ExchangeFailure::NotAllowed),
        };
        self.outgoing.proxies.dispatch(process, self.outgoing.client.exchanges(), now_ns, make)
    }

    /// Passes on what there is of an answer.
    fn pass(
        &mut self,
        process: ProcessId,
        route: Option<&ProxyRoute>,
        exchange: &mut Exchange<'_, '_>,
        now_ns: u64,
    ) -> Step {
        let Some((id, mut early)) = self.outgoing.proxies.take_early(process) else {
            return Step::Refuse(Refused::Failed);
        };
        let trailers = FieldList::new();
        let mut passing = Passing { route, id, room: PROXY_PART_SIZE, trailers };
        let was_begun = exchange.reply.is_begun();
        loop {
            let news = match early.pop_front() {
                Some(head) if head.status < 200 => Some(ExchangeNews::Interim(head)),
                Some(head) => Some(ExchangeNews::Head(head)),
                None => self.outgoing.client.exchanges().next(id, passing.room, now_ns),
            };
            let Some(news) = news else {
                let has_part =
                    exchange.reply.is_begun() && (!was_begun || passing.room < PROXY_PART_SIZE);
                return Step::Answer(if has_part { Answer::Part } else { Answer::Wait });
            };
            match self.pass_news(process, news, &mut passing, exchange, now_ns) {
                Step::On if self.outgoing.proxies.is_sent(process) => {}
                step => return step,
            }
        }
    }

    fn pass_news(
        &mut self,
        process: ProcessId,
        news: ExchangeNews,
        passing: &mut Passing<'_>,
        exchange: &mut Exchange<'_, '_>,
        now_ns: u64,
    ) -> Step {
        if trace::is_noting() {
            match &news {
                ExchangeNews::Head(head) => traced::answered(process, head.status),
                ExchangeNews::End => traced::complete(process),
                ExchangeNews::Failed(failure) => traced::failed(process, failure),
                _ => {}
            }
        }
        match news {
            // This server has said 100 itself.
            ExchangeNews::Interim(ResponseHead { status: 100, .. }) | ExchangeNews::Room => {}
            ExchangeNews::Interim(head) => {
                if let Some(status) = Status::from_code(head.status) {
                    let fields = interim_fields(&head, passing.route, None);
                    exchange.reply.interim(status, fields.fields());
                }
            }
            ExchangeNews::Head(head) => {
                return self.pass_head(process, &head, passing, exchange, now_ns);
            }
            ExchangeNews::Body(bytes) => {
                passing.room = passing.room.saturating_sub(bytes.len());
                exchange.reply.part(&bytes);
            }
            ExchangeNews::Trailers(trailers) => {
                passing.trailers = answer_head::trailers(&trailers, passing.route);
            }
            ExchangeNews::End => {
                exchange.reply.end_with(&passing.trailers);
                self.end_proxied(process, exchange, now_ns);
                return Step::Answer(Answer::Done);
            }
            ExchangeNews::Failed(failure) if exchange.reply.is_begun() => {
                self.outgoing.proxies.note_failure(process, failure, now_ns);
                self.note_passed_on(process, exchange, now_ns);
                self.outgoing.proxies.remove(process);
                return Step::Answer(Answer::Cut);
            }
            ExchangeNews::Failed(failure) => {
                return match self.outgoing.proxies.after_failure(process, failure, now_ns) {
                    Then::Again => {
                        self.outgoing.proxies.begin_again(process);
                        Step::On
                    }
                    Then::Refuse(refused) => Step::Refuse(refused),
                };
            }
        }
        Step::On
    }

    fn pass_head(
        &mut self,
        process: ProcessId,
        head: &ResponseHead,
        passing: &Passing<'_>,
        exchange: &mut Exchange<'_, '_>,
        now_ns: u64,
    ) -> Step {
        match Status::from_code(head.status) {
            Some(Status::SWITCHING_PROTOCOLS) => {
                self.change_protocol(process, head, passing, exchange, now_ns)
            }
            Some(status) => {
                let client = self.outgoing.client.exchanges();
                if self.outgoing.proxies.after_status(process, head.status, client, now_ns)
                    == Answered::Again
                {
                    self.outgoing.proxies.begin_again(process);
                    return Step::On;
                }
                let told = (head.status, exchange.request);
                let client = self.outgoing.client.exchanges();
                let cookie = self.outgoing.proxies.note_head(process, told, client, now_ns);
                if passing.route.is_some_and(|route| route.intercept_errors.contains(&head.status))
                {
                    self.drop_answer(passing.id, now_ns);
                    return Step::Replace(status, answer_head::kept_of_error(head));
                }
                let heard = (passing.id, head, passing.route);
                let report = match self.cache_head(process, heard, exchange, now_ns) {
                    Headed::Passed(report) => report,
                    Headed::Answered(answer) => return Step::Answer(answer),
                    Headed::Again => return Step::On,
                    Headed::Failed => return Step::Refuse(Refused::Failed),
                };
                let added = [("Set-Cookie", cookie), (cached::FIELD, report)];
                let added: Vec<(&str, &[u8])> = added
                    .iter()
                    .filter_map(|(name, value)| Some((*name, value.as_ref()?.as_bytes())))
                    .collect();
                answer_head::write(head, status, passing.route, &added, exchange);
                Step::On
            }
            // A status that no client knows (RFC 9110 section 15).
            None => {
                self.outgoing.client.exchanges().cancel(passing.id);
                self.outgoing.proxies.note_misfit(process, "a status above 599", now_ns);
                Step::Refuse(Refused::Failed)
            }
        }
    }

    /// Keeps for the access log which servers have had a request.
    pub(in crate::site) fn note_passed_on(
        &self,
        process: ProcessId,
        exchange: &mut Exchange<'_, '_>,
        now_ns: u64,
    ) {
        if self.helpers.log.is_some()
            && let Some(account) = self.outgoing.proxies.account_of(process, Some(now_ns))
        {
            exchange.place.note_passed_on(account);
        }
    }

    /// A request has its answer, or will have none of a server.
    pub(in crate::site) fn end_proxied(
        &mut self,
        process: ProcessId,
        exchange: &mut Exchange<'_, '_>,
        now_ns: u64,
    ) {
        self.note_passed_on(process, exchange, now_ns);
        if let Some(place) = self.outgoing.proxies.remove(process) {
            self.outgoing.proxies.end(place, now_ns);
        }
    }

    /// The client gets an error, because there is no answer of a server.
    pub(in crate::site) fn refuse_proxied(
        &mut self,
        refused: Refused,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        self.end_proxied(context.id, exchange, context.now.monotonic_ns);
        if let Some(answer) = self.cache_refusal(context.id, found, refused, exchange) {
            return answer;
        }
        exchange.place.refuse_to_pass_on();
        let (status, fields) = match refused {
            Refused::Busy => (Status::SERVICE_UNAVAILABLE, try_again_soon()),
            Refused::Failed => (Status::BAD_GATEWAY, FieldList::new()),
            Refused::TooLate => (Status::GATEWAY_TIMEOUT, FieldList::new()),
            Refused::Request => (Status::BAD_REQUEST, FieldList::new()),
        };
        self.refuse(status, &fields, found, exchange, context)
    }
}

/// The parcel of a request that has no body, or whose body was collected.
fn parcel_of(
    exchange: &Exchange<'_, '_>,
    target: &str,
    route: &ProxyRoute,
) -> Result<Parcel, ExchangeFailure> {
    let request = exchange.request;
    let mut head = head_of(request, exchange.place, target, route)?;
    let may_change = request.method() == Method::Get
        && request.head.framing == Framing::None
        && exchange.reply.can_change();
    let upgrade = if may_change { upgrade::offered(request, route) } else { None };
    if upgrade.is_some() {
        upgrade::complete(request, &mut head)?;
    }
    let is_dropped =
        |name: &str| route.request_headers.drop_field(name) || exchange.place.has_given(name);
    let body = body_of(request, is_dropped);
    Ok(Parcel { method: request.method().as_str(), head, body, upgrade })
}

/// A body that did not arrive piece by piece: it was collected, because the request had to be judged first or its
/// upstream wants it whole. Of the fields behind it, those that are dropped in the head are not passed on either.
fn body_of(request: &Request<'_>, is_dropped: impl Fn(&str) -> bool) -> OutgoingBody {
    let length = match request.head.framing {
        Framing::None => return OutgoingBody::None,
        Framing::Length(_) => BodyLength::Said,
        Framing::Chunked => BodyLength::Unsaid,
    };
    let content = request.body.to_vec();
    let hop = HopFields::of(&request.head.fields);
    match request.trailers.map(|trailers| hop.without(trailers, is_dropped)) {
        Some(trailers) if !trailers.is_empty() => {
            OutgoingBody::Trailed(Box::new(TrailedBody { content, trailers, length }))
        }
        _ => OutgoingBody::Whole(content),
    }
}
