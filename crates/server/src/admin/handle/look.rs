//! The answers of the admin service to those who look: one snapshot, or one after the other, or one thing as a whole,
//! which it may end.
//!
//! Owns these answers. When a stream is due, `dashboard` says; what a snapshot has, `live` says.

use std::sync::Arc;

use ::live::{List, ServerSnapshot};
use http::{Answer, Reply, Request};
use runtime::mailbox::Endpoint;
use runtime::service::SchedulerCommand;
use wire::http::status::Status;

use super::Admin;
use crate::admin::dashboard::Turn;
use crate::admin::{live, problem, profiling, status};
use crate::live::{Id, ViewRequest, info_of_row};
use crate::message::{AnswerContext, Inquiry, ServiceContext};
use crate::origin::is_of_another_site;
use crate::profile_order::{NoProfile, ProfileWish};

impl Admin {
    /// The server's view of itself, with the list that the query names.
    pub(super) fn live(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let Some(wish) = wish_of(request, reply) else { return Answer::Done };
        if !self.has_answers(&Inquiry::Live(Arc::clone(&wish)), context) {
            return Answer::Wait;
        }
        reply.json(&self.snapshot(&wish, context));
        Answer::Done
    }

    fn snapshot(&self, wish: &ViewRequest, context: &AnswerContext<'_>) -> ServerSnapshot {
        let at_ms = context.now.unix_ms();
        let shown = live::snapshot(&self.facts, self.phase, &self.round, wish, at_ms);
        ServerSnapshot { events: self.events.last(), ..shown }
    }

    /// The same every second, as an event stream (HTML, section 9.2).
    pub(super) fn stream(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let now_ms = context.now.monotonic_ms();
        let Some(turn) = self.streams.turn(context.id, now_ms) else {
            let Some(wish) = wish_of(request, reply) else { return Answer::Done };
            if is_of_another_site(request) {
                // It could not read the stream, but take the place of a dashboard.
                reply.empty(Status::FORBIDDEN);
                return Answer::Done;
            }
            if !self.streams.open(context.id, wish) {
                reply.empty(Status::SERVICE_UNAVAILABLE);
                return Answer::Done;
            }
            reply.begin_parts(Status::OK);
            let _valid = reply.field("Content-Type", b"text/event-stream");
            let _valid = reply.field("Cache-Control", b"no-store");
            reply.end_head();
            reply.part(b": a snapshot every second\n\n");
            return Answer::Part;
        };
        let Turn::Show(wish) = turn else { return Answer::Wait };
        if !self.has_answers(&Inquiry::Live(Arc::clone(&wish)), context) {
            return Answer::Wait;
        }
        let snapshot = self.snapshot(&wish, context);
        let Ok(text) = serde_json::to_string(&snapshot) else { return Answer::Cut };
        // JSON of one line has no line end in it.
        reply.part(format!("data: {text}\n\n").as_bytes());
        self.streams.on_shown(context.id, now_ms);
        Answer::Part
    }

    /// The facts of the thing whose id is in the query.
    pub(super) fn info(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let query = request.query().unwrap_or_default().as_bytes();
        let id = form_urlencoded::parse(query).find(|(name, _)| name == "id");
        let id = id.map(|(_, id)| id).unwrap_or_default();
        if let Some((list, kind)) = List::of_id(&id) {
            return self.row((list, kind, &id), reply, context);
        }
        self.one(Inquiry::Info(id.into()), reply, context)
    }

    /// The facts of a thing that has only a row.
    fn row(
        &mut self,
        (list, kind, id): (List, &str, &str),
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let only = Some(id.to_owned());
        let wish =
            Arc::new(ViewRequest { list: Some(list), only, most: 1, ..ViewRequest::default() });
        if !self.has_answers(&Inquiry::Live(Arc::clone(&wish)), context) {
            return Answer::Wait;
        }
        let list = live::list(&self.facts, &self.round, &wish, context.now.unix_ms());
        match list.rows.first() {
            Some(row) => reply.json(&info_of_row(kind, row)),
            None => self.is_not_seen(None, reply),
        }
        Answer::Done
    }

