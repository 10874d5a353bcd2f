//! From a request to a reply: the order of the steps, and nothing else.
//!
//! path -> route -> files | redirect | fixed answer | refusal. Each step is one function; only this
//! file branches.

use std::rc::Rc;

use config::route::{FoundRoute, RouteRefusal};
use config::{Logging, Respond, RouteAction};
use http::{Answer, FieldList, Notes, Reply, Request, Unanswered};
use runtime::trace;
use wire::http::head::{Framing, RequestTarget};
use wire::http::method::Method;
use wire::http::status::Status;

use super::Site;
use super::exchange::{self, Asked, Exchange};
use super::file::FILE_METHODS;
use super::route::{AnswerPlace, Kept, Resumed, number_of};
use super::stage::Stage;
use super::traced;
use crate::limits::STORE_BODY_SIZE;
use crate::message::AnswerContext;
use crate::site_data::SiteData;

impl Site {
    /// Answers a request, or lets it wait.
    pub(super) fn answer(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        if reply.is_begun() {
            self.note_begun(request, context);
            if let Some(answer) = self.underway.go_on_packing(context.id, reply) {
                return answer;
            }
        }
        if reply.is_begun() && !self.is_page_underway(context.id) && !self.outgoing.has(context.id)
        {
            // Only pages and other servers answer in parts, and this one no longer does.
            return Answer::Cut;
        }
        if request.head.target == RequestTarget::Asterisk {
            return answer_server_options(reply);
        }
        let data = Rc::clone(&self.data);
        if let Some(kept) = context.take_kept::<Kept>() {
            return self.answer_again(kept, &data, (request, reply), context);
        }
        let mut scratch = self.underway.lend_path();
        let mut place = AnswerPlace::default();
        let answer = match self.resolve(request, &mut place, &mut scratch) {
            Ok(path) => {
                let found = self.find_route(request, &path, &place, &data);
                self.answer_found(&path, &data, found, place, (request, reply), context)
            }
            Err(error) => {
                let status = Status::from_code(error.status()).unwrap_or(Status::BAD_REQUEST);
                self.builtin_page(status, &FieldList::new(), reply)
            }
        };
        self.underway.take_path_back(scratch);
        answer
    }

    /// Tells the access log about a request whose answer is sent in parts: of the last one as well as of the first.
    fn note_begun(&self, request: &Request<'_>, context: &mut AnswerContext<'_>) {
        if let Some(kept) = context.take_kept::<Kept>() {
            self.note_kept(&kept, request, context.notes);
            context.keep(kept);
        }
    }

    /// Tells the access log about a request that ends without an answer, or without the end of one.
    pub(super) fn note_unanswered(&self, request: &Request<'_>, mut unanswered: Unanswered<'_>) {
        let Some(mut kept) = unanswered.take_kept::<Kept>() else { return };
        self.note_kept(&kept, request, unanswered.notes);
        if !unanswered.notes.are_wanted() {
            return;
        }
        let account = self.outgoing.account_of(unanswered.id);
        unanswered.notes.passed_on = account.or_else(|| kept.place_mut().passed_on().cloned());
    }

    /// Tells the access log about a request whose route was found before. Another configuration finds it again.
    fn note_kept(&self, kept: &Kept, request: &Request<'_>, notes: &mut Notes) {
        let data = &self.data;
        if kept.is_of(data) {
            return note(&kept.route(data), kept.user(), notes);
        }
        let found = self.find_route(request, kept.path(), kept.place(), data);
        note(&found, kept.user(), notes);
    }

