//! The site as the application of one scheduler: its start, its messages and its requests.
//!
//! Owns the events. Never answers itself: `answer` does.

use std::rc::Rc;
use std::sync::Arc;

use actors::Letter;
use channels::Channels;
use files::Warm;
use files::error_page;
use http::{
    Answer, Application, BodyPolicy, ClientInterest, FieldList, Intake, Patience, Reply, Request,
    SlowRequest, Unanswered, Urgency,
};
use local::Local;
use pages::PageSet;
use runtime::diagnostic::{self, Level};
use runtime::mailbox::Endpoint;
use runtime::output::FileRegion;
use runtime::service::SchedulerCommand;
use runtime::slots::ProcessId;
use wire::http::status::Status;

use super::Site;
use super::endpoints::Helpers;
use super::engine::PageEngine;
use super::entry::EntryChecks;
use super::file_desk::FileDesk;
use super::outgoing::Outgoing;
use super::slow_lines::SlowLines;
use super::underway::Underway;
use crate::message::{AnswerContext, Context, FoundFile, Message, ServiceContext};
use crate::site_data::SiteData;

impl Site {
    /// A site for one scheduler, with its roots opened in that scheduler's descriptor table.
    ///
    /// # Errors
    /// If a root cannot be opened.
    pub fn open(data: Arc<SiteData>, helpers: Helpers, unique: u128) -> std::io::Result<Self> {
        let files = FileDesk::open(&data, helpers.files.clone(), unique)?;
        let number = unique as u64;
        let pages = PageEngine::new(&data, helpers.schedulers, number)?;
        // For a scheduler on its own; `join_schedulers` changes this.
        let channels = Channels::new(Endpoint(0), 1, number, Arc::clone(&data.rulebook));
        let local = Local::new(channels);
        let underway = Underway::new(helpers.uploads.clone());
        let entry = EntryChecks::new(&data, &helpers, number)?;
        let outgoing = Outgoing::new(&data, &helpers, number);
        Ok(Self {
            data: Rc::new(data),
            helpers,
            files,
            underway,
            outgoing,
            pages,
            local,
            entry,
            slow_lines: SlowLines::default(),
        })
    }

    /// The scheduler starts, so processes of the site may start, and servers of upstreams are up from now on.
    pub(crate) fn begin(&mut self, context: &mut ServiceContext<'_>) {
        let has_checks = self.outgoing.begin(&self.data, context.now.monotonic_ns);
        self.tune(context.now.monotonic_ns);
        if has_checks || !self.data.processes.is_empty() {
            context.wake_after_ms(0);
        }
    }

    /// A helper has answered, so it has room: the first waiting request asks again. A full mailbox contains messages
    /// that will still be answered, so every waiting request is eventually resumed.
    pub(crate) fn resume_postponed(&mut self, context: &mut ServiceContext<'_>) {
        if let Some(process) = self.files.take_postponed() {
            context.command(SchedulerCommand::Resume(process));
        }
    }

    pub(crate) fn on_found(&mut self, found: FoundFile, context: &mut ServiceContext<'_>) {
        for process in self.files.learn(found, &self.data, context.now.monotonic_ms()) {
            context.command(SchedulerCommand::Resume(process));
        }
    }

    pub(crate) fn on_reload(&mut self, data: Arc<SiteData>, context: &mut ServiceContext<'_>) {
        if let Err(error) = self.files.reload(&data) {
            // The roots could be opened when the configuration was checked a moment ago. Keep the old configuration.
            let told = format_args!("a scheduler keeps its old site: {error}");
            return diagnostic::write(Level::Error, told);
        }
        self.load_pages(&data.pages);
        if let Some(mut store) = self.local.store() {
            store.set_rules(Arc::clone(&data.database_rules));
        }
        self.pages.reload(&data);
        self.outgoing.reload(&data, &self.helpers, context.now.monotonic_ns);
        self.data = Rc::new(data);
        self.tune(context.now.monotonic_ns);
        self.entry.forget_known_passwords();
        for process in self.files.take_waiting() {
            context.command(SchedulerCommand::Resume(process));
        }
    }

    /// Pages of roots that are not served here belong to a configuration that this scheduler could not adopt.
    pub(crate) fn on_pages(&mut self, generation: u64, sets: &[Arc<PageSet>]) {
        if generation == self.data.generation {
            self.load_pages(sets);
        }
    }

    /// If no page was ever run, there is no process that a letter could be for.
    pub(crate) fn on_letter(
        &mut self,
        from: Endpoint,
        letter: Letter,
        context: &mut ServiceContext<'_>,
    ) {
        if let Some(runner) = self.pages.runner_mut() {
            runner.take_letter(from, letter);
        } else if let Some(answer) = letter.answer_of_nobody() {
            // If there is no room, the sender's deadline tells it that there is no answer.
            let _told = context.mail.send_part(from, Box::new(answer));
        }
    }

    /// A helper has read a region into memory for a process.
    pub(crate) fn on_warmed(&mut self, process: ProcessId, context: &mut ServiceContext<'_>) {
        self.files.note_warmed(process);
        context.command(SchedulerCommand::Resume(process));
    }

