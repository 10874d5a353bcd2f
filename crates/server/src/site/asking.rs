//! Asks the module of a channel whether a client may subscribe or publish.
//!
//! Owns the meaning of its answer: a status of 400 or above refuses, anything else allows. Never
//! subscribes and never publishes.

use std::rc::Rc;

use channels::{Rights, RuleNumber};
use pages::{AskHost, KeptRequest, LineWriter, Moment, RequestedAction, RunResult};
use runtime::clock::Now;
use runtime::mailbox::Endpoint;
use runtime::slots::ProcessId;
use script::engine::{Author, PageOutput};
use wire::http::status::Status;

use super::Site;
use crate::limits::VETO_SIZE;

/// The wish of a client about a channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'q> {
    /// The process of its connection, which is resumed when the answer is known.
    pub(crate) process: ProcessId,
    pub(crate) channel: &'q str,
    /// The rules of the channel, which name the module.
    pub(crate) rule: RuleNumber,
    pub(crate) wish: RequestedAction<'q>,
    /// The rights it has shown.
    pub(crate) rights: &'q Rights,
    /// The kept part of its request.
    pub(crate) request: &'q KeptRequest,
}

/// Why a module has not allowed something.
#[derive(Debug)]
pub(crate) enum Withheld {
    /// It does not allow it.
    Refused(Veto),
    /// It has not decided: ask the same question again when the process is resumed.
    Undecided,
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

    /// The decision of the channel's module.
    ///
    /// # Errors
    /// Why it does not allow it now.
    pub(crate) fn ask(
        &mut self,
        question: Question<'_>,
        (now, endpoint): (Now, Endpoint),
    ) -> Result<(), Withheld> {
        let Question { process, channel, rule, wish, rights, request } = question;
        let failed = || {
            Err(Withheld::Refused(Veto::new(
                Status::INTERNAL_SERVER_ERROR,
                "the module could not decide whether that is allowed",
            )))
        };
        let rules = self.data.rulebook.policy(rule);
        let Some(module) = rules.and_then(|rules| rules.module.as_ref()) else { return failed() };
        let Some(place) = self.module_at(module, process) else { return failed() };
        let Some(runner) = self.pages.runner_mut() else { return failed() };
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
        match runner.run(process, None, place.0, place.1, &mut host, moment) {
            Some(RunResult::Done(_)) => verdict_of(runner.output()),
            Some(RunResult::Wait) => Err(Withheld::Undecided),
            Some(RunResult::Part(_) | RunResult::Accept(_) | RunResult::Say(_)) => {
                // The question has no client to send parts to or talk with.
                runner.forget(process);
                runner.forget_talk(process);
                failed()
            }
            Some(RunResult::Failed(page, error)) => {
                let (status, _) = self.failure(&page, error.as_deref(), place.0);
                Err(Withheld::Refused(Veto::new(status, "the module of this channel has failed")))
            }
            None => failed(),
        }
    }

    /// A client with a pending question has closed.
    pub(crate) fn forget_question(&mut self, process: ProcessId) {
        self.pages.forget_run(process);
    }
}

fn verdict_of(output: &PageOutput) -> Result<(), Withheld> {
    let status = match output.author {
        Author::Page => output.status.filter(|status| *status >= 400),
        // A server that answers a request has no answer to a question.
        Author::Upstream => Some(403),
        // The module has no handler for the question.
        Author::Server => Some(output.status.unwrap_or(403).max(400)),
    };
    let Some(status) = status else { return Ok(()) };
    let text = String::from_utf8_lossy(&output.body[..output.body.len().min(VETO_SIZE)]);
    let text = text.trim().replace(char::is_control, " ");
    let why = if text.is_empty() { "the module of this channel does not allow it" } else { &text };
    let status = Status::from_code(status).unwrap_or(Status::FORBIDDEN);
    Err(Withheld::Refused(Veto::new(status, why)))
}
