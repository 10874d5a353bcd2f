//! What pages wait for: time, messages, their processes, other servers.
//!
//! Owns the meaning of each wait. Never resumes a request: it reports who is ready.

use std::time::Duration;

use runtime::clock::nanoseconds;
use runtime::mailbox::Endpoint;
use runtime::slots::ProcessId;
use runtime::trace;
use script::engine::{BodyDelivery, Fetch, Wait};

use super::delivery::{Delivery, Fetched, WaitOutcome};
use super::mailbox::{Awaits, Put};
use super::post::{Letter, Undelivered};
use super::process::{Key, Life};
use super::process_name::{Name, Token};
use super::runner::{Moment, Runner};
use super::talking::CLOSED as CLOSED_SOCKET;
use super::traced;
use crate::fetch::{Client, Failure, Got, Number, told};
use crate::fetches::Waiting;
use crate::limits::{FETCH_STREAMS_PER_PAGE, LETTER_WORD};
use crate::uploads::Told;

impl Runner {
    /// Does what a page waits for, or arranges that it is told later.
    pub(super) fn start_wait(
        &mut self,
        wait: Wait,
        key: Key,
        life: &mut Life,
        moment: Moment,
    ) -> WaitOutcome {
        let met = self.try_to_meet(wait, key, life, moment);
        met.unwrap_or(WaitOutcome::Now(Delivery::Failed("there are too many processes")))
    }

    /// `None` if it needs a mailbox and there are too many.
    fn try_to_meet(
        &mut self,
        wait: Wait,
        key: Key,
        life: &mut Life,
        moment: Moment,
    ) -> Option<WaitOutcome> {
        let at = |time: Duration| moment.now_ns.saturating_add(nanoseconds(time));
        Some(match wait {
            Wait::Sleep(time) => WaitOutcome::Later { due_ns: at(time) },
            Wait::Fetch(fetch) => self.begin_fetch(*fetch, key, life, moment),
            Wait::ReadFetched(number) => self.read_fetched(key, number),
            Wait::CloseFetched(number) => {
                self.fetches.close(key, Number(number));
                WaitOutcome::Now(Delivery::Done)
            }
            Wait::Listen(name) => self.listen(key, name),
            Wait::Hear { number, time } => self.hear(key, number, time.map_or(u64::MAX, at)),
            Wait::StopListening(number) => self.stop_listening(key, number),
            Wait::Order(text) => self.begin_order(key, &text),
            Wait::Commit { after, time } => {
                self.await_commit(key, after, time.map_or(u64::MAX, at))
            }
            Wait::StandInLine(line) => self.stand_in_line(key, &line, moment),
            Wait::Register(name) => {
                let mailbox = self.mailbox_of(key, life)?;
                self.register(&name, mailbox, life, moment)
            }
            Wait::Whereis(name) => {
                let mailbox = self.mailbox_of(key, life)?;
                self.whereis(&name, mailbox, moment)
            }
            Wait::Spawn(body) => WaitOutcome::Now(self.spawn(&body, life, moment)),
            Wait::Name => {
                let mailbox = self.mailbox_of(key, life)?;
                WaitOutcome::Now(self.name_of(moment, mailbox))
            }
            Wait::Receive(time) => {
                let mailbox = self.mailbox_of(key, life)?;
                match self.mailboxes.take(mailbox) {
                    Some(message) => WaitOutcome::Now(Delivery::Text(message)),
                    None => {
                        self.mailboxes.set_awaits(mailbox, Awaits::Message);
                        WaitOutcome::Later { due_ns: time.map_or(u64::MAX, at) }
                    }
                }
            }
            Wait::SaveFile { .. } | Wait::ReadFile { .. } => match key {
                Key::Request(process) => {
                    self.file_wishes.push((process, wait));
                    WaitOutcome::Later { due_ns: u64::MAX }
                }
                Key::Socket(_) | Key::Spawned(_) => WaitOutcome::Now(NOT_IN_A_PROCESS),
            },
            // Requests never get here: their client gets the output.
            Wait::Flush | Wait::Accept => WaitOutcome::Now(NOT_IN_A_PROCESS),
            Wait::Say => WaitOutcome::Now(CLOSED_SOCKET),
            Wait::NextMessage(letters) => self.await_message(letters, key, life)?,
            Wait::Send { to, message } => {
                let mailbox = self.mailbox_of(key, life)?;
                self.send(&to, mailbox, message, moment)
            }
        })
    }