    /// Answers a request whose route was just found in this configuration, and goes on to the next route as long as one
    /// leads on.
    fn answer_found<'a>(
        &mut self,
        path: &'a str,
        data: &'a SiteData,
        mut found: FoundRoute<'a>,
        mut place: AnswerPlace,
        (request, reply): (&Request<'a>, &mut Reply<'_>),
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        loop {
            if trace::is_noting() {
                traced::route(context.id, &found);
            }
            let mut exchange = Exchange::new((request, path), reply, found.terms, &mut place);
            let answer = self.proceed(path, &found, &mut exchange, context);
            note_passed_on(&exchange, context.notes);
            if let Some(next) = Self::route_after(&found, &mut place, request, path, data) {
                found = next;
                continue;
            }
            if matches!(answer, Answer::Wait | Answer::Part) {
                context.keep(Kept::new(path, found, place, data.generation));
            }
            return answer;
        }
    }

    /// Answers a request that has waited. Its route is found again only if the configuration has changed.
    fn answer_again(
        &mut self,
        mut kept: Box<Kept>,
        data: &SiteData,
        (request, reply): (&Request<'_>, &mut Reply<'_>),
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        if !kept.is_of(data) {
            let mut place = kept.take_place();
            place.try_again();
            let found = self.find_route(request, kept.path(), &place, data);
            let is_for_server =
                matches!(found.action, Ok(RouteAction::Proxy(_))) || place.handed_on().is_some();
            if !is_for_server && self.outgoing.stop_waiting(context.id) {
                place.refuse_to_pass_on();
            }
            kept = Kept::new(kept.path(), found, place, data.generation);
        }
        let Resumed { path, found, place } = kept.resume(data);
        let mut exchange = Exchange::new((request, path), reply, found.terms, place);
        let answer = self.proceed(path, &found, &mut exchange, context);
        note_passed_on(&exchange, context.notes);
        if let Some(next) = Self::route_after(&found, place, request, path, data) {
            let place = std::mem::take(place);
            return self.answer_found(path, data, next, place, (request, reply), context);
        }
        if matches!(answer, Answer::Wait | Answer::Part) {
            context.keep(kept);
        }
        answer
    }

    /// Answers a request with this decoded path and route.
    fn proceed(
        &mut self,
        path: &str,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        note(found, exchange.place.user(), context.notes);
        if exchange.place.is_proxied() {
            return self.as_permitted(exchange, |site, exchange| {
                site.answer_upstream(found, exchange, context)
            });
        }
        if let Some(answer) = self.answer_before_access(path, found, exchange) {
            return answer;
        }
        if let Some((status, fields)) = exchange.place.take_refusal() {
            // Its page was looked up meanwhile.
            return self.refuse(status, &fields, found, exchange, context);
        }
        if let Some(answer) = self.meter(path, Stage::Client, found, exchange, context) {
            return answer;
        }
        if let Some(answer) = self.let_in(found, exchange, context) {
            return answer;
        }
        note(found, exchange.place.user(), context.notes);
        if let Some(answer) = self.meter(path, Stage::User, found, exchange, context) {
            return answer;
        }
        if let Some(answer) = self.ask_permission(path, found, exchange, context) {
            return answer;
        }
        self.as_permitted(exchange, |site, exchange| {
            let answer = site.answer_permitted(found, exchange, context);
            if answer == Answer::Wait && exchange.place.is_answered() {
                exchange.hint(&FieldList::new());
            }
            answer
        })
    }

    /// Answers a request that nothing refuses.
    fn answer_permitted(
        &mut self,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let request = exchange.request;
        let query = request.head.split_target().1;
        // How long a chunked body is, is known once it is complete.
        let body_size = match request.head.framing {
            Framing::Length(size) => size,
            Framing::None | Framing::Chunked => request.received,
        };
        // A page that has begun to answer has received the body. In a form with files, the limit applies to the fields,
        // and is checked where they are read.
        let most = match found.action {
            Ok(RouteAction::Database(_)) => STORE_BODY_SIZE,
            _ => found.terms.body_size,
        };
        if body_size > most
            && !exchange.reply.is_begun()
            && self.underway.form(context.id).is_none()
        {
            exchange.reply.close();
            let status = Status::CONTENT_TOO_LARGE;
            return self.refuse(status, &FieldList::new(), found, exchange, context);
        }
        if let Some(page) = exchange.place.page()
            && self.is_page_underway(context.id)
        {
            // A page that has begun also finishes if a reload has given its path to something else.
            let asked = Asked::by(found);
            return self.answer_with_page(page, asked, found, exchange, context);
        }
        if let Some(answer) = self.refuse_maintained(found, exchange, context) {
            return answer;
        }
        self.act(found, query, exchange, context)
    }

    fn act(
        &mut self,
        found: &FoundRoute<'_>,
        query: Option<&[u8]>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        match &found.action {
            Ok(RouteAction::Files { rules, tries, .. }) if tries.is_empty() => {
                self.answer_below(rules, query, found, exchange, context)
            }
            Ok(RouteAction::Files { rules, tries, .. }) => {
                self.answer_first((rules, tries), query, found, exchange, context)
            }
            Ok(RouteAction::Module(name)) => match self.module_at(name, context.id) {
                Some(module) => {
                    self.answer_with_page(module, Asked::by(found), found, exchange, context)
                }
                None => self.refuse(Status::NOT_FOUND, &FieldList::new(), found, exchange, context),
            },
            Ok(RouteAction::Proxy(_)) => self.answer_upstream(found, exchange, context),
            Ok(RouteAction::Channels) => self.answer_channel(query, found, exchange, context),
            Ok(RouteAction::Database(name)) => {
                self.answer_record(name, query, (exchange, found), context)
            }
            Ok(RouteAction::BrowserClient) => self.answer_client(found, exchange, context),
            Ok(RouteAction::Redirect { status, .. }) => {
                let status = Status::from_code(*status).unwrap_or(Status::FOUND);
                self.redirect(status, &found.location, exchange)
            }
            Ok(RouteAction::Map(map)) => {
                let query = query.and_then(|query| str::from_utf8(query).ok());
                let row = map.rows.find(&found.path, query);
                let status = row.and_then(|row| Status::from_code(row.status));
                self.redirect(status.unwrap_or(Status::FOUND), &found.location, exchange)
            }
            Ok(RouteAction::Drop) => Answer::Drop,
            Ok(RouteAction::Respond(Respond { status, content_type, body })) => {
                let status = Status::from_code(*status).unwrap_or(Status::OK);
                answer_fixed(status, content_type, body.as_bytes(), exchange)
            }
            Ok(RouteAction::Json(text)) => {
                answer_fixed(Status::OK, "application/json", text.as_bytes(), exchange)
            }
            Ok(RouteAction::Rewrite { .. }) | Err(RouteRefusal::NotFound) => {
                self.refuse(Status::NOT_FOUND, &FieldList::new(), found, exchange, context)
            }
            Err(RouteRefusal::MethodNotAllowed { allow }) => {
                let fields = exchange::allow(allow);
                if exchange.request.method() == Method::Options {
                    exchange.reply.begin(Status::NO_CONTENT);
                    exchange.reply.fields(fields.fields());
                    exchange.configured_fields();
                    exchange.reply.end_head();
                    return Answer::Done;
                }
                let status = Status::METHOD_NOT_ALLOWED;
                self.refuse(status, &fields, found, exchange, context)
            }
            Err(RouteRefusal::NoHost) => {
                self.refuse(Status::BAD_REQUEST, &FieldList::new(), found, exchange, context)
            }
            Err(RouteRefusal::RewriteLoop) => {
                let status = Status::INTERNAL_SERVER_ERROR;
                self.refuse(status, &FieldList::new(), found, exchange, context)
            }
        }
    }
}

