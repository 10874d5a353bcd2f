//! Requests that a page answers: started, continued, and turned into a reply.
//!
//! Owns what a page may set in its reply, and the answer for a page that failed. Never knows how a
//! page runs.

use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;

use config::PageErrors;
use config::RouteAction;
use config::route::FoundRoute;
use files::RootIndex;
use http::{Added, Answer, FieldList};
use pages::uploads::UploadState;
use pages::{
    FaultReport, LineWriter, Moment, Page, PageKind, PageSet, RequestHost, RunResult, SetIndex,
};
use runtime::diagnostic::{self, Level};
use runtime::slots::ProcessId;
use runtime::trace;
use script::engine::{Author, Fault, PageOutput, ScriptError};
use wire::http::method::Method;
use wire::http::status::Status;

use super::Site;
use super::exchange::{Asked, Exchange, try_again_soon};
use super::page_fields::{is_of_page, status_set, write_fields};
use super::traced;
use crate::limits::APP_MAIN;
use crate::message::AnswerContext;

impl Site {
    /// The page that answers a path, if there is one.
    #[inline]
    pub(super) fn page_at(&self, root: RootIndex, path: &str) -> Option<(SetIndex, usize)> {
        let (runner, set) = (self.pages.runner()?, self.data.set_of(root)?);
        Some((set, runner.find(set, path.trim_start_matches('/'))?))
    }

    /// The app module with this name, if there is one. A request that began with a module continues with it.
    pub(super) fn module_at(&self, name: &str, process: ProcessId) -> Option<(SetIndex, usize)> {
        let (runner, set) = (self.pages.runner()?, self.data.app_set()?);
        let found = runner.find(set, name);
        Some((set, found.or_else(|| runner.is_underway(process).then_some(0))?))
    }

    /// The app module that answers requests without a route or file, if there is one.
    pub(super) fn main_module(&self, found: &FoundRoute<'_>) -> Option<(SetIndex, usize)> {
        let (runner, set) = (self.pages.runner()?, self.data.app_set()?);
        // A route that serves files means that files answer below it.
        let is_routed = self.data.table.place_of(found.rule).is_some();
        let main = runner.find(set, APP_MAIN).filter(|_| !is_routed)?;
        Some((set, main))
    }

    /// Whether a page has begun to answer this process's request.
    pub(super) fn is_page_underway(&self, process: ProcessId) -> bool {
        self.pages.is_underway(process)
    }

    /// Answers with a page, or lets the request wait for it.
    pub(super) fn answer_with_page(
        &mut self,
        (set, index): (SetIndex, usize),
        asked: Asked<'_>,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        exchange.place.begin_page((set, index));
        context.notes.timed_as.page =
            self.pages.runner_mut().map_or(0, |runner| runner.number_of(set, index));
        match self.underway.form_state(context.id) {
            Some(UploadState::Coming) => return Answer::Wait,
            Some(UploadState::Refused(status)) => {
                return self.refuse(status, &fields_of(status), found, exchange, context);
            }
            Some(UploadState::Whole) | None => {}
        }
        if let Some(page) = self.broken_module((set, index), context.id) {
            let status = Status::INTERNAL_SERVER_ERROR;
            let shown = self.shown(&FaultReport::of_text(&page), status, set);
            return self.answer_fault(status, shown, found, exchange, context);
        }
        let run_result = self.run_page((set, index), asked, found, exchange, context);
        self.answer_turnout(run_result, set, found, exchange, context)
    }

