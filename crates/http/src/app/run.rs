//! How an app answers: from the request to its handler, from the outcome to the reply.
//!
//! Owns the answers without a handler: 404, 405, OPTIONS and malformed paths. Routes and handlers
//! belong to the app.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use runtime::mailbox::Endpoint;
use runtime::service::{SchedulerCommand, ServiceContext};
use runtime::slots::ProcessId;
use wire::http::method::Method;
use wire::http::status::Status;
use wire::http::target;

use super::call::Asked;
use super::message::{AppMessage, Kind as MessageKind};
use super::response::Response;
use super::{App, Call, Failure, HandlerResult, Parameters, Route};
use crate::limits::DRAIN_IDLE_GRACE;
use crate::{Answer, AnswerContext, Application, BodyPolicy, Http, Reply, Request};

impl<S: 'static> Application for App<S> {
    type Message = AppMessage<S>;

    fn body_policy(
        &mut self,
        _request: &Request<'_>,
        _context: &mut AnswerContext<'_, Self::Message>,
    ) -> BodyPolicy {
        BodyPolicy::Collect { limit: self.body_size }
    }

    fn on_request(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_, AppMessage<S>>,
    ) -> Answer {
        let outcome = self.outcome(request, context);
        match outcome {
            Ok(response) if response.is_later() => Answer::Wait,
            Ok(response) => {
                // The handler began a wait but did not return it.
                self.waiting.forget(context.id);
                response.write(reply);
                Answer::Done
            }
            Err(failure) => {
                self.waiting.forget(context.id);
                self.failures.note(&failure, request.path(), context.now);
                Response::text(failure.text()).status(failure.status()).write(reply);
                Answer::Done
            }
        }
    }

    fn on_gone(&mut self, process: ProcessId) {
        self.waiting.forget(process);
    }

    fn on_start(http: &mut Http<Self>, context: &mut ServiceContext<'_, AppMessage<S>>) {
        let now_ns = context.now.monotonic_ns;
        for job in &mut http.application_mut().jobs {
            job.due_ns = now_ns.saturating_add(nanoseconds(job.every));
            context.wake_at_ns(job.due_ns);
        }
    }

    fn on_message(
        http: &mut Http<Self>,
        from: Endpoint,
        message: AppMessage<S>,
        context: &mut ServiceContext<'_, AppMessage<S>>,
    ) {
        let app = http.application_mut();
        match message.0 {
            MessageKind::Ask { process, question, work } => {
                let state = &mut app.state;
                let done = catch_unwind(AssertUnwindSafe(|| work(state)));
                let (value, panic) = match done {
                    Ok(value) => (Some(value), None),
                    Err(panic) => (None, Some(panic)),
                };
                let answer = AppMessage(MessageKind::Answered { process, question, value });
                app.waiting.send(context.mail, from, answer);
                if let Some(panic) = panic {
                    // It is counted like any other panic.
                    resume_unwind(panic);
                }
            }
            MessageKind::Answered { process, question, value } => {
                app.waiting.take_value(process, question, value, context);
            }
            MessageKind::Stop { deadline_ms } => {
                let idle_grace_ms = u64::try_from(DRAIN_IDLE_GRACE.as_millis()).unwrap_or(u64::MAX);
                context.command(SchedulerCommand::Drain { deadline_ms, idle_grace_ms });
            }
        }
    }

    fn on_turn_end(http: &mut Http<Self>, context: &mut ServiceContext<'_, AppMessage<S>>) {
        let app = http.application_mut();
        app.waiting.end_turn(context);
        let now_ns = context.now.monotonic_ns;
        // The one that has been due longest, so that every job gets its turn.
        let due = (0..app.jobs.len()).filter(|index| app.jobs[*index].due_ns <= now_ns);
        let due = due.min_by_key(|index| app.jobs[*index].due_ns);
        if let Some(job) = due.and_then(|index| app.jobs.get_mut(index)) {
            // Missed times of a late job are not made up for.
            job.due_ns = now_ns.saturating_add(nanoseconds(job.every));
        }
        // Other due jobs run in the next turns, which begin at once.
        for job in &app.jobs {
            context.wake_at_ns(job.due_ns);
        }
        // Last in the turn, so that a job that panics prevents nothing else.
        if let Some(job) = due.and_then(|index| app.jobs.get_mut(index)) {
            (job.work)(&mut app.state);
        }
    }
}

impl<S: 'static> App<S> {
    fn outcome(
        &mut self,
        request: &Request<'_>,
        context: &mut AnswerContext<'_, AppMessage<S>>,
    ) -> HandlerResult {
        match self.waiting.take(context.id) {
            Asked::Still => return Ok(Response::later()),
            Asked::Again(then) => {
                let parameters = context.take_kept::<Parameters>().unwrap_or_default();
                return self.call(request, *parameters, context, |call, _| then(call));
            }
            Asked::First => {}
        }
        if request.target() == b"*" {
            return Ok(Response::empty(Status::NO_CONTENT));
        }
        let mut scratch = Vec::new();
        let path =
            target::resolve(request.head.split_target().0, &mut scratch).map_err(|error| {
                let status = Status::from_code(error.status()).unwrap_or(Status::BAD_REQUEST);
                Failure::new(status, error.to_string())
            })?;
        let found = self.paths.at(path).map_err(|_| Failure::not_found())?;
        let parameters = found.params.iter().map(|(name, value)| (name.into(), value.into()));
        let (parameters, number) = (parameters.collect(), *found.value);
        self.call(request, parameters, context, |call, routes| {
            let route = routes.get_mut(number).ok_or_else(Failure::not_found)?;
            route.answer(call)
        })
    }
}

impl<S: 'static> Route<S> {
    fn answer(&mut self, call: &mut Call<'_, S>) -> HandlerResult {
        let method = call.request().method();
        let name = if method == Method::Head { "GET" } else { method.as_str() };
        match self.handlers.get_mut(name) {
            Some(handler) => handler(call),
            None if method == Method::Options => {
                Response::empty(Status::NO_CONTENT).field("Allow", &self.allow())
            }
            None => {
                let text = Failure::new(Status::METHOD_NOT_ALLOWED, "").text();
                let response = Response::text(text).status(Status::METHOD_NOT_ALLOWED);
                response.field("Allow", &self.allow())
            }
        }
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