    /// Ends the thing whose id is the body, and says what it was.
    pub(super) fn end(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        // A body that is not UTF-8 is the id of nothing.
        let id = str::from_utf8(request.body).unwrap_or_default().trim();
        if let Some((_, kind)) = List::of_id(id) {
            let text = format!("a {kind} cannot be ended; a connection or a process of a page can");
            problem::say_with(Status::CONFLICT, &text, reply);
            return Answer::Done;
        }
        self.one(Inquiry::End(id.into()), reply, context)
    }

    /// The facts of one thing, now or from before it was ended.
    fn one(
        &mut self,
        inquiry: Inquiry,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        if !self.has_answers(&inquiry, context) {
            return Answer::Wait;
        }
        let mut infos = self.round.answered().map(|report| &report.shown.info);
        match (infos.find_map(Option::as_ref), &inquiry) {
            (Some(info), _) => reply.json(info),
            (None, Inquiry::Info(id) | Inquiry::End(id)) => {
                self.is_not_seen(Id::parse(id).map(Id::scheduler), reply);
            }
            (None, _) => reply.empty(Status::NOT_FOUND),
        }
        Answer::Done
    }

    /// Says that there is no such thing, or that it may be on a scheduler that has not answered: on this one if only it
    /// could have it.
    fn is_not_seen(&self, scheduler: Option<Endpoint>, reply: &mut Reply<'_>) {
        let asked = self.round.schedulers().iter().enumerate();
        let silent = asked.filter(|(_, report)| report.is_none()).map(|(number, _)| number);
        let could_have = |number: &usize| scheduler.is_none_or(|it| usize::from(it.0) == *number);
        let silent: Vec<String> = silent.filter(could_have).map(|it| it.to_string()).collect();
        if silent.is_empty() {
            reply.empty(Status::NOT_FOUND);
            return;
        }
        let text = format!(
            "scheduler {} has not answered for a second; what it is to end, it ends when it turns again",
            silent.join(", ")
        );
        problem::say_with(Status::SERVICE_UNAVAILABLE, &text, reply);
    }

    /// A profile of the server.
    pub(super) fn profile(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        if self.profiling.is_asked_by(context.id) {
            return self.profiling.answer(context.id, reply);
        }
        let wish = match profiling::wish_of(request) {
            Ok(ProfileWish::Event(event)) if self.peers.keeps_profile => {
                match self.events.minute_of(event) {
                    Some(first) => ProfileWish::Event(first),
                    None => {
                        profiling::refuse(&NoProfile::NoEvent, reply);
                        return Answer::Done;
                    }
                }
            }
            Ok(wish) => wish,
            Err(problem_text) => {
                problem::say(&problem_text, reply);
                return Answer::Done;
            }
        };
        // For the names of what pages do.
        if !self.has_answers(&Inquiry::NativeCode, context) {
            return Answer::Wait;
        }
        let code = status::native_code(&self.round);
        let who = (context.id, self.peers.profiler);
        self.profiling.ask((wish, code), who, context.mail, reply)
    }

    /// Resumes the streams that are due.
    pub(super) fn wake_streams(&mut self, context: &mut ServiceContext<'_>) {
        let now_ms = context.now.monotonic_ms();
        for process in self.streams.due(now_ms) {
            context.command(SchedulerCommand::Resume(process));
        }
        if let Some(milliseconds) = self.streams.next_due_ms(now_ms) {
            context.wake_after_ms(milliseconds);
        }
    }
}

/// The wish in the query of a request; one that is not understood is answered.
fn wish_of(request: &Request<'_>, reply: &mut Reply<'_>) -> Option<Arc<ViewRequest>> {
    match ViewRequest::parse(request.query().unwrap_or_default()) {
        Ok(wish) => Some(Arc::new(wish)),
        Err(problem_text) => {
            problem::say(&problem_text, reply);
            None
        }
    }
}
