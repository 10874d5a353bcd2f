//! Processes send messages to each other, and find each other by names.
//!
//! Owns what these waits mean for a run. The mail does all else.

use std::time::Duration;

use actors::{Handed, Letter};
use runtime::mailbox::Endpoint;
use runtime::slots::ProcessId;

use super::Runner;
use super::calls::{Caller, PageCall, call};
use crate::delivery::{Delivery, WaitOutcome};

pub(super) const CALLS: &[PageCall] = &[
    call!("self"() -> Values, "a process", Any, Runner::own_name),
    call!("send"(to: text, message: text) -> Outcome, "a receipt (send)", Any, Runner::send),
    call!("receive"(time: time_or_none) -> Values, "a message (receive)", Any, Runner::receive),
    call!("register"(name: text) -> Outcome, "a name", Any, Runner::register),
    call!("lease"(name: text) -> Outcome, "a name in the cluster", Any, Runner::lease),
    call!("whereis"(name: text) -> ValueOrReason, "a name", Any, Runner::whereis),
];

/// The answer to a page that needs a mailbox when there are too many.
pub(super) const TOO_MANY: WaitOutcome =
    WaitOutcome::Now(Delivery::Failed("there are too many processes"));

impl Runner {
    fn own_name(&mut self, caller: &mut Caller<'_>) -> WaitOutcome {
        let Some(mailbox) = self.mailbox_of(caller) else { return TOO_MANY };
        let name = self.mail.name_of(caller.moment.endpoint, mailbox);
        WaitOutcome::Now(Delivery::Text(name.to_string().into_bytes()))
    }

    fn receive(&mut self, caller: &mut Caller<'_>, time: Option<Duration>) -> WaitOutcome {
        let Some(mailbox) = self.mailbox_of(caller) else { return TOO_MANY };
        match self.mail.receive(mailbox) {
            Some(message) => WaitOutcome::Now(Delivery::Text(message)),
            None => WaitOutcome::Later { due_ns: caller.after(time) },
        }
    }

    fn send(&mut self, caller: &mut Caller<'_>, to: Vec<u8>, message: Vec<u8>) -> WaitOutcome {
        let Some(from) = self.mailbox_of(caller) else { return TOO_MANY };
        let (outcome, handed) = self.mail.send(from, &to, message, caller.moment.of_mail());
        self.hand_over_mail(handed);
        outcome.into()
    }

    fn register(&mut self, caller: &mut Caller<'_>, name: Vec<u8>) -> WaitOutcome {
        let Some(of) = self.mailbox_of(caller) else { return TOO_MANY };
        self.mail.register(of, &name, caller.moment.of_mail()).into()
    }

    fn lease(&mut self, caller: &mut Caller<'_>, name: Vec<u8>) -> WaitOutcome {
        let Some(of) = self.mailbox_of(caller) else { return TOO_MANY };
        self.mail.lease(of, &name, caller.moment.of_mail()).into()
    }

    fn whereis(&mut self, caller: &mut Caller<'_>, name: Vec<u8>) -> WaitOutcome {
        let Some(from) = self.mailbox_of(caller) else { return TOO_MANY };
        self.mail.whereis(from, &name, caller.moment.of_mail()).into()
    }

    /// The mailbox of a process. It gets one now if it has none; `None` if there are too many.
    pub(super) fn mailbox_of(&mut self, caller: &mut Caller<'_>) -> Option<ProcessId> {
        let key = caller.key;
        caller.life.mailbox_or(|| self.mail.open(key))
    }

    /// A letter has arrived from another scheduler.
    pub fn take_letter(&mut self, from: Endpoint, letter: Letter) {
        let handed = self.mail.take_letter(from, letter);
        self.hand_over_mail(handed);
    }

    pub(super) fn hand_over_mail(&mut self, handed: Option<Handed>) {
        if let Some(Handed { owner, answer }) = handed {
            self.hand_over(owner, answer.into());
        }
    }
}
