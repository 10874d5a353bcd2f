//! From a request to a reply: the order of the steps, and nothing else.
//!
//! path -> route -> files | redirect | fixed answer | refusal. Each step is one function; only this
//! file branches.

use std::rc::Rc;

use config::route::{Found, Refusal};
use config::{Respond, RouteAction};
use http::{Answer, AnswerContext, Reply, Request};
use pages::SetIndex;
use wire::http::head::{Framing, Target};
use wire::http::method::Method;
use wire::http::status::Status;
use wire::http::target;

use super::client;
use super::exchange::{Asked, Exchange, PATH_RULES, route_request};
use super::file::FILE_METHODS;
use super::pack;
use super::state::Site;
use crate::limits::STORE_BODY_SIZE;
use crate::message::Message;

impl Site {
    /// Answers a request, or lets it wait.
    pub(super) fn answer(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        if reply.is_begun()
            && let Some(answer) = pack::go_on(&mut self.packer, context.id, reply)
        {
            return answer;
        }
        if reply.is_begun() && !self.is_page_underway(context.id) {
            // Only pages answer in parts, and this page no longer exists.
            return Answer::Cut;
        }
        if request.head.target == Target::Asterisk {
            return answer_server_options(reply);
        }
        let (path, query) = request.head.split_target();
        let mut scratch = std::mem::take(&mut self.path);
        let answer = match target::resolve_with(path, PATH_RULES, &mut scratch) {
            Ok(path) => self.route(path, query, request, reply, context),
            Err(error) => {
                let status = Status::from_code(error.status()).unwrap_or(Status::BAD_REQUEST);
                self.builtin_page(status, b"", reply)
            }
        };
        self.path = scratch;
        answer
    }

    fn route(
        &mut self,
        path: &str,
        query: Option<&[u8]>,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        let data = Rc::clone(&self.data);
        let found = data.table.find(&route_request(request, path, query));
        let mut exchange =
            Exchange { request, reply, headers: found.headers, cache_control: found.cache_control };
        // The end of a chunked body is known once the body is complete.
        let body_size = match request.head.framing {
            Framing::Length(size) => size,
            Framing::None | Framing::Chunked => request.body.len() as u64,
        };
        let place = self.place_of(path, query);
        // A page that has begun to answer has received the body. In a form with files, the limit applies to the fields, and is checked
        // where they are read.
        let most = if place.is_some() { STORE_BODY_SIZE } else { found.body_size };
        if body_size > most && !exchange.reply.is_begun() && self.uploads.form(context.id).is_none()
        {
            exchange.reply.close();
            return self.refuse(Status::CONTENT_TOO_LARGE, b"", &found, &mut exchange, context);
        }
        if let Some(answer) = self.refuse_on(&found, &mut exchange, context) {
            return answer;
        }
        if !data.rulebook.is_empty()
            && let Some(answer) = client::answer(path, &mut exchange)
        {
            return answer;
        }
        if let Some(name) = self.channel_of(path) {
            return self.answer_channel(name, query, &found, &mut exchange, context);
        }
        if let Some(place) = place {
            return self.answer_record(&place, query, (&mut exchange, &found), context);
        }
        self.act(&found, query, &mut exchange, context)
    }

    fn act(
        &mut self,
        found: &Found<'_>,
        query: Option<&[u8]>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        if !matches!(found.action, Ok(RouteAction::Files { .. } | RouteAction::Module(_)))
            && self.is_page_underway(context.id)
        {
            // A reload assigned the path to something else while a page runs: the page still finishes.
            let asked = Asked::whole(exchange.request.path());
            return self.answer_with_page((SetIndex(0), 0), asked, found, exchange, context);
        }
        match &found.action {
            Ok(RouteAction::Files { rules, .. }) => {
                self.answer_below(rules, query, found, exchange, context)
            }
            Ok(RouteAction::Module(name)) => match self.module_at(name, context.id) {
                Some(module) => {
                    let asked = Asked::below(&found.path, found.rest);
                    self.answer_with_page(module, asked, found, exchange, context)
                }
                None => self.refuse(Status::NOT_FOUND, b"", found, exchange, context),
            },
            Ok(RouteAction::Redirect { status, .. }) => {
                let status = Status::from_code(*status).unwrap_or(Status::FOUND);
                self.redirect(status, &found.location, exchange)
            }
            Ok(RouteAction::Respond(Respond { status, content_type, body })) => {
                let status = Status::from_code(*status).unwrap_or(Status::OK);
                answer_fixed(status, content_type, body.as_bytes(), exchange)
            }
            Ok(RouteAction::Json(text)) => {
                answer_fixed(Status::OK, "application/json", text.as_bytes(), exchange)
            }
            Ok(RouteAction::Rewrite { .. }) | Err(Refusal::NotFound) => {
                self.refuse(Status::NOT_FOUND, b"", found, exchange, context)
            }
            Err(Refusal::MethodNotAllowed { allow }) => {
                let fields = format!("Allow: {allow}\r\n");
                if exchange.request.method() == Method::Options {
                    exchange.reply.begin(Status::NO_CONTENT);
                    exchange.reply.prepared_fields(fields.as_bytes());
                    exchange.configured_fields();
                    exchange.reply.end_head();
                    return Answer::Done;
                }
                let status = Status::METHOD_NOT_ALLOWED;
                self.refuse(status, fields.as_bytes(), found, exchange, context)
            }
            Err(Refusal::RewriteLoop) => {
                let status = Status::INTERNAL_SERVER_ERROR;
                self.refuse(status, b"", found, exchange, context)
            }
        }
    }
}

/// `OPTIONS *`: the capabilities of the server as a whole (RFC 9110 section 9.3.7).
fn answer_server_options(reply: &mut Reply<'_>) -> Answer {
    reply.begin(Status::NO_CONTENT);
    reply.prepared_fields(FILE_METHODS);
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