    /// Runs a page as far as possible. The runner stays in place, so a panic in here loses this page, not all pages.
    fn run_page(
        &mut self,
        place: (SetIndex, usize),
        Asked { path, rest }: Asked<'_>,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Option<RunResult> {
        let (request, user) = (exchange.request, exchange.place.user());
        let runner = self.pages.runner_mut()?;
        let site = self.data.config.site_name(found.host);
        let form = self.underway.form(context.id);
        let gate = Rc::clone(runner.log_gate());
        let writer = gate.of(LineWriter::Requests(place.0.0, place.1));
        let publications = Rc::clone(runner.publications());
        let records = Rc::clone(runner.records());
        let (publications, records) = (&*publications, &*records);
        let limiter = self.entry.limits_of_pages();
        let now = context.now;
        if trace::is_on()
            && !runner.is_underway(context.id)
            && let Some(names) = runner.names_of(place.0, place.1)
        {
            traced::page(context.id, request, &names);
        }
        let mut host = RequestHost {
            process: context.id,
            request,
            path,
            rest,
            writer,
            now,
            site,
            user,
            form,
            limiter,
            publications,
            records,
            hints: FieldList::new(),
        };
        let endpoint = context.mail.endpoint();
        let now_ns = context.now.monotonic_ns;
        let thread_cpu_ns = sys::accounting::thread_cpu_ns;
        let moment = Moment { now_ns, endpoint, thread_cpu_ns, clock_ns: sys::clock::monotonic_ns };
        let run_result =
            runner.run(context.id, request.sharing_client(), place.0, place.1, &mut host, moment);
        let hints = host.hints;
        for (process, wish) in runner.take_file_wishes() {
            if let Err(why) = self.underway.order_file(process, wish, context.mail) {
                runner.tell_of_file(process, Err(why));
            }
        }
        if matches!(run_result, Some(RunResult::Wait)) {
            exchange.hint(&hints);
        }
        run_result
    }

    /// For the author, the broken module is shown instead of the previous version's behaviour. A broken page has no
    /// code at all.
    fn broken_module(
        &self,
        (set, index): (SetIndex, usize),
        process: ProcessId,
    ) -> Option<Arc<Page>> {
        let runner = self.pages.runner()?;
        let is_shown = self.data.config.pages.errors == PageErrors::Shown;
        let page = runner.page(set, index).filter(|_| is_shown)?;
        // Modules take effect together: a broken one holds up all. The modules that a page requires are not known
        // before it runs.
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
        run_result: Option<RunResult>,
        set: SetIndex,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let (status, shown) = match (run_result, self.pages.runner_mut()) {
            (Some(RunResult::Done(page)), Some(runner)) => {
                if runner.output().author == Author::Upstream {
                    return self.hand_on((&page, set), found, exchange, context);
                }
                if runner.output().author == Author::Server {
                    let (status, fields) = said_by_module(runner.output());
                    return self.answer_for_module(status, &fields, found, exchange, context);
                }
                let is_packed = self.data.config.pages.compress && !exchange.reply.is_begun();
                let answered = (runner.output(), &*page);
                if is_packed
                    && let Some(answer) = self.underway.pack(context.id, answered, exchange)
                {
                    return answer;
                }
                write(runner.output(), &page, exchange);
                return Answer::Done;
            }
            (Some(RunResult::Part(page)), Some(runner)) => {
                if write_part(runner.output(), &page, exchange) == Added::Bytes {
                    runner.note_sent(context.id);
                }
                if !exchange.reply.sends_body() {
                    // For HEAD the head is the whole answer (RFC 9110 section 9.3.2), so the rest is not produced.
                    runner.end_answered(context.id);
                    return Answer::Done;
                }
                return Answer::Part;
            }
            (Some(RunResult::Accept(_)), Some(_)) => return self.accept_talk(exchange, context),
            (Some(RunResult::Wait), Some(_)) => return Answer::Wait,
            (Some(RunResult::Failed(page, error)), Some(_)) => {
                self.failure(&page, error.as_deref(), set)
            }
            _ if exchange.reply.is_begun() => return Answer::Cut,
            _ => {
                return self.refuse(Status::NOT_FOUND, &FieldList::new(), found, exchange, context);
            }
        };
        if exchange.reply.is_begun() {
            // There is no other answer any more.
            return Answer::Cut;
        }
        self.answer_fault(status, shown, found, exchange, context)
    }

    /// Logs the failure of a page; returns the status of its answer, and what its author is shown.
    pub(super) fn failure(
        &self,
        page: &Page,
        error: Option<&ScriptError>,
        set: SetIndex,
    ) -> (Status, Option<Vec<u8>>) {
        let Some(error) = error else {
            self.tell_at(Level::Error, page, "it has no good version, so it does not run");
            let status = Status::INTERNAL_SERVER_ERROR;
            return (status, self.shown(&FaultReport::of_text(page), status, set));
        };
        self.tell_at(level_of(error.fault), page, &told(error));
        let status = status_of(error.fault);
        let part = self.pages(set).and_then(|pages| pages.broken_in(&error.message));
        let report = match part {
            Some(part) => FaultReport::of_part(part, error),
            None => FaultReport::of_run(page, error),
        };
        (status, self.shown(&report, status, set))
    }

