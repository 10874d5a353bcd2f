//! Talk of runs with their clients before they end: parts of an answer, and all that a module says over a WebSocket.
//!
//! Owns how such a run moves from the request to the conversation, what it waits for there, and how it
//! ends. The connection owns the frames.

use std::sync::Arc;

use actors::RunKey;
use runtime::slots::ProcessId;

use super::calls::{Caller, PageCall, call};
use super::letters::TOO_MANY;
use super::visit::Stay;
use super::{Moment, RunResult, Runner};
use crate::delivery::{CLOSED_SOCKET, ClientAct, Delivery, WaitOutcome};
use crate::process::{Life, ProcessState};

pub(super) const CALLS: &[PageCall] = &[
    call!("response.flush"() -> AsGiven, "its client to read (flush)", Requests, send_part)
        .with_output(),
    call!("websocket"() -> Values, "its client", Requests, accept).with_output(),
    call!("socket.send"() -> Outcome, "its client", Conversations, say).with_output(),
    call!("socket.receive"(wants_letters: number) -> Values, "a message of its \
        client", Conversations, Runner::await_message),
];

fn send_part(_: &mut Runner, _: &mut Caller<'_>) -> WaitOutcome {
    WaitOutcome::ByClient(ClientAct::SendPart)
}

fn accept(_: &mut Runner, _: &mut Caller<'_>) -> WaitOutcome {
    WaitOutcome::ByClient(ClientAct::Accept)
}

fn say(_: &mut Runner, caller: &mut Caller<'_>) -> WaitOutcome {
    match caller.life.has_client() {
        true => WaitOutcome::ByClient(ClientAct::Say),
        false => WaitOutcome::Now(CLOSED_SOCKET),
    }
}

/// An act of a run on its WebSocket. Its text, if it has one, is the body of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saying {
    /// Send a text message.
    Text,
    /// Send a binary message.
    Binary,
    /// Subscribe the client to that channel.
    Subscribe,
    /// Unsubscribe the client from it.
    Unsubscribe,
    /// Close with this code; the body is the reason.
    Close(u16),
}

impl Runner {
    /// The act of a run on its WebSocket, after [`RunResult::Say`]: websocket.lua has the numbers.
    pub fn saying(&self) -> Saying {
        match self.output().status {
            None | Some(1) => Saying::Text,
            Some(2) => Saying::Binary,
            Some(3) => Saying::Subscribe,
            Some(4) => Saying::Unsubscribe,
            Some(code) => Saying::Close(code),
        }
    }

    /// Its connection does what it waits for, and asks again.
    pub(super) fn hand_to_client(&mut self, key: RunKey, life: &mut Life, act: ClientAct) -> Stay {
        let page = Arc::clone(&life.page);
        let (key, standing, result) = match (act, key) {
            (ClientAct::Accept, RunKey::Request(process)) => {
                // Work that the request had begun ends with it, because its connection now asks for other things.
                self.fetches.unwant(key);
                self.listening.end(key);
                let key = RunKey::Socket(process);
                if let Some(mailbox) = life.mailbox() {
                    self.mail.set_owner(mailbox, key);
                }
                life.begin_talk();
                (key, ProcessState::Ready, RunResult::Accept(page))
            }
            (ClientAct::Say, _) => {
                life.note_part_sent();
                (key, ProcessState::Waits, RunResult::Say(page))
            }
            _ => (key, ProcessState::Waits, RunResult::Part(page)),
        };
        Stay { key, due_ns: u64::MAX, delivery: Some(Delivery::Done), standing, result }
    }

    /// A run waits for the next message of its client, or of a process.
    fn await_message(&mut self, caller: &mut Caller<'_>, wants_letters: u64) -> WaitOutcome {
        let life = &mut *caller.life;
        if let Some(end) = life.take_talk_end() {
            return WaitOutcome::Now(end);
        }
        life.note_part_sent();
        if wants_letters == 1 {
            let Some(mailbox) = self.mailbox_of(caller) else { return TOO_MANY };
            if let Some(message) = self.mail.receive(mailbox) {
                return WaitOutcome::Now(Delivery::Text(message));
            }
        }
        caller.life.await_message();
        WaitOutcome::Later { due_ns: u64::MAX }
    }

    /// Continues the conversation of this connection.
    pub fn talk(&mut self, process: ProcessId, moment: Moment, unix_ms: u64) -> RunResult {
        self.set_time(moment);
        self.go_on_alone(RunKey::Socket(process), moment, unix_ms)
    }

    /// Whether a conversation waits for a message of its client.
    pub fn hears(&self, process: ProcessId) -> bool {
        self.underway.get(&RunKey::Socket(process)).is_some_and(|underway| underway.hears())
    }

    /// Whether this connection has a conversation.
    pub fn talks(&self, process: ProcessId) -> bool {
        self.underway.contains_key(&RunKey::Socket(process))
    }

    /// The client has sent a message for which the conversation waits. It continues at the next [`talk`](Self::talk).
    pub fn hand_message(&mut self, process: ProcessId, kind: &'static str, bytes: &[u8]) {
        let texts = [kind.as_bytes().to_vec(), bytes.to_vec()];
        self.hand_to_talk(process, Delivery::Texts(Box::new(texts)));
    }

    /// An operation on the WebSocket was not possible.
    pub fn refuse_saying(&mut self, process: ProcessId, why: &'static str) {
        if let Some(underway) = self.underway.get_mut(&RunKey::Socket(process)) {
            underway.delivery = Some(Delivery::Refused(why));
        }
    }

    /// The connection has ended: the conversation is told, and comes to its end.
    pub fn end_talk(&mut self, process: ProcessId, code: u16, reason: &str) {
        let key = RunKey::Socket(process);
        let Some(underway) = self.underway.get_mut(&key) else { return };
        if !underway.life.talks() {
            return;
        }
        let texts = ["close".to_owned(), reason.to_owned(), code.to_string()];
        let end = Delivery::Texts(texts.map(String::into_bytes).into());
        if underway.hears() {
            underway.life.end_talk(None);
            self.hand_to_talk(process, end);
        } else {
            underway.life.end_talk(Some(end));
        }
        self.make_ready(key);
    }

    /// The connection does not become a WebSocket.
    pub fn forget_talk(&mut self, process: ProcessId) {
        let key = RunKey::Socket(process);
        if let Some(gone) = self.underway.remove(&key) {
            self.counters.of(gone.life.row).cancelled += 1;
            self.end(key, gone.life);
        }
    }

    /// The delivery that a conversation waits for has arrived.
    fn hand_to_talk(&mut self, process: ProcessId, delivery: Delivery) {
        let Some(underway) = self.underway.get_mut(&RunKey::Socket(process)) else { return };
        if let Some(mailbox) = underway.life.mailbox() {
            // A letter that arrives now is kept for later.
            self.mail.stop_awaiting(mailbox);
        }
        underway.delivery = Some(delivery);
    }
}
