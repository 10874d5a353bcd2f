//! The mail of the processes of one scheduler: their mailboxes, the names that lead to them, and the letters to and
//! from other schedulers.
//!
//! Owns all three. Never resumes a run: it says who gets what.

use runtime::clock::nanoseconds;
use runtime::mailbox::{Endpoint, Mailbox};
use runtime::slots::ProcessId;

use super::delivery::{Delivery, WaitOutcome};
use super::mailbox::{Awaits, Mailboxes, Put};
use super::moment::Moment;
use super::names::{NAME_SIZE, Names, Naming, ProcessOfName, is_name};
use super::post::{LetterNumber, Outgoing, PageLetter, Undelivered};
use super::process::Key;
use super::process_name::{Name, NameToken};
use crate::limits::{LETTER_WORD, NAMES_PER_PROCESS};

// The error text below states these numbers.
const _: () = assert!(NAME_SIZE == 255 && NAMES_PER_PROCESS == 16);

const NO_NAME: Delivery =
    Delivery::Refused("a name has 1 to 255 bytes, no spaces, and no digit at its beginning");

/// A run, and what it gets: it waited for it.
pub(super) type Handed = (Key, Delivery);

/// What a letter from another scheduler means for a run here.
pub(super) enum Arrived {
    /// Nothing.
    Nothing,
    /// A run gets what it waited for.
    For(Key, Delivery),
    /// The same, and the last name that it requested belongs to another process.
    NameTaken(Key, Delivery),
}

/// The mail of one scheduler.
pub(super) struct Mail {
    mailboxes: Mailboxes,
    names: Names,
    outgoing: Outgoing,
    /// The number of schedulers with processes, which are the first endpoints.
    schedulers: u16,
}

impl Mail {
    /// `None` if the operating system provides no random bytes for the names.
    pub(super) fn new(schedulers: u16) -> Option<Self> {
        let (names, outgoing) = (Names::default(), Outgoing::default());
        Some(Self { mailboxes: Mailboxes::new()?, names, outgoing, schedulers })
    }

    /// Opens a mailbox; `None` if there are too many.
    pub(super) fn open(&mut self, owner: Key) -> Option<ProcessId> {
        self.mailboxes.open(owner)
    }

    /// Opens the mailbox of a process that begins, which is known by it; `None` if there are too many.
    pub(super) fn open_spawned(&mut self) -> Option<ProcessId> {
        let mailbox = self.mailboxes.next_id();
        self.mailboxes.open(Key::Spawned(mailbox))
    }

    /// Its process has ended.
    pub(super) fn close(&mut self, mailbox: ProcessId) {
        // A letter that was not sent is taken back with its sender, so no ended process has a letter here.
        let _nobody_is_told = self.give_up_word(mailbox);
        self.mailboxes.close(mailbox);
    }

    /// Its process continues under another key.
    pub(super) fn set_owner(&mut self, mailbox: ProcessId, owner: Key) {
        self.mailboxes.set_owner(mailbox, owner);
    }

    /// The number of messages in it, and their bytes.
    pub(super) fn load(&self, mailbox: ProcessId) -> (usize, usize) {
        self.mailboxes.load(mailbox)
    }

    /// Whose mailbox was full last since this was last asked, and for how many messages one was.
    pub(super) fn take_full(&mut self) -> Option<(Key, u64)> {
        self.mailboxes.take_full()
    }

    /// The oldest message; if there is none, its process waits for one from now on.
    pub(super) fn receive(&mut self, mailbox: ProcessId) -> Option<Vec<u8>> {
        let message = self.mailboxes.take(mailbox);
        if message.is_none() {
            self.mailboxes.set_awaits(mailbox, Awaits::Message);
        }
        message
    }

    /// Its process waits for nothing from here: what arrives is kept.
    pub(super) fn stop_awaiting(&mut self, mailbox: ProcessId) {
        self.mailboxes.set_awaits(mailbox, Awaits::Nothing);
    }