    /// Logs a line about a page, unless it fails too often.
    pub(super) fn tell_at(&self, level: Level, page: &Page, what: &str) {
        let kind = match page.kind {
            PageKind::Page => "page",
            PageKind::Module => "module",
        };
        let file = &page.name.file;
        let gate = self.pages.runner().map(|runner| runner.log_gate());
        let name = format!("{kind} {file}");
        if gate.is_none_or(|gate| gate.admits(level, LineWriter::Failures(file), &name, what.len()))
        {
            diagnostic::write(
                level,
                format_args!("{name}: {}", what.replace(char::is_control, " ")),
            );
        }
    }

    /// The current pages of a root.
    fn pages(&self, set: SetIndex) -> Option<&PageSet> {
        self.pages.runner()?.pages(set)
    }

    /// The module has no answer of its own.
    fn answer_for_module(
        &mut self,
        status: Status,
        fields: &FieldList,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let is_read = matches!(exchange.request.method(), Method::Get | Method::Head);
        if status == Status::NOT_FOUND
            && !is_read
            && matches!(found.action, Ok(RouteAction::Files { .. }))
        {
            // There may be a file.
            return self.answer_other_method(found, exchange, context);
        }
        self.refuse(status, fields, found, exchange, context)
    }

    /// The text for the author of a page, if the configuration says that clients are its authors.
    pub(super) fn shown(
        &self,
        report: &FaultReport<'_>,
        status: Status,
        set: SetIndex,
    ) -> Option<Vec<u8>> {
        match self.data.config.pages.errors {
            PageErrors::Hidden => None,
            PageErrors::Shown => Some(report.render(status, self.pages(set)?)),
        }
    }

    pub(super) fn answer_fault(
        &mut self,
        status: Status,
        shown: Option<Vec<u8>>,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let fields = fields_of(status);
        match shown {
            Some(page) => Self::fault_page(status, &fields, &page, exchange),
            None => self.refuse(status, &fields, found, exchange, context),
        }
    }
}

/// The status and the fields that a module has set for an answer that the server gives in its place.
fn said_by_module(output: &PageOutput) -> (Status, FieldList) {
    let status = output.status.and_then(Status::from_code).unwrap_or(Status::NOT_FOUND);
    let mut fields = FieldList::new();
    for (name, value) in output.fields().filter(|(name, _)| is_of_page(name)) {
        if !name.eq_ignore_ascii_case("content-type") {
            // It was checked when the module set it, and a module can set only few.
            let _valid = fields.add(name, value);
        }
    }
    (status, fields)
}

/// The fields that a status requires.
fn fields_of(status: Status) -> FieldList {
    let is_busy = status == Status::SERVICE_UNAVAILABLE;
    if is_busy { try_again_soon() } else { FieldList::new() }
}

/// The status for a page that was ended.
fn status_of(fault: Fault) -> Status {
    match fault {
        Fault::Memory
        | Fault::CpuBudget
        | Fault::Stalled
        | Fault::Deadline
        | Fault::Stopped
        | Fault::Store => Status::SERVICE_UNAVAILABLE,
        Fault::Compile | Fault::Runtime | Fault::TableSize => Status::INTERNAL_SERVER_ERROR,
        Fault::Request => Status::BAD_REQUEST,
        Fault::RequestSize => Status::CONTENT_TOO_LARGE,
    }
}

/// An error with its stack, in one line.
pub(super) fn told(error: &ScriptError) -> String {
    let mut text = error.to_string();
    for frame in &error.traceback {
        let _written = write!(text, "; from {frame}");
    }
    text
}

/// The log level of a failure: the lowest if only the client is at fault.
pub(super) fn level_of(fault: Fault) -> Level {
    if fault.is_of_client() { Level::Debug } else { Level::Error }
}

/// The whole answer of a page, or the rest of one that was begun.
fn write(output: &PageOutput, page: &Page, exchange: &mut Exchange<'_, '_>) {
    if exchange.reply.is_begun() {
        exchange.reply.part(&output.body);
        return;
    }
    let status = status_set(output);
    exchange.reply.begin(status);
    if !status.has_content() {
        write_fields(output, None, exchange);
        exchange.reply.end_head_without_body(status);
        return;
    }
    write_fields(output, Some(page), exchange);
    exchange.reply.end_head_with_length(output.body.len() as u64);
    exchange.reply.body(&output.body);
}

