//! Requests that a page answers: started, gone on with, and turned into a reply.
//!
//! Owns what a page may say of its reply, and what a page that failed is answered with. Never knows how a page runs.

use std::fmt::Write as _;
use std::sync::Arc;

use runtime::diagnostic::{self, Level};
use runtime::slots::ProcessId;
use script::engine::{Author, Fault, Output, ScriptError};
use wire::http::method::Method;
use wire::http::status::Status;

use super::answer::{Asked, Exchange};
use super::handle::Site;
use crate::config::PageErrors;
use crate::files::RootIndex;
use crate::http::{Added, Answer, AnswerContext};
use crate::limits::APP_MAIN;
use crate::message::Message;
use crate::pages::{
    FaultReport, Moment, Page, PageKind, PageSet, RequestHost, Runner, SetIndex, Turnout,
};
use crate::route::{Action, Found};
use crate::uploads::Standing;

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
    pub(super) fn page_at(
        &self,
        root: RootIndex,
        path: &str,
        process: ProcessId,
    ) -> Option<(SetIndex, usize)> {
        let (runner, set) = (self.runner.as_ref()?, self.data.set_of(root)?);
        let found = runner.find(set, path.trim_start_matches('/'));
        Some((set, found.or_else(|| runner.is_underway(process).then_some(0))?))
    }

    /// The app module of this name, if there is one. Who has begun with one goes on with it.
    pub(super) fn module_at(&self, name: &str, process: ProcessId) -> Option<(SetIndex, usize)> {
        let (runner, set) = (self.runner.as_ref()?, self.data.app_set()?);
        let found = runner.find(set, name);
        Some((set, found.or_else(|| runner.is_underway(process).then_some(0))?))
    }

    /// The app module that answers what no route takes and no file, if there is one.
    pub(super) fn main_module(&self, found: &Found<'_>) -> Option<(SetIndex, usize)> {
        let (runner, set) = (self.runner.as_ref()?, self.data.app_set()?);
        // A route that serves files says that files answer below it.
        let is_routed = self.data.table.place_of(found.rule).is_some();
        let main = runner.find(set, APP_MAIN).filter(|_| !is_routed)?;
        Some((set, main))
    }

    /// Whether a page has begun to answer this process's request.
    pub(super) fn is_page_underway(&self, process: ProcessId) -> bool {
        self.runner.as_ref().is_some_and(|runner| runner.is_underway(process))
    }

    /// Answers with a page, or has the request wait for it.
    pub(super) fn answer_with_page(
        &mut self,
        (set, index): (SetIndex, usize),
        asked: Asked<'_>,
        found: &Found<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        if !self.uploads.is_empty() {
            match self.uploads.standing(context.id) {
                Some(Standing::Coming) => return Answer::Wait,
                Some(Standing::Refused(status)) => {
                    return self.refuse(status, fields_of(status), found, exchange, context);
                }
                Some(Standing::Whole) | None => {}
            }
        }
        // Lent to this call: an error page needs the rest of the site.
        let Some(mut runner) = self.runner.take() else {
            return self.refuse(Status::NOT_FOUND, b"", found, exchange, context);
        };
        let answer = if let Some(page) = self.broken_module(&runner, (set, index), context.id) {
            let report = FaultReport::of_text(&page);
            let shown = self.shown(&report, Status::INTERNAL_SERVER_ERROR, runner.pages(set));
            self.answer_fault(Status::INTERNAL_SERVER_ERROR, shown, found, exchange, context)
        } else {
            let Asked { path, rest } = asked;
            let form = self.uploads.form(context.id);
            let (request, now) = (exchange.request, context.now);
            let site = self.data.config.site_name(found.host);
            let mut host = RequestHost { request, path, rest, now, site, form };
            let endpoint = context.mail.endpoint();
            let moment = Moment { now_ns: context.now.monotonic_ns, endpoint };
            let turnout = runner.run(context.id, (set, index), &mut host, moment);
            for (process, wish) in runner.take_file_wishes() {
                if let Err(why) = self.uploads.wish(process, &wish, context.mail) {
                    runner.tell_of_file(process, Err(why));
                }
            }
            self.answer_turnout(turnout, &mut runner, set, found, exchange, context)
        };
        self.runner = Some(runner);
        answer
    }

    /// The module that its author is to see is broken, rather than what the modules before do. Of a broken page there is no
    /// code then.
    fn broken_module(
        &self,
        runner: &Runner,
        (set, index): (SetIndex, usize),
        process: ProcessId,
    ) -> Option<Arc<Page>> {
        let is_shown = self.data.config.pages.errors == PageErrors::Shown;
        let page = runner.page(set, index).filter(|_| is_shown)?;
        // Modules are taken over together: one holds up all. Which of them a page requires is not known before it runs.
        let is_held_up = match page.kind {
            PageKind::Page => page.lua.is_some() && runner.pages(set)?.names_modules(),
            PageKind::Module => true,
        };
        let modules = self.data.app_set().filter(|_| is_held_up)?;
        let culprit = runner.pages(modules)?.culprit()?;
        (!runner.is_underway(process)).then(|| Arc::clone(culprit))
    }

    fn answer_turnout(
        &mut self,
        turnout: Option<Turnout>,
        runner: &mut Runner,
        set: SetIndex,
        found: &Found<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        let (status, shown) = match turnout {
            Some(Turnout::Done(_)) if runner.output().author == Author::Server => {
                return self.answer_for_module(runner.output(), found, exchange, context);
            }
            Some(Turnout::Done(page)) => {
                write(runner.output(), &page, exchange);
                return Answer::Done;
            }
            Some(Turnout::Part(page)) => {
                if write_part(runner.output(), &page, exchange) == Added::Bytes {
                    runner.note_sent(context.id);
                }
                if !exchange.reply.sends_body() {
                    // The head is the whole answer (RFC 9110 section 9.3.2): the rest would be made for nobody.
                    runner.end_answered(context.id);
                    return Answer::Done;
                }
                return Answer::Part;
            }
            Some(Turnout::Wait) => return Answer::Wait,
            Some(Turnout::Failed(page, Some(error))) => {
                tell(&page, &told(&error));
                let status = status_of(error.fault);
                let pages = runner.pages(set);
                let report = match pages.and_then(|pages| pages.broken_in(&error.message)) {
                    Some(part) => FaultReport::of_part(part, &error),
                    None => FaultReport::of_run(&page, &error),
                };
                (status, self.shown(&report, status, pages))
            }
            Some(Turnout::Failed(page, None)) => {
                tell(&page, "there is no good version of it: it is not run");
                let status = Status::INTERNAL_SERVER_ERROR;
                (status, self.shown(&FaultReport::of_text(&page), status, runner.pages(set)))
            }
            None if exchange.reply.is_begun() => return Answer::Cut,
            None => return self.refuse(Status::NOT_FOUND, b"", found, exchange, context),
        };
        if exchange.reply.is_begun() {
            // There is no other answer any more.
            return Answer::Cut;
        }
        self.answer_fault(status, shown, found, exchange, context)
    }

    /// A module has no answer of its own.
    fn answer_for_module(
        &mut self,
        output: &Output,
        found: &Found<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        let status = output.status.and_then(Status::from_code).unwrap_or(Status::NOT_FOUND);
        let is_read = matches!(exchange.request.method(), Method::Get | Method::Head);
        if status == Status::NOT_FOUND && !is_read && matches!(found.action, Action::Files { .. }) {
            // There may be a file.
            return self.answer_other_method(found, exchange, context);
        }
        let mut fields = Vec::new();
        for (name, value) in output.fields().filter(|(name, _)| is_of_page(name)) {
            if !name.eq_ignore_ascii_case("content-type") {
                for part in [name.as_bytes(), b": ", value, b"\r\n"] {
                    fields.extend_from_slice(part);
                }
            }
        }
        self.refuse(status, &fields, found, exchange, context)
    }

    /// What the author of a page is shown, where clients are its authors.
    fn shown(
        &self,
        report: &FaultReport<'_>,
        status: Status,
        pages: Option<&PageSet>,
    ) -> Option<Vec<u8>> {
        match self.data.config.pages.errors {
            PageErrors::Hidden => None,
            PageErrors::Shown => Some(report.render(status, pages?)),
        }
    }

    fn answer_fault(
        &mut self,
        status: Status,
        shown: Option<Vec<u8>>,
        found: &Found<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        let fields = fields_of(status);
        match shown {
            Some(page) => Self::fault_page(status, fields, &page, exchange),
            None => self.refuse(status, fields, found, exchange, context),
        }
    }
}