/// Tells the access log which servers have had the request. It is known at the end, and kept while an error page is
/// looked up.
#[inline]
fn note_passed_on(exchange: &Exchange<'_, '_>, notes: &mut Notes) {
    if let Some(account) = exchange.place.passed_on().filter(|_| notes.are_wanted()) {
        notes.passed_on = Some(account.clone());
    }
}

/// Tells the access log which route answers, and whom, and the times of requests which route it is.
fn note(found: &FoundRoute<'_>, user: Option<&str>, notes: &mut Notes) {
    notes.timed_as.route = number_of(found.rule);
    match found.terms.log {
        Logging::On => notes.want_line(),
        Logging::Off => notes.omit_line(),
    }
    if !notes.are_wanted() {
        return;
    }
    found.terms.name.clone_into(&mut notes.route);
    if let Some(user) = user {
        user.clone_into(&mut notes.user);
    }
}

/// `OPTIONS *`: the capabilities of the server as a whole (RFC 9110 section 9.3.7).
fn answer_server_options(reply: &mut Reply<'_>) -> Answer {
    reply.begin(Status::NO_CONTENT);
    reply.fields(exchange::allow(FILE_METHODS).fields());
    reply.end_head();
    Answer::Done
}

fn answer_fixed(
    status: Status,
    content_type: &str,
    body: &[u8],
    exchange: &mut Exchange<'_, '_>,
) -> Answer {
    exchange.reply.begin(status);
    exchange.configured_fields();
    if !status.has_content() {
        exchange.reply.end_head_without_body(status);
        return Answer::Done;
    }
    if !content_type.is_empty() {
        let _valid = exchange.reply.field("Content-Type", content_type.as_bytes());
    }
    exchange.reply.end_head_with_length(body.len() as u64);
    exchange.reply.body(body);
    Answer::Done
}
