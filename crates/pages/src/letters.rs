//! Processes send messages to each other.
//!
//! Owns the meaning of these waits, and what arrives from other schedulers for one of ours. The mailboxes keep what is
//! not received yet.

use std::time::Duration;

use runtime::clock::nanoseconds;
use runtime::mailbox::Endpoint;
use runtime::slots::ProcessId;

use super::calls::{Caller, PageCall, call};
use super::delivery::{Delivery, WaitOutcome};
use super::mailbox::{Awaits, Put};
use super::post::{Letter, Undelivered};
use super::process_name::{Name, Token};
use super::runner::{Moment, Runner};
use crate::limits::LETTER_WORD;

pub(super) const CALLS: &[PageCall] = &[
    call!("self"() -> Values, "a process", Any, Runner::own_name),
    call!("send"(to: text, message: text) -> Outcome, "a receipt (send)", Any, Runner::send),
    call!("receive"(time: time_or_none) -> Values, "a message (receive)", Any, Runner::receive),
];

/// The answer to a page that needs a mailbox when there are too many.
pub(super) const TOO_MANY: WaitOutcome =
    WaitOutcome::Now(Delivery::Failed("there are too many processes"));

impl Runner {
    fn own_name(&mut self, caller: &mut Caller<'_>) -> WaitOutcome {
        let Some(mailbox) = self.mailbox_of(caller) else { return TOO_MANY };
        WaitOutcome::Now(self.name_of(caller.moment(), mailbox))
    }

    fn receive(&mut self, caller: &mut Caller<'_>, time: Option<Duration>) -> WaitOutcome {
        let Some(mailbox) = self.mailbox_of(caller) else { return TOO_MANY };
        if let Some(message) = self.mailboxes.take(mailbox) {
            return WaitOutcome::Now(Delivery::Text(message));
        }
        self.mailboxes.set_awaits(mailbox, Awaits::Message);
        WaitOutcome::Later { due_ns: caller.after(time) }
    }

    fn send(&mut self, caller: &mut Caller<'_>, to: Vec<u8>, message: Vec<u8>) -> WaitOutcome {
        let Some(from) = self.mailbox_of(caller) else { return TOO_MANY };
        let moment = caller.moment();
        let name = str::from_utf8(&to).ok().and_then(|name| name.parse().ok());
        let Some(Name { endpoint, mailbox: to, token }) = name else {
            return WaitOutcome::Now(said_of(Err(Undelivered::Nobody)));
        };
        if endpoint.0 >= self.schedulers {
            return WaitOutcome::Now(said_of(Err(Undelivered::Ended)));
        }
        if endpoint == moment.endpoint {
            return WaitOutcome::Now(said_of(self.put((to, token), message)));
        }
        let number = self.outgoing.number();
        self.outgoing.add(endpoint, Letter::Message { to, token, from, number, message });
        self.mailboxes.set_awaits(from, Awaits::Word(number));
        WaitOutcome::Later { due_ns: word_due_ns(moment) }
    }

    /// The mailbox of a process. It gets one now if it has none; `None` if there are too many.
    pub(super) fn mailbox_of(&mut self, caller: &mut Caller<'_>) -> Option<ProcessId> {
        let key = caller.key();
        let life = caller.life();
        if life.mailbox.is_none() {
            life.mailbox = self.mailboxes.open(key);
        }
        life.mailbox
    }

    /// A process continues without a result: one that waited for the receipt of its letter has waited long enough.
    pub(super) fn give_up_word(&mut self, mailbox: ProcessId) -> Option<Delivery> {
        let Awaits::Word(number) = self.mailboxes.awaits(mailbox) else { return None };
        self.outgoing.withdraw(number);
        Some(said_of(Err(Undelivered::Unheard)))
    }

    /// Puts a message into the mailbox of its process.
    fn put(&mut self, to: (ProcessId, Token), message: Vec<u8>) -> Result<(), Undelivered> {
        if let Put::Awaited(key, message) = self.mailboxes.put(to, message)? {
            self.hand_over(key, Delivery::Text(message));
        }
        Ok(())
    }

    /// A letter has arrived from another scheduler.
    pub fn take_letter(&mut self, from: Endpoint, letter: Letter) {
        match letter {
            Letter::Message { to, token, from: sender, number, message } => {
                let outcome = self.put((to, token), message);
                self.outgoing.add(from, Letter::Receipt { to: sender, number, outcome });
            }
            Letter::Register { name, process, number } => {
                let (naming, to) = (self.names.give(&name, process.0), process.0.mailbox);
                self.outgoing.add(from, Letter::Named { to, number, naming });
            }
            Letter::Free { name, process } => self.names.free(&name, process.0),
            Letter::Whereis { name, from: to, number } => {
                let naming = self.names.find(&name);
                self.outgoing.add(from, Letter::Named { to, number, naming });
            }
            Letter::Named { to, number, naming } => self.take_naming(to, number, naming),
            Letter::Receipt { to, number, outcome } => {
                if let Some(key) = self.mailboxes.take_word(to, number) {
                    self.hand_over(key, said_of(outcome));
                }
            }
        }
    }

    /// What a process is told as the name of another process, or its own.
    pub(super) fn name_of(&mut self, moment: Moment, mailbox: ProcessId) -> Delivery {
        let token = self.mailboxes.token(mailbox).expect("it was opened, and its process lives");
        Delivery::Text(Name { endpoint: moment.endpoint, mailbox, token }.to_string().into_bytes())
    }
}

/// When a process is told that another scheduler does not answer.
pub(super) fn word_due_ns(moment: Moment) -> u64 {
    moment.now_ns.saturating_add(nanoseconds(LETTER_WORD))
}

/// What the sender of a message is told.
fn said_of(outcome: Result<(), Undelivered>) -> Delivery {
    match outcome {
        Ok(()) => Delivery::Done,
        Err(undelivered) => Delivery::Refused(undelivered.as_str()),
    }
}