    /// A process continues without a result: one that waited for the receipt of its letter has waited long enough.
    pub(super) fn give_up_word(&mut self, mailbox: ProcessId) -> Option<Delivery> {
        let Awaits::Word(number) = self.mailboxes.awaits(mailbox) else { return None };
        self.outgoing.withdraw(number);
        Some(said_of(Err(Undelivered::Unheard)))
    }

    /// The name that leads to a mailbox from everywhere.
    pub(super) fn name_of(&mut self, endpoint: Endpoint, mailbox: ProcessId) -> Name {
        let token = self.mailboxes.token(mailbox).expect("it was opened, and its process lives");
        Name { endpoint, mailbox, token }
    }

    /// Sends a message. Also returns who gets it, if that process waits for it here.
    pub(super) fn send(
        &mut self,
        from: ProcessId,
        to: &[u8],
        message: Vec<u8>,
        moment: Moment,
    ) -> (WaitOutcome, Option<Handed>) {
        let name = str::from_utf8(to).ok().and_then(|name| name.parse().ok());
        let put = match name {
            None => Err(Undelivered::Nobody),
            Some(Name { endpoint, .. }) if endpoint.0 >= self.schedulers => Err(Undelivered::Ended),
            Some(Name { endpoint, mailbox, token }) if endpoint == moment.endpoint => {
                self.put((mailbox, token), message)
            }
            Some(Name { endpoint, mailbox: to, token }) => {
                let letter = |number| PageLetter::Message { to, token, from, number, message };
                return (self.ask(endpoint, from, letter, moment), None);
            }
        };
        match put {
            Ok(awaited) => (WaitOutcome::Now(Delivery::Done), awaited),
            Err(undelivered) => (WaitOutcome::Now(said_of(Err(undelivered))), None),
        }
    }

    /// Puts a message into the mailbox of its process. Returns who gets it, if that one waits for it.
    fn put(
        &mut self,
        to: (ProcessId, NameToken),
        message: Vec<u8>,
    ) -> Result<Option<Handed>, Undelivered> {
        Ok(match self.mailboxes.put(to, message)? {
            Put::Awaited(key, message) => Some((key, Delivery::Text(message))),
            Put::Kept => None,
        })
    }

    /// A process wants a name, in addition to those that it has.
    pub(super) fn register(
        &mut self,
        mailbox: ProcessId,
        text: &[u8],
        known: &mut Vec<(Box<str>, Name)>,
        moment: Moment,
    ) -> WaitOutcome {
        let Some(name) = str::from_utf8(text).ok().filter(|text| is_name(text)) else {
            return WaitOutcome::Now(NO_NAME);
        };
        if known.iter().any(|(known, _)| **known == *name) {
            return WaitOutcome::Now(Delivery::Done);
        }
        if known.len() >= NAMES_PER_PROCESS {
            return WaitOutcome::Now(Delivery::Refused("a process has at most 16 names"));
        }
        let process = self.name_of(moment.endpoint, mailbox);
        // It is released with the process, whatever the answer: the home knows its owner.
        known.push((name.into(), process));
        let home = self.names.home(name, self.schedulers);
        if home == moment.endpoint {
            let naming = self.names.give(name, process);
            if naming == Naming::Taken {
                known.pop();
            }
            return WaitOutcome::Now(told(naming));
        }
        let process = ProcessOfName(process);
        let letter = |number| PageLetter::Register { name: name.into(), process, number };
        self.ask(home, mailbox, letter, moment)
    }

    /// A process asks which process has a name.
    pub(super) fn whereis(&mut self, from: ProcessId, text: &[u8], moment: Moment) -> WaitOutcome {
        let Some(name) = str::from_utf8(text).ok().filter(|text| is_name(text)) else {
            return WaitOutcome::Now(told(Naming::Nobody));
        };
        let home = self.names.home(name, self.schedulers);
        if home == moment.endpoint {
            return WaitOutcome::Now(told(self.names.find(name)));
        }
        let letter = |number| PageLetter::Whereis { name: name.into(), from, number };
        self.ask(home, from, letter, moment)
    }

