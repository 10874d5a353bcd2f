//! Page processes register names and look them up.
//!
//! Owns the meaning of these waits. The home of a name answers: at once if it is here, otherwise by
//! a letter.

use runtime::mailbox::Endpoint;
use runtime::slots::ProcessId;

use super::delivery::{Delivery, WaitOutcome};
use super::mailbox::Awaits;
use super::names::{NAME_SIZE, Naming, ProcessOfName, is_name};
use super::post::{Letter, LetterNumber};
use super::process::Life;
use super::process_name::Name;
use super::runner::{Moment, Runner};
use super::waits::word_due_ns;
use crate::limits::NAMES_PER_PROCESS;

// The error text below states these numbers.
const _: () = assert!(NAME_SIZE == 255 && NAMES_PER_PROCESS == 16);

const NO_NAME: Delivery =
    Delivery::Refused("a name has 1 to 255 bytes, no spaces, and no digit at its beginning");

impl Runner {
    /// A process wants a name.
    pub(super) fn register(
        &mut self,
        text: &[u8],
        mailbox: ProcessId,
        life: &mut Life,
        moment: Moment,
    ) -> WaitOutcome {
        let Some(name) = str::from_utf8(text).ok().filter(|text| is_name(text)) else {
            return WaitOutcome::Now(NO_NAME);
        };
        if life.names.iter().any(|(known, _)| **known == *name) {
            return WaitOutcome::Now(Delivery::Done);
        }
        if life.names.len() >= NAMES_PER_PROCESS {
            return WaitOutcome::Now(Delivery::Refused("a process has at most 16 names"));
        }
        let Some(process) = self.process_name(moment.endpoint, mailbox) else {
            return WaitOutcome::Now(NO_NAME);
        };
        // It is released with the process, whatever the answer: the home knows its owner.
        life.names.push((name.into(), process));
        let home = self.names.home(name, self.schedulers);
        if home == moment.endpoint {
            let naming = self.names.give(name, process);
            if naming == Naming::Taken {
                life.names.pop();
            }
            return WaitOutcome::Now(told(naming));
        }
        let number = self.outgoing.number();
        let letter =
            Letter::Register { name: name.into(), process: ProcessOfName(process), number };
        self.ask_home(home, letter, mailbox, number, moment)
    }

    /// A process asks which process has a name.
    pub(super) fn whereis(
        &mut self,
        text: &[u8],
        mailbox: ProcessId,
        moment: Moment,
    ) -> WaitOutcome {
        let Some(name) = str::from_utf8(text).ok().filter(|text| is_name(text)) else {
            return WaitOutcome::Now(told(Naming::Nobody));
        };
        let home = self.names.home(name, self.schedulers);
        if home == moment.endpoint {
            return WaitOutcome::Now(told(self.names.find(name)));
        }
        let number = self.outgoing.number();
        let letter = Letter::Whereis { name: name.into(), from: mailbox, number };
        self.ask_home(home, letter, mailbox, number, moment)
    }

    fn ask_home(
        &mut self,
        home: Endpoint,
        letter: Letter,
        mailbox: ProcessId,
        number: LetterNumber,
        moment: Moment,
    ) -> WaitOutcome {
        self.outgoing.add(home, letter);
        self.mailboxes.set_awaits(mailbox, Awaits::Word(number));
        WaitOutcome::Later { due_ns: word_due_ns(moment) }
    }

    /// A process has ended, so its names are released.
    pub(super) fn free_names(&mut self, names: Vec<(Box<str>, Name)>) {
        for (name, process) in names {
            let home = self.names.home(&name, self.schedulers);
            if home == process.endpoint {
                self.names.free(&name, process);
            } else {
                self.outgoing.add(home, Letter::Free { name, process: ProcessOfName(process) });
            }
        }
    }

    /// The home of a name has answered.
    pub(super) fn take_naming(&mut self, to: ProcessId, number: LetterNumber, naming: Naming) {
        let Some(key) = self.mailboxes.take_word(to, number) else { return };
        if naming == Naming::Taken
            && let Some(underway) = self.underway.get_mut(&key)
        {
            // The last one that it requested.
            underway.life.names.pop();
        }
        self.hand_over(key, told(naming));
    }

    fn process_name(&mut self, endpoint: Endpoint, mailbox: ProcessId) -> Option<Name> {
        let token = self.mailboxes.token(mailbox)?;
        Some(Name { endpoint, mailbox, token })
    }
}

fn told(naming: Naming) -> Delivery {
    match naming {
        Naming::Given | Naming::Nobody => Delivery::Done,
        Naming::Taken => Delivery::Refused("another process has that name"),
        Naming::Is(ProcessOfName(process)) => Delivery::Text(process.to_string().into_bytes()),
    }
}
