//! A server is asked whether a request may pass.
//!
//! Owns the way from the question to the head of its answer. What the answer means for the request is in
//! `proxied/permission`.

use client::{Client, ExchangeNews};
use proxy::ServerPreference;
use runtime::slots::ProcessId;
use wire::proxy::ProxiedClient;

use super::Carried;
use super::carried::{Idempotence, Parcel, Refused, Stage};
use super::desk::Proxies;
use super::failing::{Answered, Then};
use super::upstreams::UpstreamId;

/// The answer of a server to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::site) enum Heard {
    /// Nothing yet: the process is resumed.
    Nothing,
    /// The request may pass.
    Yes,
    /// It may not: the client gets this answer.
    No,
    /// There is no answer of a server.
    Refused(Refused),
}

impl Proxies {
    /// Asks a server of this upstream.
    pub(in crate::site) fn ask(
        &mut self,
        process: ProcessId,
        wish: Option<(UpstreamId, ServerPreference)>,
        (client, question): (ProxiedClient, Parcel),
        now_ns: u64,
    ) {
        let mut carried = Carried::of(wish, client, Idempotence::Yes, now_ns);
        carried.question = Some(Box::new(question));
        self.insert(process, carried);
    }

    /// Whether a server is being asked about the request of a process.
    pub(in crate::site) fn is_question(&self, process: ProcessId) -> bool {
        self.get(process).is_some_and(|carried| carried.question.is_some())
    }

    /// The server's decision. The head of its answer stays the first of those that came early, and its body is left.
    pub(in crate::site) fn hear(
        &mut self,
        process: ProcessId,
        client: &mut Client,
        now_ns: u64,
    ) -> Heard {
        loop {
            let (_, Some(carried)) = self.parts(process) else {
                return Heard::Refused(Refused::Failed);
            };
            if let Some(head) = carried.early.front() {
                return if (200..300).contains(&head.status) { Heard::Yes } else { Heard::No };
            }
            let (stage, question) = (carried.stage, carried.question.clone());
            let stage = match (stage, question) {
                (Stage::InLine, Some(question)) => {
                    self.dispatch(process, client, now_ns, || Ok(*question))
                }
                (stage, _) => stage,
            };
            match stage {
                Stage::Sent => {}
                Stage::InLine => return Heard::Nothing,
                Stage::TooLate => return Heard::Refused(Refused::Busy),
                Stage::Refused(why) => return Heard::Refused(why),
            }
            if let Some(heard) = self.next_of_question(process, client, now_ns) {
                return heard;
            }
        }
    }

    /// Takes the next news of a question that was sent; `None`: there may be more.
    fn next_of_question(
        &mut self,
        process: ProcessId,
        client: &mut Client,
        now_ns: u64,
    ) -> Option<Heard> {
        let (_, carried) = self.parts(process);
        let Some(id) = carried.and_then(|carried| carried.exchange) else {
            return Some(Heard::Refused(Refused::Failed));
        };
        match client.next(id, 0, now_ns) {
            None => Some(Heard::Nothing),
            Some(ExchangeNews::Head(head)) if http::Status::from_code(head.status).is_none() => {
                client.cancel(id);
                self.note_misfit(process, "a status above 599", now_ns);
                Some(Heard::Refused(Refused::Failed))
            }
            Some(ExchangeNews::Head(head)) => {
                if self.after_status(process, head.status, client, now_ns) == Answered::Again {
                    self.begin_again(process);
                } else if let (_, Some(carried)) = self.parts(process) {
                    carried.early.push_back(head);
                }
                None
            }
            Some(ExchangeNews::Failed(failure)) => {
                match self.after_failure(process, failure, now_ns) {
                    Then::Again => {
                        self.begin_again(process);
                        None
                    }
                    Then::Refuse(why) => Some(Heard::Refused(why)),
                }
            }
            // Interim heads are for nobody, and there is no body before the head.
            Some(_) => None,
        }
    }
}
