//! From a request to a reply: the order of the steps, and nothing else.
//!
//! path -> route -> files | redirect | fixed answer | refusal. Each step is one function; only this file branches.

use std::rc::Rc;

use config::Header;
use config::route::{Found, Refusal, RouteRequest};
use config::{Respond, RouteAction};
use files::{Key, policy};
use http::{Answer, AnswerContext, Reply, Request};
use pages::SetIndex;
use wire::http::head::{Framing, Target};
use wire::http::method::Method;
use wire::http::status::Status;
use wire::http::target::{self, Backslash, DotFiles, EncodedSlash, PathRules};

use super::handle::Site;
use super::pack;
use crate::message::Message;

/// Methods that files take, as `Allow` names them.
const FILE_METHODS: &[u8] = b"Allow: GET, HEAD, OPTIONS\r\n";

/// Dot files are hidden by the rules of the files, where they can be configured.
pub(super) const PATH_RULES: PathRules = PathRules {
    encoded_slash: EncodedSlash::Refuse,
    backslash: Backslash::Refuse,
    dot_files: DotFiles::Show,
};

/// What a route is found by.
pub(super) fn route_request<'a>(
    request: &Request<'a>,
    path: &'a str,
    query: Option<&'a [u8]>,
) -> RouteRequest<'a> {
    RouteRequest {
        host: request.host(),
        method: request.method().as_str(),
        path,
        query: query.and_then(|query| str::from_utf8(query).ok()),
    }
}

/// The path of a request that a page or a module answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    /// The whole path.
    pub(super) path: &'a str,
    /// What of it a module's routes are compared with.
    pub(super) rest: &'a str,
}

impl<'a> Asked<'a> {
    pub(super) fn whole(path: &'a str) -> Self {
        Self { path, rest: path }
    }

    fn below(path: &'a str, rest: usize) -> Self {
        let rest = path.get(rest..).filter(|rest| !rest.is_empty()).unwrap_or("/");
        Self { path, rest }
    }
}

/// What every step after the route needs.
pub(super) struct Exchange<'a, 'r> {
    pub(super) request: &'a Request<'a>,
    pub(super) reply: &'a mut Reply<'r>,
    pub(super) headers: &'a [Header],
    pub(super) cache_control: Option<&'a str>,
}

impl Exchange<'_, '_> {
    /// Adds what the configuration adds to every answer of the route.
    pub(super) fn configured_fields(&mut self) {
        self.configured_fields_but(|_| false);
    }

    /// The same for an answer with fields of its own, which go in the place of configured ones. Cookies are told apart by
    /// their own names, so those of both are sent.
    pub(super) fn configured_fields_but(&mut self, is_set: impl Fn(&str) -> bool) {
        for header in self.headers {
            if header.name.eq_ignore_ascii_case("set-cookie") || !is_set(&header.name) {
                // Checked when the configuration was read.
                let _valid = self.reply.field(&header.name, header.value.as_bytes());
            }
        }
        if let Some(value) = self.cache_control
            && !is_set("Cache-Control")
        {
            let _valid = self.reply.field("Cache-Control", value.as_bytes());
        }
    }

    /// The same for an answer with these prepared fields.
    pub(super) fn configured_fields_beside(&mut self, prepared: &[u8]) {
        self.configured_fields_but(|name| is_among(prepared, name));
    }

    /// The same for a page of the server's own, whose policy goes in the place of a configured one.
    pub(super) fn configured_fields_under(&mut self, policy: &str, prepared: &[u8]) {
        self.configured_fields_but(|name| {
            name.eq_ignore_ascii_case(policy::FIELD) || is_among(prepared, name)
        });
        let _valid = self.reply.field(policy::FIELD, policy.as_bytes());
    }
}

impl Site {
    /// Answers a request, or has it wait.
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
            // Only pages answer in parts, and this one is gone.
            return Answer::Cut;
        }
        let target = match request.head.target {
            Target::Origin(target) => target,
            Target::Asterisk => return answer_server_options(reply),
        };
        let (path, query) = target::split(target);
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
        // The end of a chunked body is known when it is here.
        let body_size = match request.head.framing {
            Framing::Length(size) => size,
            Framing::None | Framing::Chunked => request.body.len() as u64,
        };
        // A page that has begun to answer has the body. Of a form with files its fields are bounded by it, which is seen
        // where they are read.
        if body_size > found.body_size
            && !exchange.reply.is_begun()
            && self.uploads.form(context.id).is_none()
        {
            exchange.reply.close();
            return self.refuse(Status::CONTENT_TOO_LARGE, b"", &found, &mut exchange, context);
        }
        if let Some(answer) = self.refuse_on(&found, &mut exchange, context) {
            return answer;
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
            // A reload took the path from a page that runs: it ends as it began.
            let asked = Asked::whole(exchange.request.path());
            return self.answer_with_page((SetIndex(0), 0), asked, found, exchange, context);
        }
        match &found.action {
            Ok(RouteAction::Files { rules, .. }) => {
                let path = &*found.path;
                let Some(root) = self.root_of(found.rule, rules) else {
                    return self.refuse(Status::NOT_FOUND, b"", found, exchange, context);
                };
                match self.page_at(root, path, context.id) {
                    Some(page) => {
                        let asked = Asked::whole(path);
                        self.answer_with_page(page, asked, found, exchange, context)
                    }
                    None => self.answer_below(Key { root, path }, query, found, exchange, context),
                }
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

impl Site {
    /// Answers with a file below a root, by the methods that files take.
    fn answer_below(
        &mut self,
        key: Key<'_>,
        query: Option<&[u8]>,
        found: &Found<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        if matches!(exchange.request.method(), Method::Get | Method::Head) {
            return self.answer_file(key, query, found, exchange, context);
        }
        // What no file takes may be the main module's.
        match self.main_module(found) {
            Some(main) => {
                self.answer_with_page(main, Asked::whole(key.path), found, exchange, context)
            }
            None => self.answer_other_method(found, exchange, context),
        }
    }

    /// Answers a method that files do not take.
    pub(super) fn answer_other_method(
        &mut self,
        found: &Found<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        if exchange.request.method() != Method::Options {
            let status = Status::METHOD_NOT_ALLOWED;
            return self.refuse(status, FILE_METHODS, found, exchange, context);
        }
        exchange.reply.begin(Status::NO_CONTENT);
        exchange.reply.prepared_fields(FILE_METHODS);
        exchange.configured_fields();
        exchange.reply.end_head();
        Answer::Done
    }
}

/// Whether there is a field of this name among prepared lines.
fn is_among(prepared: &[u8], name: &str) -> bool {
    prepared.split(|byte| *byte == b'\n').filter_map(|line| line.split_at_checked(name.len())).any(
        |(start, rest)| start.eq_ignore_ascii_case(name.as_bytes()) && rest.first() == Some(&b':'),
    )
}

/// `OPTIONS *`: what the server as a whole can do (RFC 9110 section 9.3.7).
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
