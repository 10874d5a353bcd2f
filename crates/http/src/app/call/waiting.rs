//! Calls that wait: for a time, or for results of other schedulers.
//!
//! Owns when a wait is over, and messages that found no room. Never runs a closure.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;

use ahash::HashMap;
use runtime::alarms::Alarms;
use runtime::limits::ALARMS_PER_TURN;
use runtime::mailbox::{Endpoint, Mailbox};
use runtime::service::{SchedulerCommand, ServiceContext};
use runtime::slots::ProcessId;
use wire::http::status::Status;

use super::{Then, ThenWith, Values, Wait, Waiting};
use crate::app::Failure;
use crate::app::message::{AppMessage, Kind, Work};
use crate::app::response::Response;
use crate::limits::ASKED_UNSENT_MAX;

/// The state of a call when its connection asks for the answer.
pub(crate) enum Asked<S> {
    /// A new call.
    First,
    /// It still waits.
    Still,
    /// Its wait is over.
    Again(Then<S>),
}

impl<S: 'static> Waiting<S> {
    pub(crate) fn new() -> Self {
        Self {
            calls: HashMap::default(),
            times: Alarms::default(),
            unsent: BTreeMap::new(),
            questions: 0,
        }
    }

    pub(crate) fn until(&mut self, id: ProcessId, due_ns: u64, then: Then<S>) -> Response {
        self.calls.insert(id, Wait::Until { due_ns, then });
        self.times.set(due_ns, id);
        let calls = &self.calls;
        self.times.tidy(calls.len(), |id| match calls.get(&id) {
            Some(Wait::Until { due_ns, .. }) => Some(*due_ns),
            _ => None,
        });
        Response::later()
    }

    /// Sends work to schedulers and returns the number of the question.
    pub(crate) fn ask(
        &mut self,
        process: ProcessId,
        mail: &mut Mailbox<AppMessage<S>>,
        schedulers: &[Endpoint],
        work: &Work<S>,
    ) -> Result<u64, Failure> {
        if self.unsent.values().map(VecDeque::len).sum::<usize>() >= ASKED_UNSENT_MAX {
            let message = "too much waits for other schedulers";
            return Err(Failure::new(Status::SERVICE_UNAVAILABLE, message));
        }
        self.questions += 1;
        let question = self.questions;
        for to in schedulers {
            let message = AppMessage(Kind::Ask { process, question, work: Arc::clone(work) });
            self.send(mail, *to, message);
        }
        Ok(question)
    }

    pub(crate) fn answers(
        &mut self,
        id: ProcessId,
        question: u64,
        values: Values,
        missing: usize,
        then: ThenWith<S>,
    ) -> Response {
        self.calls.insert(id, Wait::Answers { question, missing, values, then });
        Response::later()
    }

    /// Sends a message, now or when there is room. Messages to one endpoint keep their order.
    pub(crate) fn send(
        &mut self,
        mail: &mut Mailbox<AppMessage<S>>,
        to: Endpoint,
        message: AppMessage<S>,
    ) {
        let waits = self.unsent.contains_key(&to);
        let refused = if waits { Some(message) } else { mail.send(to, message).err() };
        if let Some(message) = refused {
            self.unsent.entry(to).or_default().push_back(message);
        }
    }

    /// A result for a call. It is dropped if the call has ended.
    pub(crate) fn take_value(
        &mut self,
        id: ProcessId,
        question: u64,
        value: Option<Box<dyn Any + Send>>,
        context: &mut ServiceContext<'_, AppMessage<S>>,
    ) {
        let Some(Wait::Answers { question: asked, missing, values, .. }) = self.calls.get_mut(&id)
        else {
            return;
        };
        if *asked != question {
            return;
        }
        let Some(value) = value else {
            // For the operator's log; it would not help a client.
            let failed = || io::Error::other("work for another scheduler panicked");
            self.calls.insert(id, Wait::Ready(Box::new(move |_call| Err(failed().into()))));
            return context.command(SchedulerCommand::Resume(id));
        };
        values.push(value);
        *missing -= 1;
        if *missing > 0 {
            return;
        }
        if let Some(Wait::Answers { values, then, .. }) = self.calls.remove(&id) {
            self.calls.insert(id, Wait::Ready(Box::new(move |call| then(call, values))));
            context.command(SchedulerCommand::Resume(id));
        }
    }

    /// At the end of a turn: handles due times, and sends messages for which there is room now.
    pub(crate) fn end_turn(&mut self, context: &mut ServiceContext<'_, AppMessage<S>>) {
        let now_ns = context.now.monotonic_ns;
        for _ in 0..ALARMS_PER_TURN {
            let Some(id) = self.times.take_due(now_ns) else { break };
            // A call that meanwhile waits for something else is skipped.
            let is_due =
                |wait: &Wait<S>| matches!(wait, Wait::Until { due_ns, .. } if *due_ns <= now_ns);
            if self.calls.get(&id).is_some_and(is_due)
                && let Some(Wait::Until { then, .. }) = self.calls.remove(&id)
            {
                self.calls.insert(id, Wait::Ready(then));
                context.command(SchedulerCommand::Resume(id));
            }
        }
        if let Some(next_ns) = self.times.next_ns() {
            context.wake_at_ns(next_ns);
        }
        self.unsent.retain(|to, messages| {
            while let Some(message) = messages.pop_front() {
                if let Err(message) = context.mail.send(*to, message) {
                    messages.push_front(message);
                    return true;
                }
            }
            false
        });
        if !self.unsent.is_empty() {
            context.wake_after_ms(1);
        }
    }

    /// A request is asked about, for the first time or again.
    pub(crate) fn take(&mut self, id: ProcessId) -> Asked<S> {
        // Most apps have no waits, and should not pay for hashing.
        if self.calls.is_empty() {
            return Asked::First;
        }
        match self.calls.remove(&id) {
            None => Asked::First,
            Some(Wait::Ready(then)) => Asked::Again(then),
            Some(wait) => {
                self.calls.insert(id, wait);
                Asked::Still
            }
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.calls.len()
    }

    /// A request will not be asked about again.
    pub(crate) fn forget(&mut self, id: ProcessId) {
        if !self.calls.is_empty() {
            self.calls.remove(&id);
        }
    }
}