/// Whether a page may set this field.
fn is_of_page(name: &str) -> bool {
    !FRAMING.iter().any(|own| name.eq_ignore_ascii_case(own))
}

/// The fields that belong to a status.
fn fields_of(status: Status) -> &'static [u8] {
    let is_busy = status == Status::SERVICE_UNAVAILABLE;
    if is_busy { b"Retry-After: 1\r\n" } else { b"" }
}

/// What a client learns of a page that was ended.
fn status_of(fault: Fault) -> Status {
    match fault {
        Fault::Memory | Fault::CpuBudget | Fault::Stalled | Fault::Deadline => {
            Status::SERVICE_UNAVAILABLE
        }
        Fault::Compile | Fault::Runtime => Status::INTERNAL_SERVER_ERROR,
    }
}

/// An error with the way to it, in one line.
pub(super) fn told(error: &ScriptError) -> String {
    let mut text = error.to_string();
    for frame in &error.traceback {
        let _written = write!(text, "; from {frame}");
    }
    text
}

pub(super) fn tell(page: &Page, what: &str) {
    let kind = match page.kind {
        PageKind::Page => "page",
        PageKind::Module => "module",
    };
    diagnostic::write(
        Level::Error,
        format_args!("{kind} {}: {}", page.name.file, what.replace(char::is_control, " ")),
    );
}

