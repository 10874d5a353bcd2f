//! The promotion of a store that follows another one.
//!
//! Owns who waits for it, and the answer. Never decides whether the store may lead: its writer does.

use http::{Answer, Reply};
use runtime::service::SchedulerCommand;
use runtime::slots::ProcessId;
use store::Promoted;
use wire::http::status::Status;

use super::Admin;
use crate::admin::facts::Phase;
use crate::message::{AnswerContext, ServiceContext, ToStoreWriter};

/// Requests that wait for the writer of the store, and its answer.
#[derive(Debug, Default)]
pub(super) struct Promotion {
    waiting: Vec<ProcessId>,
    answered: Vec<(ProcessId, Result<Promoted, String>)>,
}

impl Promotion {
    /// The writer has answered: all that wait are told.
    pub(super) fn take(
        &mut self,
        promoted: Result<Promoted, String>,
        context: &mut ServiceContext<'_>,
    ) {
        for process in self.waiting.drain(..) {
            self.answered.push((process, promoted.clone()));
            context.command(SchedulerCommand::Resume(process));
        }
    }

    pub(super) fn on_gone(&mut self, process: ProcessId) {
        self.waiting.retain(|waiting| *waiting != process);
        self.answered.retain(|(answered, _)| *answered != process);
    }
}

impl Admin {
    /// Makes the store the leader of those that follow each other.
    pub(super) fn promote(
        &mut self,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let is_its = |(process, _): &(ProcessId, _)| *process == context.id;
        if let Some(at) = self.promotion.answered.iter().position(is_its) {
            // The state that was asked for is another one now.
            self.round.forget();
            match self.promotion.answered.swap_remove(at).1 {
                Ok(Promoted { term, handed_over: None }) => {
                    reply.text(&format!("the store leads in term {}\n", term.number));
                }
                Ok(Promoted { term, handed_over: Some(record) }) => {
                    let term = term.number;
                    let text = format!(
                        "the store leads in term {term}: the last leader has handed over at record {record}\n"
                    );
                    reply.text(&text);
                }
                Err(why) => {
                    let text = format!("{why}\n");
                    reply.send(Status::CONFLICT, "text/plain; charset=utf-8", text.as_bytes());
                }
            }
            return Answer::Done;
        }
        if self.promotion.waiting.contains(&context.id) {
            return Answer::Wait;
        }
        if self.phase == Phase::Draining {
            let why = b"this server is about to end: promote another one\n";
            reply.send(Status::CONFLICT, "text/plain; charset=utf-8", why);
            return Answer::Done;
        }
        let sent =
            self.peers.store.map(|store| context.mail.send_part(store, ToStoreWriter::Promote));
        match sent {
            None => {
                let why = b"this server has no store\n";
                reply.send(Status::CONFLICT, "text/plain; charset=utf-8", why);
                Answer::Done
            }
            Some(Err(_)) => {
                reply.empty(Status::SERVICE_UNAVAILABLE);
                Answer::Done
            }
            Some(Ok(())) => {
                self.promotion.waiting.push(context.id);
                Answer::Wait
            }
        }
    }
}
