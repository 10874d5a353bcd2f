//! A module that talks to the client of a WebSocket.
//!
//! Owns how its run moves from the request to the conversation, what it waits for there, and how it
//! ends. The connection owns the frames.

use std::sync::Arc;

use runtime::slots::ProcessId;
use script::engine::{Letters, Run, Wait};

use super::delivery::{Delivery, WaitOutcome};
use super::mailbox::Awaits;
use super::process::{Key, Life, Progress, Talk, Underway};
use super::runner::{Moment, RunResult, Runner};

/// The answer to a run that uses a WebSocket whose client has closed.
pub(super) const CLOSED: Delivery = Delivery::Refused("the WebSocket is closed");

impl Life {
    /// Whether the connection of its client must do what it waits for.
    pub(super) fn is_for_client(&self, key: Key, wait: &Wait) -> bool {
        match wait {
            Wait::Flush | Wait::Accept => matches!(key, Key::Request(_)),
            Wait::Say => self.talk.as_ref().is_some_and(|talk| !talk.is_over),
            _ => false,
        }
    }

    /// It continues, so it no longer waits for a message.
    pub(super) fn stop_awaiting(&mut self) {
        if let Some(talk) = &mut self.talk {
            talk.awaits = false;
        }
    }
}

impl Runner {
    /// Its connection does what it waits for, and asks again.
    pub(super) fn hand_to_client(
        &mut self,
        key: Key,
        run: Run,
        mut life: Life,
        wait: &Wait,
    ) -> RunResult {
        life.waits_for = wait.words();
        let page = Arc::clone(&life.page);
        let done = Some(Delivery::Done);
        match (wait, key) {
            (Wait::Accept, Key::Request(process)) => {
                // What the request had begun ends with it, because its connection now asks for other things.
                self.fetches.unwant(key);
                self.listening.end(key);
                let key = Key::Socket(process);
                if let Some(mailbox) = life.mailbox {
                    self.mailboxes.set_owner(mailbox, key);
                }
                life.talk = Some(Box::default());
                let _waits = self.keep(key, Underway::new(run, life, u64::MAX, done));
                self.make_ready(key);
                RunResult::Accept(page)
            }
            (Wait::Say, _) => {
                life.progress = Progress::PartSent;
                let _waits = self.keep(key, Underway::new(run, life, u64::MAX, done));
                RunResult::Say(page)
            }
            _ => {
                let _waits = self.keep(key, Underway::new(run, life, u64::MAX, done));
                RunResult::Part(page)
            }
        }
    }

    /// A run waits for the next message of its client, or of a process.
    pub(super) fn await_message(
        &mut self,
        letters: Letters,
        key: Key,
        life: &mut Life,
    ) -> Option<WaitOutcome> {
        let Some(talk) = &mut life.talk else { return Some(WaitOutcome::Now(CLOSED)) };
        if let Some(end) = talk.end.take() {
            return Some(WaitOutcome::Now(end));
        }
        // When it continues after a wait, its time starts again.
        life.progress = Progress::PartSent;
        if letters == Letters::Wanted {
            let mailbox = self.mailbox_of(key, life)?;
            if let Some(message) = self.mailboxes.take(mailbox) {
                return Some(WaitOutcome::Now(Delivery::Text(message)));
            }
            self.mailboxes.set_awaits(mailbox, Awaits::Message);
        }
        life.deadline_ns = u64::MAX;
        if let Some(talk) = &mut life.talk {
            talk.awaits = true;
        }
        Some(WaitOutcome::Later { due_ns: u64::MAX })
    }

    /// Continues the conversation of this connection.
    pub fn talk(&mut self, process: ProcessId, moment: Moment, unix_ms: u64) -> RunResult {
        self.now_ns = moment.now_ns;
        self.log_gate.set_now(moment.now_ns);
        self.go_on_alone(Key::Socket(process), moment, unix_ms)
    }

    /// Whether a conversation waits for a message of its client.
    #[must_use]
    pub fn hears(&self, process: ProcessId) -> bool {
        self.underway.get(&Key::Socket(process)).is_some_and(|underway| {
            underway.delivery.is_none()
                && underway.life.talk.as_ref().is_some_and(|talk| talk.awaits)
        })
    }

    /// Whether this connection has a conversation.
    #[must_use]
    pub fn talks(&self, process: ProcessId) -> bool {
        self.underway.contains_key(&Key::Socket(process))
    }

    /// The client has sent a message for which the conversation waits. It continues at the next [`talk`](Self::talk).
    pub fn hand_message(&mut self, process: ProcessId, kind: &'static str, bytes: &[u8]) {
        let texts = [kind.as_bytes().to_vec(), bytes.to_vec()];
        self.hand_to_talk(process, Delivery::Texts(Box::new(texts)));
    }

    /// An operation on the WebSocket was not possible.
    pub fn refuse_saying(&mut self, process: ProcessId, why: &'static str) {
        if let Some(underway) = self.underway.get_mut(&Key::Socket(process)) {
            underway.delivery = Some(Delivery::Refused(why));
        }
    }

    /// The connection has ended: the conversation is told, and comes to its end.
    pub fn end_talk(&mut self, process: ProcessId, code: u16, reason: &str) {
        let key = Key::Socket(process);
        let Some(underway) = self.underway.get_mut(&key) else { return };
        let Some(talk) = &mut underway.life.talk else { return };
        talk.is_over = true;
        let texts = ["close".to_owned(), reason.to_owned(), code.to_string()];
        let end = Delivery::Texts(texts.map(String::into_bytes).into());
        if underway.delivery.is_none() && talk.awaits {
            self.hand_to_talk(process, end);
        } else {
            talk.end = Some(end);
        }
        self.make_ready(key);
    }

    /// The connection does not become a WebSocket.
    pub fn forget_talk(&mut self, process: ProcessId) {
        let key = Key::Socket(process);
        if let Some(gone) = self.underway.remove(&key) {
            self.counters.of(gone.life.row).cancelled += 1;
            self.end(key, gone.life);
        }
    }

    /// What a conversation waits for has arrived.
    fn hand_to_talk(&mut self, process: ProcessId, delivery: Delivery) {
        let Some(underway) = self.underway.get_mut(&Key::Socket(process)) else { return };
        if let Some(mailbox) = underway.life.mailbox {
            // A letter that arrives now is kept for later.
            self.mailboxes.set_awaits(mailbox, Awaits::Nothing);
        }
        underway.delivery = Some(delivery);
    }
}

impl Talk {
    /// Whether its client is still connected.
    pub(super) fn has_client(&self) -> bool {
        !self.is_over
    }
}