/// The whole answer of a page, or the rest of one that was begun.
fn write(output: &Output, page: &Page, exchange: &mut Exchange<'_, '_>) {
    if exchange.reply.is_begun() {
        exchange.reply.part(&output.body);
        return;
    }
    let status = status_set(output);
    exchange.reply.begin(status);
    if !has_body(status) {
        write_fields(output, None, exchange);
        if status == Status::RESET_CONTENT {
            // RFC 9112 section 6.3: without a length it would last until the close.
            exchange.reply.end_head_with_length(0);
        } else {
            exchange.reply.end_head();
        }
        return;
    }
    write_fields(output, Some(page), exchange);
    exchange.reply.end_head_with_length(output.body.len() as u64);
    exchange.reply.body(&output.body);
}

/// A part of the answer of a page, with the head where that was not sent.
fn write_part(output: &Output, page: &Page, exchange: &mut Exchange<'_, '_>) -> Added {
    if !exchange.reply.is_begun() {
        let status = status_set(output);
        exchange.reply.begin_parts(status);
        write_fields(output, has_body(status).then_some(page), exchange);
        exchange.reply.end_head();
    }
    exchange.reply.part(&output.body)
}

fn status_set(output: &Output) -> Status {
    output.status.and_then(Status::from_code).unwrap_or(Status::OK)
}

fn has_body(status: Status) -> bool {
    !matches!(status.code(), 204 | 205 | 304)
}

/// The fields that the configuration and the page set, and the type of a page that set none.
fn write_fields(output: &Output, typed_by: Option<&Page>, exchange: &mut Exchange<'_, '_>) {
    exchange.configured_fields();
    let mut typed = false;
    for (name, value) in output.fields() {
        typed |= name.eq_ignore_ascii_case("content-type");
        if is_of_page(name) {
            // Its form was looked at where the page set it.
            let _valid = exchange.reply.field(name, value);
        }
    }
    if let Some(page) = typed_by.filter(|_| !typed) {
        let _valid = exchange.reply.field("Content-Type", page.media_type.as_bytes());
    }
}