/// A part of a page's answer, with the head if it was not sent yet.
fn write_part(output: &PageOutput, page: &Page, exchange: &mut Exchange<'_, '_>) -> Added {
    if !exchange.reply.is_begun() {
        let status = status_set(output);
        exchange.reply.begin_parts(status);
        write_fields(output, status.has_content().then_some(page), exchange);
        exchange.reply.end_head();
    }
    exchange.reply.part(&output.body)
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use std::net::SocketAddr;
    use std::path::PathBuf;

    use runtime::mailbox::{EndpointRole, Waking, mesh};
    use runtime::scheduler::{Scheduler, SchedulerSettings, TurnWait};
    use sys::pollset::{ListenOptions, Silence, Speaks};
    use sys::socket::ListenAddress;
    use world::{ClientId, Faults, Sim, World};

    use super::super::endpoints::Helpers;
    use super::*;
    use crate::conn::Connections;
    use crate::load::ConfigSource;
    use pages::Before;

    /// A server with these pages, in a simulated world.
    struct Server {
        world: World,
        scheduler: Scheduler<Sim, Connections>,
        address: ListenAddress,
        directory: PathBuf,
    }

    impl Server {
        fn of(name: &str, pages: &[(&str, &str)]) -> Self {
            let own = format!("site-{name}-{}", std::process::id());
            let directory = std::env::temp_dir().join(own);
            std::fs::create_dir(&directory).unwrap();
            for (file, text) in pages {
                std::fs::write(directory.join(file), text).unwrap();
            }
            let source = ConfigSource { directory: directory.clone(), ..ConfigSource::default() };
            let data = Arc::new(source.load(1, Before::default()).unwrap());
            let helpers = Helpers::of_files(1, Vec::new());
            let site = Site::open(Arc::clone(&data), helpers, 1).unwrap();
            let service = Connections::new(site, &data, None);
            let world = World::new(1, Faults::none());
            let seat = mesh(&[EndpointRole::Scheduler], Waking::Driven).unwrap().remove(0);
            let settings = SchedulerSettings { connections: 10, ..SchedulerSettings::default() };
            let mut scheduler = Scheduler::new(world.pollset(0), service, seat.mailbox, settings);
            let address = ListenAddress::Tcp(SocketAddr::from(([10, 0, 0, 1], 80)));
            let first = Speaks::Either;
            let options = ListenOptions {
                address: address.clone(),
                backlog: 10,
                first,
                silent: Silence::Trusted,
            };
            scheduler.listen(&options).unwrap();
            Self { world, scheduler, address, directory }
        }

        fn ask(&self, path: &str) -> ClientId {
            let client = self.world.connect(&self.address).unwrap();
            let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
            self.world.client_send(client, request.as_bytes());
            client
        }

        /// The bytes that a client has received after this time.
        fn answer(&mut self, client: ClientId, after_ns: u64) -> String {
            self.world.advance(after_ns);
            for _ in 0..10 {
                self.scheduler.turn(TurnWait::Forbidden).unwrap();
            }
            String::from_utf8(self.world.client_received(client)).unwrap()
        }

        fn runner(&mut self) -> &mut pages::Runner {
            self.scheduler.service().http_mut().application_mut().pages.runner_mut().unwrap()
        }
    }

    impl Drop for Server {
        fn drop(&mut self) {
            let _gone = std::fs::remove_dir_all(&self.directory);
        }
    }

    #[test]
    fn a_panic_takes_its_page_and_no_other() {
        let second_ns = 1_000_000_000;
        let pages = [("a.page.txt", "a"), ("b.page.txt", "b"), ("c.page.txt", "<% sleep(1) %>c")];
        let mut server = Server::of("panic", &pages);
        let waiting = server.ask("/c");
        assert_eq!(server.answer(waiting, 0), "");
        server.runner().count_nowhere();
        let failed = server.ask("/a");
        assert_eq!(server.answer(failed, 0), "");
        assert_eq!(server.scheduler.stats().panics, 1);
        let other = server.ask("/b");
        assert!(server.answer(other, 0).ends_with("\r\n\r\nb"));
        assert!(server.answer(waiting, second_ns).ends_with("\r\n\r\nc"), "it was under way");
        assert_eq!(server.scheduler.stats().panics, 1);
    }
}
