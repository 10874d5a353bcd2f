//! One request as its handler sees it.
//!
//! Owns access to the request, the state, and the waits of handlers. `waiting` ends a wait. Never
//! writes an answer.

mod waiting;

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ahash::HashMap;
use runtime::alarms::Alarms;
use runtime::clock::Now;
use runtime::mailbox::{Endpoint, Mailbox};
use runtime::slots::ProcessId;
use serde::de::DeserializeOwned;
use wire::http::status::Status;

pub(super) use waiting::Asked;

use super::message::{AppMessage, Work};
use super::response::Response;
use super::{App, Failure, HandlerResult, Parameters, Route};
use crate::{AnswerContext, Request};

/// One request in its handler.
///
/// A handler never blocks. To wait, it returns the result of [`after`](Self::after), [`ask`](Self::ask) or
/// [`ask_all`](Self::ask_all), with a closure that continues after the wait. Other requests are answered meanwhile. A
/// wait of more than 30 s is answered with 504.
///
/// ```
/// use http::{App, Response};
/// use std::time::Duration;
///
/// let app = App::new(0_u64)
///     .get("/slow", |call| {
///         call.after(Duration::from_millis(50), |_call| Ok(Response::text("after a while")))
///     })
///     .get("/visits", |call| {
///         *call.state() += 1;
///         call.ask_all(|visits| *visits, |_call, visits| Response::json(&visits.iter().sum::<u64>()))
///     });
/// # let _ = app;
/// ```
pub struct Call<'c, S> {
    state: &'c mut S,
    request: &'c Request<'c>,
    parameters: Parameters,
    id: ProcessId,
    now: Now,
    mail: &'c mut Mailbox<AppMessage<S>>,
    waiting: &'c mut Waiting<S>,
}

pub(super) type Values = Vec<Box<dyn Any + Send>>;

/// The closure that runs after a wait.
pub(super) type Then<S> = Box<dyn FnOnce(&mut Call<'_, S>) -> HandlerResult>;

pub(super) type ThenWith<S> = Box<dyn FnOnce(&mut Call<'_, S>, Values) -> HandlerResult>;

pub(super) enum Wait<S> {
    Until { due_ns: u64, then: Then<S> },
    Answers { question: u64, missing: usize, values: Values, then: ThenWith<S> },
    Ready(Then<S>),
}

/// All waits of one scheduler.
pub(super) struct Waiting<S> {
    calls: HashMap<ProcessId, Wait<S>>,
    /// The entry of a call that has ended stays until it is due, or until there are too many such entries.
    times: Alarms<ProcessId>,
    unsent: BTreeMap<Endpoint, VecDeque<AppMessage<S>>>,
    /// The number of questions so far. Each has its number, so that a late answer is not taken for that of another.
    questions: u64,
}

impl<S: 'static> Call<'_, S> {
    /// The state of this scheduler.
    pub fn state(&mut self) -> &mut S {
        self.state
    }

    /// The request: method, target, fields, peer.
    pub fn request(&self) -> &Request<'_> {
        self.request
    }

    /// The body.
    pub fn body(&self) -> &[u8] {
        self.request.body
    }

    /// The decoded part of the path that matched `{name}` in the route; empty if the route has no such name.
    pub fn parameter(&self, name: &str) -> &str {
        let found = self.parameters.iter().find(|(known, _)| **known == *name);
        found.map_or("", |(_, value)| value)
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// 400 with the place of the mistake, if the body is not JSON or has another shape.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_slice(self.request.body)
            .map_err(|error| Failure::new(Status::BAD_REQUEST, error.to_string()))
    }

    /// Continues after this time.
    ///
    /// # Errors
    /// None: the result is what the handler returns.
    pub fn after(
        &mut self,
        duration: Duration,
        then: impl FnOnce(&mut Call<'_, S>) -> HandlerResult + 'static,
    ) -> HandlerResult {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let due_ns = self.now.monotonic_ns.saturating_add(nanoseconds);
        Ok(self.waiting.until(self.id, due_ns, Box::new(then)))
    }

    /// The other schedulers.
    pub fn others(&self) -> Vec<Endpoint> {
        self.mail.schedulers().collect()
    }

    /// Runs `work` on another scheduler, with the state there, and continues with its result.
    ///
    /// # Errors
    /// 503 if too many messages to other schedulers are waiting already. 500 after the wait, if `work` panicked on the
    /// other scheduler.
    pub fn ask<T: Send + 'static>(
        &mut self,
        scheduler: Endpoint,
        work: impl Fn(&mut S) -> T + Send + Sync + 'static,
        then: impl FnOnce(&mut Call<'_, S>, T) -> HandlerResult + 'static,
    ) -> HandlerResult {
        let work: Work<S> = Arc::new(move |state| Box::new(work(state)));
        let question = self.waiting.ask(self.id, self.mail, &[scheduler], &work)?;
        let then = move |call: &mut Call<'_, S>, values: Vec<Box<dyn Any + Send>>| {
            let value = results(values).next().ok_or_else(lost)?;
            then(call, value)
        };
        Ok(self.waiting.answers(self.id, question, Vec::new(), 1, Box::new(then)))
    }

    /// Runs `work` on every scheduler including this one, and continues with all results. This scheduler's result comes
    /// first.
    ///
    /// # Errors
    /// 503 if too many messages to other schedulers are waiting already. 500 after the wait, if `work` panicked on
    /// another scheduler.
    pub fn ask_all<T: Send + 'static>(
        &mut self,
        work: impl Fn(&mut S) -> T + Send + Sync + 'static,
        then: impl FnOnce(&mut Call<'_, S>, Vec<T>) -> HandlerResult + 'static,
    ) -> HandlerResult {
        let own: Box<dyn Any + Send> = Box::new(work(self.state));
        let work: Work<S> = Arc::new(move |state| Box::new(work(state)));
        let others = self.others();
        let then = move |call: &mut Call<'_, S>, values: Vec<Box<dyn Any + Send>>| {
            then(call, results(values).collect())
        };
        if others.is_empty() {
            return then(self, vec![own]);
        }
        let question = self.waiting.ask(self.id, self.mail, &others, &work)?;
        Ok(self.waiting.answers(self.id, question, vec![own], others.len(), Box::new(then)))
    }
}

impl<S: 'static> App<S> {
    /// Calls a handler, or what follows its wait. If it waits (again), its parameters are kept.
    pub(super) fn call(
        &mut self,
        request: &Request<'_>,
        parameters: Parameters,
        context: &mut AnswerContext<'_, AppMessage<S>>,
        handler: impl FnOnce(&mut Call<'_, S>, &mut [Route<S>]) -> HandlerResult,
    ) -> HandlerResult {
        let mut call = Call {
            state: &mut self.state,
            request,
            parameters,
            id: context.id,
            now: context.now,
            mail: context.mail,
            waiting: &mut self.waiting,
        };
        let outcome = handler(&mut call, &mut self.routes);
        let parameters = call.parameters;
        if outcome.as_ref().is_ok_and(Response::is_later) {
            context.keep(Box::new(parameters));
        }
        outcome
    }
}

/// The results, in the type that `work` returns.
fn results<T: 'static>(values: Vec<Box<dyn Any + Send>>) -> impl Iterator<Item = T> {
    values.into_iter().filter_map(|value| value.downcast().ok().map(|value| *value))
}

fn lost() -> Failure {
    Failure::new(Status::SERVICE_UNAVAILABLE, "a scheduler did not answer")
}
