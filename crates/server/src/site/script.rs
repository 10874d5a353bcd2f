//! Requests that a page answers: started, gone on with, and turned into a reply.
//!
//! Owns what a page may say of its reply, and what a page that failed is answered with. Never knows how a page runs.

use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;

use runtime::diagnostic::{self, Level};
use runtime::slots::ProcessId;
use script::engine::{Fault, Output, ScriptError};
use wire::http::status::Status;
use wire::http::target;

use super::answer::{Exchange, PATH_RULES, route_request};
use super::handle::Site;
use crate::files::RootIndex;
use crate::http::{Answer, AnswerContext, BodyPolicy, Request};
use crate::message::Message;
use crate::pages::{Page, RequestHost, Turnout};
use crate::route::{Action, Found};

/// Fields that belong to the connection (RFC 9110 section 7.6.1, RFC 9112 section 6): a page that sets one sets nothing.
const FRAMING: [&str; 8] = [
    "connection",
    "content-length",
    "date",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

impl Site {
    /// The page that answers a path, if one does. Who has begun one goes on with it, whatever the path means now.
    #[inline]
    pub(super) fn page_at(&self, root: RootIndex, path: &str, process: ProcessId) -> Option<usize> {
        let runner = self.runner.as_ref()?;
        let found = runner.find(root, path.trim_start_matches('/'));
        found.or_else(|| runner.is_underway(process).then_some(0))
    }

    /// The body of a request is collected for a page, as far as its route allows.
    pub(super) fn body_policy_of(&mut self, request: &Request<'_>) -> BodyPolicy {
        if self.runner.is_none() {
            return BodyPolicy::Ignore;
        }
        let (path, query) = target::split(request.target());
        let mut scratch = Vec::new();
        let Ok(path) = target::resolve_with(path, PATH_RULES, &mut scratch) else {
            return BodyPolicy::Ignore;
        };
        let data = Rc::clone(&self.data);
        let found = data.table.find(&route_request(request, path, query));
        let Action::Files { rules, path } = &found.action else { return BodyPolicy::Ignore };
        let Some(root) = self.root_of(found.rule, rules) else { return BodyPolicy::Ignore };
        let runner = self.runner.as_ref();
        match runner.and_then(|runner| runner.find(root, path.trim_start_matches('/'))) {
            Some(_page) => BodyPolicy::Collect { limit: found.body_size },
            None => BodyPolicy::Ignore,
        }
    }

    /// Answers with a page, or has the request wait for it.
    pub(super) fn answer_with_page(
        &mut self,
        (root, index): (RootIndex, usize),
        path: &str,
        found: &Found<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        // Lent to this call: an error page needs the rest of the site.
        let Some(mut runner) = self.runner.take() else {
            return self.refuse(Status::NOT_FOUND, b"", found, exchange, context);
        };
        let mut host = RequestHost { request: exchange.request, path, now: context.now };
        let turnout = runner.run(context.id, (root, index), &mut host, context.now);
        let answer = match turnout {
            Some(Turnout::Done(page)) => {
                write(runner.output(), &page, exchange);
                Answer::Done
            }
            Some(Turnout::Wait) => Answer::Wait,
            Some(Turnout::Failed(page, error)) => {
                self.answer_failed(&page, error.as_deref(), found, exchange, context)
            }
            Some(Turnout::Late(page)) => {
                tell(&page, "it took longer than a page may take");
                let status = Status::SERVICE_UNAVAILABLE;
                self.refuse(status, b"Retry-After: 1\r\n", found, exchange, context)
            }
            None => self.refuse(Status::NOT_FOUND, b"", found, exchange, context),
        };
        self.runner = Some(runner);
        answer
    }

    fn answer_failed(
        &mut self,
        page: &Arc<Page>,
        error: Option<&ScriptError>,
        found: &Found<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        match error {
            Some(error) => tell(page, &told(error)),
            None => tell(page, "it was never good: it is not run"),
        }
        match error.map(|error| error.fault) {
            Some(Fault::Memory | Fault::CpuBudget | Fault::Stalled) => {
                let status = Status::SERVICE_UNAVAILABLE;
                self.refuse(status, b"Retry-After: 1\r\n", found, exchange, context)
            }
            Some(Fault::Compile | Fault::Runtime) | None => {
                self.refuse(Status::INTERNAL_SERVER_ERROR, b"", found, exchange, context)
            }
        }
    }
}

/// An error with the way to it, in one line.
fn told(error: &ScriptError) -> String {
    let mut text = error.to_string();
    for frame in &error.traceback {
        let _written = write!(text, "; from {}:{}", frame.page, frame.line);
    }
    text
}

fn tell(page: &Page, what: &str) {
    diagnostic::write(
        Level::Error,
        format_args!("page {}: {}", page.name.file, what.replace(char::is_control, " ")),
    );
}

fn write(output: &Output, page: &Page, exchange: &mut Exchange<'_, '_>) {
    let status = output.status.and_then(Status::from_code).unwrap_or(Status::OK);
    exchange.reply.begin(status);
    exchange.configured_fields();
    let has_body = !matches!(status.code(), 204 | 205 | 304);
    let mut typed = false;
    for (name, value) in output.fields() {
        typed |= name.eq_ignore_ascii_case("content-type");
        if !FRAMING.iter().any(|own| name.eq_ignore_ascii_case(own)) {
            // Its form was looked at where the page set it.
            let _valid = exchange.reply.field(name, value.as_bytes());
        }
    }
    if !has_body {
        exchange.reply.end_head();
        return;
    }
    if !typed {
        let _valid = exchange.reply.field("Content-Type", page.media_type.as_bytes());
    }
    exchange.reply.end_head_with_length(output.body.len() as u64);
    exchange.reply.body(&output.body);
}