    /// Sends a letter whose receipt its process waits for.
    fn ask(
        &mut self,
        to: Endpoint,
        from: ProcessId,
        letter: impl FnOnce(LetterNumber) -> PageLetter,
        moment: Moment,
    ) -> WaitOutcome {
        let number = self.outgoing.number();
        self.outgoing.add(to, letter(number));
        self.mailboxes.set_awaits(from, Awaits::Word(number));
        WaitOutcome::Later { due_ns: moment.now_ns.saturating_add(nanoseconds(LETTER_WORD)) }
    }

    /// A process has ended, so its names are released.
    pub(super) fn free_names(&mut self, names: Vec<(Box<str>, Name)>) {
        for (name, process) in names {
            let home = self.names.home(&name, self.schedulers);
            if home == process.endpoint {
                self.names.free(&name, process);
            } else {
                self.outgoing.add(home, PageLetter::Free { name, process: ProcessOfName(process) });
            }
        }
    }

    /// Whether a name is assigned by this scheduler.
    pub(super) fn is_home(&self, name: &str, endpoint: Endpoint) -> bool {
        self.names.home(name, self.schedulers) == endpoint
    }

    /// A letter has arrived from another scheduler.
    pub(super) fn take_letter(&mut self, from: Endpoint, letter: PageLetter) -> Arrived {
        let (to, number, naming) = match letter {
            PageLetter::Message { to, token, from: sender, number, message } => {
                let put = self.put((to, token), message);
                let outcome = put.as_ref().map(|_| ()).map_err(|undelivered| *undelivered);
                self.outgoing.add(from, PageLetter::Receipt { to: sender, number, outcome });
                let awaited = put.ok().flatten();
                return awaited
                    .map_or(Arrived::Nothing, |(key, delivery)| Arrived::For(key, delivery));
            }
            PageLetter::Free { name, process } => {
                self.names.free(&name, process.0);
                return Arrived::Nothing;
            }
            PageLetter::Named { to, number, naming } => {
                let taken = self.mailboxes.take_word(to, number);
                return match taken {
                    Some(key) if naming == Naming::Taken => Arrived::NameTaken(key, told(naming)),
                    Some(key) => Arrived::For(key, told(naming)),
                    None => Arrived::Nothing,
                };
            }
            PageLetter::Receipt { to, number, outcome } => {
                let waiting = self.mailboxes.take_word(to, number);
                return waiting.map_or(Arrived::Nothing, |key| Arrived::For(key, said_of(outcome)));
            }
            PageLetter::Register { name, process, number } => {
                (process.0.mailbox, number, self.names.give(&name, process.0))
            }
            PageLetter::Whereis { name, from, number } => (from, number, self.names.find(&name)),
        };
        self.outgoing.add(from, PageLetter::Named { to, number, naming });
        Arrived::Nothing
    }

    /// The number of letters that wait to be sent.
    #[cfg(test)]
    pub(super) fn unsent(&self) -> usize {
        self.outgoing.len()
    }

    /// Sends what waits to be sent. Returns whether all has left.
    pub(super) fn leave<M>(&mut self, mail: &mut Mailbox<M>) -> bool
    where
        M: Send + From<Box<PageLetter>> + TryInto<Box<PageLetter>>,
    {
        self.outgoing.leave(mail)
    }
}

/// What the sender of a message is told.
fn said_of(outcome: Result<(), Undelivered>) -> Delivery {
    match outcome {
        Ok(()) => Delivery::Done,
        Err(undelivered) => Delivery::Refused(undelivered.as_str()),
    }
}

fn told(naming: Naming) -> Delivery {
    match naming {
        Naming::Given | Naming::Nobody => Delivery::Done,
        Naming::Taken => Delivery::Refused("another process has that name"),
        Naming::Is(ProcessOfName(process)) => Delivery::Text(process.to_string().into_bytes()),
    }
}