    /// The mailbox of a process. It gets one now if it has none.
    pub(super) fn mailbox_of(&mut self, key: Key, life: &mut Life) -> Option<ProcessId> {
        if life.mailbox.is_none() {
            life.mailbox = self.mailboxes.open(key);
        }
        life.mailbox
    }

    fn send(
        &mut self,
        to: &[u8],
        from: ProcessId,
        message: Vec<u8>,
        moment: Moment,
    ) -> WaitOutcome {
        let name = str::from_utf8(to).ok().and_then(|name| name.parse().ok());
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

    /// Gives a process what it waits for.
    pub(super) fn hand_over(&mut self, key: Key, delivery: Delivery) {
        if let Some(underway) = self.underway.get_mut(&key) {
            underway.delivery = Some(delivery);
            self.make_ready(key);
        }
    }

    /// The operations that pages requested on the files of their forms since the last call: [`Wait::SaveFile`] and [`Wait::ReadFile`].
    pub fn take_file_wishes(&mut self) -> Vec<(ProcessId, Wait)> {
        std::mem::take(&mut self.file_wishes)
    }

    /// Tells a page the result of such an operation.
    pub fn tell_of_file(&mut self, process: ProcessId, told: Told) {
        let delivery = match told {
            Ok(None) => Delivery::Done,
            Ok(Some(bytes)) => Delivery::Text(bytes),
            Err(why) => Delivery::Refused(why),
        };
        self.hand_over(Key::Request(process), delivery);
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

    /// Requests a fetch, which begins at the end of the turn.
    fn begin_fetch(
        &mut self,
        mut fetch: Fetch,
        key: Key,
        life: &Life,
        moment: Moment,
    ) -> WaitOutcome {
        let is_full = self.fetches.streams(key) >= FETCH_STREAMS_PER_PAGE;
        if fetch.delivery == BodyDelivery::Pieces && is_full {
            let failure = Fetched::Failure(told(Failure::TooMany, None));
            return WaitOutcome::Now(Delivery::Fetched(Box::new(failure)));
        }
        // The fetch ends with the page's own time.
        let left_ns = life.deadline_ns.saturating_sub(moment.now_ns).saturating_add(1);
        fetch.timeout = fetch.timeout.min(Duration::from_nanos(left_ns));
        if trace::is_on() {
            traced::fetch(key, &fetch);
        }
        self.fetches.want(key, fetch);
        WaitOutcome::Later { due_ns: u64::MAX }
    }

    /// A page wants the next piece of an answer.
    fn read_fetched(&mut self, key: Key, number: u64) -> WaitOutcome {
        if !self.fetches.want_piece(key, Number(number)) {
            let failure = Fetched::Failure(CLOSED.to_owned());
            return WaitOutcome::Now(Delivery::Fetched(Box::new(failure)));
        }
        WaitOutcome::Later { due_ns: u64::MAX }
    }

    /// At the end of a turn, after all pages: begins their fetches.
    pub fn begin_fetches(&mut self, client: &mut Client, now_ns: u64) {
        self.fetches.tell(client, now_ns);
    }

    /// At the end of a turn: pages with a result become ready.
    pub fn take_fetched(&mut self, client: &mut Client, now_ns: u64) {
        for (number, result) in client.outcomes(now_ns) {
            let Some(Waiting { key, server }) = self.fetches.settle(number) else { continue };
            if trace::is_on() {
                traced::fetched(key, &result);
            }
            if matches!(result, Ok(Got::End) | Err(_)) {
                self.fetches.forget_stream(key, number);
            }
            let fetched = Fetched::of(number, server.as_deref(), result);
            self.hand_over(key, Delivery::Fetched(Box::new(fetched)));
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

/// The answer to a page that reads an answer which has ended, or which belongs to another page.
const CLOSED: &str = "the answer is closed";

/// The answer to a process that uses what it does not have: `spawn` copies no request, response or files.
const NOT_IN_A_PROCESS: Delivery = Delivery::Failed("only code that answers a request can do that");

/// What the sender of a message is told.
fn said_of(outcome: Result<(), Undelivered>) -> Delivery {
    match outcome {
        Ok(()) => Delivery::Done,
        Err(undelivered) => Delivery::Text(undelivered.as_str().into()),
    }
}
