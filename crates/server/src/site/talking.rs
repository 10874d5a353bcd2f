//! A module that talks to the client of a WebSocket.
//!
//! Owns the head of the upgrade, and what a conversation may do next. The connection owns the
//! frames.

use channels::Rights;
use http::Answer;
use pages::{Moment, RunResult, Saying};
use runtime::clock::Now;
use runtime::mailbox::Endpoint;
use runtime::slots::ProcessId;
use wire::http::status::Status;
use wire::websocket::{self, Extension};

use super::Site;
use super::channel::{answer_handshake_problem, refuse_origin};
use super::exchange::Exchange;
use super::page_fields::is_of_page;
use super::script;
use super::upgraded::{Upgrade, Upgraded};
use crate::message::AnswerContext;
use crate::origin::{Origin, origin_of};

/// The next step of a conversation.
pub(crate) enum Said {
    /// Do this with the WebSocket, with this text.
    This(Saying, Vec<u8>),
    /// It waits for the next message of its client, or for something else.
    Nothing,
    /// It has ended.
    Over,
    /// It has failed; the failure was logged.
    Failure,
}

impl Site {
    /// A module has answered with a conversation: the connection becomes a WebSocket, if the client requested one.
    pub(super) fn accept_talk(
        &mut self,
        exchange: &mut Exchange<'_, '_>,
        context: &AnswerContext<'_>,
    ) -> Answer {
        match self.write_acceptance(exchange) {
            Ok(extension) => {
                let address = exchange.request.peer.address;
                let (to, rights) = (Upgrade::Talk, Rights::ALL);
                self.underway.upgrade(Upgraded { to, rights, address, request: None, extension });
                Answer::Upgrade
            }
            Err(answer) => {
                self.forget_talk(context.id);
                answer
            }
        }
    }

    fn write_acceptance(&self, exchange: &mut Exchange<'_, '_>) -> Result<Extension, Answer> {
        let origin = origin_of(exchange.request, &self.data.config.channel_settings.origins);
        if matches!(origin, Origin::Strange) {
            return Err(refuse_origin(&origin, exchange));
        }
        let token = websocket::check(exchange.request.head)
            .map_err(|problem| answer_handshake_problem(problem, &origin, exchange))?;
        let Some(runner) = self.pages.runner() else { return Err(Answer::Cut) };
        if !exchange.begin_socket(token) {
            exchange.reply.begin(Status::SERVICE_UNAVAILABLE);
            exchange.reply.end_head_with_length(0);
            return Err(Answer::Done);
        }
        let output = runner.output();
        let mut offered = exchange.request.head.fields.all("sec-websocket-protocol");
        let is_offered = |name: &[u8]| name.trim_ascii() == output.body;
        if !output.body.is_empty()
            && offered.any(|names| names.split(|byte| *byte == b',').any(is_offered))
        {
            let _valid = exchange.reply.field("Sec-WebSocket-Protocol", &output.body);
        }
        for (name, value) in output.fields() {
            if is_of_page(name) && !name.to_ascii_lowercase().starts_with("sec-websocket-") {
                let _valid = exchange.reply.field(name, value);
            }
        }
        let extension = self.write_extension(exchange);
        exchange.reply.end_head();
        Ok(extension)
    }

    /// Continues a conversation.
    pub(crate) fn talk(&mut self, process: ProcessId, (now, endpoint): (Now, Endpoint)) -> Said {
        let Some(runner) = self.pages.runner_mut() else { return Said::Over };
        if !runner.talks(process) {
            return Said::Over;
        }
        let thread_cpu_ns = sys::accounting::thread_cpu_ns;
        let (now_ns, clock_ns) = (now.monotonic_ns, sys::clock::monotonic_ns);
        let moment = Moment { now_ns, endpoint, thread_cpu_ns, clock_ns };
        match runner.talk(process, moment, now.unix_ms()) {
            RunResult::Say(_) => match self.pages.runner() {
                Some(runner) => Said::This(runner.saying(), runner.output().body.clone()),
                None => Said::Over,
            },
            RunResult::Wait => Said::Nothing,
            RunResult::Failed(page, error) => {
                if let Some(error) = error {
                    self.tell_at(script::level_of(error.fault), &page, &script::told(&error));
                }
                Said::Failure
            }
            RunResult::Done(_) | RunResult::Part(_) | RunResult::Accept(_) => Said::Over,
        }
    }

    /// Whether a conversation waits for a message of its client.
    pub(crate) fn hears(&self, process: ProcessId) -> bool {
        self.pages.runner().is_some_and(|runner| runner.hears(process))
    }

    /// The client has sent a message.
    pub(crate) fn hand_message(&mut self, process: ProcessId, kind: &'static str, bytes: &[u8]) {
        if let Some(runner) = self.pages.runner_mut() {
            runner.hand_message(process, kind, bytes);
        }
    }

    /// An operation on the WebSocket was not possible.
    pub(crate) fn refuse_saying(&mut self, process: ProcessId, why: &'static str) {
        if let Some(runner) = self.pages.runner_mut() {
            runner.refuse_saying(process, why);
        }
    }

    /// The connection of a conversation has ended.
    pub(crate) fn end_talk(&mut self, process: ProcessId, code: u16, reason: &str) {
        if let Some(runner) = self.pages.runner_mut() {
            runner.end_talk(process, code, reason);
        }
    }

    /// The connection of a conversation has not become a WebSocket.
    pub(super) fn forget_talk(&mut self, process: ProcessId) {
        if let Some(runner) = self.pages.runner_mut() {
            runner.forget_talk(process);
        }
    }
}
