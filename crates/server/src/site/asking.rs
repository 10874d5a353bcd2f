//! Asks the module of a channel whether a client may subscribe or publish.
//!
//! Owns the meaning of its answer: a status of 400 or above refuses, anything else allows. Never
//! subscribes and never publishes.

use std::rc::Rc;

use channels::Rights;
use pages::{AskHost, KeptRequest, LineWriter, Moment, RequestedAction, RunResult};
use runtime::clock::Now;
use runtime::mailbox::Endpoint;
use runtime::slots::ProcessId;
use script::engine::{Author, PageOutput};
use wire::http::status::Status;

use super::state::Site;
use crate::limits::VETO_SIZE;

/// What a client wants to do with a channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'q> {
    /// The process of its connection, which is resumed when the answer is known.
    pub(crate) process: ProcessId,
    pub(crate) channel: &'q str,
    pub(crate) wish: RequestedAction<'q>,
    /// The rights it has shown.
    pub(crate) rights: &'q Rights,
    /// The kept part of its request.
    pub(crate) request: &'q KeptRequest,
}

/// The decision of a module.
#[derive(Debug)]
pub(crate) enum Verdict {
    Yes,
    No(Veto),
    /// Not known yet: ask the same question again when the process is resumed.
    Later,
}

/// A refusal.
#[derive(Debug)]
pub(crate) struct Veto {
    pub(crate) status: Status,
    /// The reason for the client.
    pub(crate) why: String,
}

impl Veto {
    fn new(status: Status, why: &str) -> Self {
        Self { status, why: why.to_owned() }
    }
}

impl Site {
    /// Whether modules decide about any channel.
    pub(crate) fn asks(&self) -> bool {
        self.data.rulebook.asks()
    }

    /// Whether a module decides about this channel.
    pub(crate) fn asks_about(&self, channel: &str) -> bool {
        self.data.rulebook.of(channel).module.is_some()
    }

    /// The decision of the channel's module. It is yes if there is no module, and for programs, which may do
    /// everything.
    pub(crate) fn ask(
        &mut self,
        question: Question<'_>,
        (now, endpoint): (Now, Endpoint),
    ) -> Verdict {
        let Question { process, channel, wish, rights, request } = question;
        let rules = self.data.rulebook.of(channel);
        let Some(module) = rules.module.as_ref().filter(|_| !rights.are_all()) else {
            return Verdict::Yes;
        };
        let failed = || {
            Verdict::No(Veto::new(
                Status::INTERNAL_SERVER_ERROR,
                "the module could not decide whether that is allowed",
            ))
        };
        let Some(place) = self.module_at(module, process) else { return failed() };
        let Some(runner) = self.runner.as_mut() else { return failed() };
        let (gate, publications) = (Rc::clone(runner.log_gate()), Rc::clone(runner.publications()));
        let claims = rights.pass().map(|pass| &*pass.claims);
        let writer = gate.of(LineWriter::Requests(place.0.0, place.1));
        let records = Rc::clone(runner.records());
        let (publications, records) = (&*publications, &*records);
        let mut host =
            AskHost { wish, channel, claims, request, writer, now, publications, records };
        let thread_cpu_ns = sys::accounting::thread_cpu_ns;
        let (now_ns, clock_ns) = (now.monotonic_ns, sys::clock::monotonic_ns);
        let moment = Moment { now_ns, endpoint, thread_cpu_ns, clock_ns };
        match runner.run(process, place.0, place.1, &mut host, moment) {
            Some(RunResult::Done(_)) => verdict_of(runner.output()),
            Some(RunResult::Wait) => Verdict::Later,
            Some(RunResult::Part(_) | RunResult::Accept(_) | RunResult::Say(_)) => {
                // The question has no client to send parts to or talk with.
                runner.forget(process);
                runner.forget_talk(process);
                failed()
            }
            Some(RunResult::Failed(page, error)) => {
                let (status, _) = self.failure(&page, error.as_deref(), place.0);
                Verdict::No(Veto::new(status, "the module of this channel has failed"))
            }
            None => failed(),
        }
    }

    /// A client with a pending question has closed.
    pub(crate) fn forget_question(&mut self, process: ProcessId) {
        if let Some(runner) = &mut self.runner {
            runner.forget(process);
        }
    }
}

fn verdict_of(output: &PageOutput) -> Verdict {
    let status = match output.author {
        Author::Page => output.status.filter(|status| *status >= 400),
        // A server that answers a request has no answer to a question.
        Author::Upstream => Some(403),
        // The module has no handler for the question.
        Author::Server => Some(output.status.unwrap_or(403).max(400)),
    };
    let Some(status) = status else { return Verdict::Yes };
    let text = String::from_utf8_lossy(&output.body[..output.body.len().min(VETO_SIZE)]);
    let text = text.trim().replace(char::is_control, " ");
    let why = if text.is_empty() { "the module of this channel does not allow it" } else { &text };
    Verdict::No(Veto::new(Status::from_code(status).unwrap_or(Status::FORBIDDEN), why))
}