    pub(crate) fn end_turn(&mut self, context: &mut ServiceContext<'_>) {
        self.hear_channels(context);
        self.tell_pages_of_orders();
        self.end_turn_of_pages(context);
        self.outgoing.ask_names(context.mail);
        self.hear_servers(context);
        self.outgoing.end_turn(context);
        self.underway.end_turn(context);
        self.publish_of_pages(&mut self.local.channels(), context.now.monotonic_ms());
        self.hear_channels(context);
        self.local.channels().end_turn(context);
        self.order_for_pages(context);
        self.entry.end_turn(&self.data, context);
    }

    /// A request has ended, with whatever answer, or its client has: gives back what was taken for it.
    #[inline]
    fn end_request(&mut self, process: ProcessId) {
        self.underway.end_form(process);
        self.entry.forget_password(process);
        self.entry.end_metered(process);
    }

    /// The scheduler has ended.
    pub(crate) fn leave(&mut self) {
        self.pages.leave();
    }
}

impl Application for Site {
    type Message = Message;

    fn on_slow(&mut self, request: &Request<'_>, slow: &SlowRequest<'_>) {
        self.write_slow(request, slow);
    }

    fn body_policy(
        &mut self,
        request: &Request<'_>,
        context: &mut AnswerContext<'_>,
    ) -> BodyPolicy {
        self.plan_body(request, context)
    }

    fn admit_body(&mut self, request: &Request<'_>, context: &mut AnswerContext<'_>) -> Intake {
        self.ask_for_body(request, context)
    }

    fn begin_body(&mut self, request: &Request<'_>, context: &mut AnswerContext<'_>) -> Intake {
        if self.data.table.asks_for_access() {
            self.begin_password(request, context);
        }
        if let Some(intake) = self.begin_proxied_body(request, context) {
            return intake;
        }
        match self.begin_form(request, context) {
            Intake::Enough => Intake::Enough,
            intake => self.begin_question(request, context).unwrap_or(intake),
        }
    }

    fn on_body(&mut self, piece: &[u8], context: &mut AnswerContext<'_>) -> Intake {
        if self.entry.is_refused(context.id) {
            return Intake::Enough;
        }
        if self.outgoing.is_question(context.id) {
            let intake = self.underway.take_piece(context.id, piece, context.mail);
            return self.intake_of_question(intake, context);
        }
        if self.outgoing.carries(context.id) {
            return self.take_proxied_body(piece, context);
        }
        self.underway.take_piece(context.id, piece, context.mail)
    }

    fn on_body_end(&mut self, trailers: &FieldList, context: &mut AnswerContext<'_>) {
        let now_ns = context.now.monotonic_ns;
        self.outgoing.end_upload(context.id, trailers, now_ns);
    }

    fn urgency(&mut self, process: ProcessId) -> Urgency {
        self.outgoing.urgency(process)
    }

    fn kept_of_body(&self, process: ProcessId) -> usize {
        let proxied = self.outgoing.held_bytes(process);
        self.underway.held_bytes(process) + proxied
    }

    fn patience(&self, process: ProcessId) -> Patience {
        let is_proxied = self.outgoing.has(process);
        if is_proxied { Patience::Endless } else { Patience::Settings }
    }

    #[inline]
    fn on_request(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        if let Some(store) = self.local.store() {
            // The client may have heard of a commit since the turn began.
            store.turn_store().renew();
        }
        let answer = self.answer(request, reply, context);
        self.entry.count_answer(request, reply, &self.data, context);
        if answer.is_over() {
            self.end_request(context.id);
        }
        answer
    }

    fn error_page(&mut self, status: Status, body: &mut Vec<u8>) -> &'static str {
        body.extend_from_slice(self.data.error_pages.page(status.code()));
        error_page::MEDIA_TYPE
    }

    fn on_peer_finished(&mut self, process: ProcessId) -> ClientInterest {
        let is_proxied = self.outgoing.has(process);
        if self.local.channels().is_polling(process) || is_proxied {
            return ClientInterest::Doubted;
        }
        let runs_page = self.pages.is_underway(process);
        // A page may run for a long time.
        if runs_page { ClientInterest::Doubted } else { ClientInterest::Kept }
    }

    fn on_unanswered(&mut self, request: &Request<'_>, unanswered: Unanswered<'_>) {
        self.entry.count_unanswered(request, &unanswered);
        self.note_unanswered(request, unanswered);
    }

    fn on_gone(&mut self, process: ProcessId) {
        self.end_request(process);
        self.outgoing.forget(process);
        self.underway.forget(process);
        self.local.channels().forget(process);
        if let Some(mut store) = self.local.store() {
            store.forget(process);
        }
        self.pages.forget_run(process);
        self.pages.forget_talk(process);
    }

    fn on_cold_file(&mut self, region: &FileRegion, context: &mut Context<'_>) -> bool {
        let warm = Warm {
            root: files::RootIndex(region.name.root),
            relative: Arc::clone(&region.name.relative),
            offset: region.offset,
            length: region.length,
        };
        // The head of the answer was sent, so the request can only wait, no longer be refused.
        self.files.warm(context.id, warm, &self.data, context.mail)
            || self.files.postpone(context.id)
    }
}
