//! Messages between page processes of two schedulers.
//!
//! Owns the letters and those that wait to be sent. A sender waits for its acknowledgement. If
//! there is none for too long, or the sender is ended, its letter is taken back, so there is at
//! most one letter per process here.

use std::collections::VecDeque;

use runtime::mailbox::{Endpoint, Mailbox};
use runtime::slots::ProcessId;

use crate::names::Naming;
use crate::process_name::{NameToken, ProcessName};

/// The number of a letter, for its receipt: the sender may have given up an earlier letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LetterNumber(u64);

/// A letter from one scheduler to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Letter {
    /// A message from a process to another.
    Message {
        /// The mailbox of the receiver.
        to: ProcessId,
        /// The secret part of the receiver's name.
        token: NameToken,
        /// The mailbox of the sender, which waits for the receipt.
        from: ProcessId,
        /// The letter's number on its scheduler.
        number: LetterNumber,
        /// The message.
        message: Vec<u8>,
    },
    /// A process of the sender wants a name whose home is the receiver.
    Register {
        /// The name.
        name: Box<str>,
        /// The process.
        process: ProcessName,
        /// The letter's number.
        number: LetterNumber,
    },
    /// A process of the sender has ended, so its name is released.
    Free {
        /// The name.
        name: Box<str>,
        /// The process.
        process: ProcessName,
    },
    /// A process of the sender asks which process has a name.
    Whereis {
        /// The name.
        name: Box<str>,
        /// The mailbox of the process.
        from: ProcessId,
        /// The letter's number.
        number: LetterNumber,
    },
    /// The answer to a request about a name.
    Named {
        /// The mailbox of the process.
        to: ProcessId,
        /// The letter's number.
        number: LetterNumber,
        /// The answer.
        naming: Naming,
    },
    /// The receipt for a message.
    Receipt {
        /// The mailbox of its sender.
        to: ProcessId,
        /// The letter's number.
        number: LetterNumber,
        /// Whether it was put into the mailbox.
        outcome: Result<(), Undelivered>,
    },
}

impl Letter {
    /// The answer of a scheduler that never had a process; `None` if the sender waits for none.
    pub fn answer_of_nobody(&self) -> Option<Self> {
        match *self {
            Self::Message { from: to, number, .. } => {
                Some(Self::Receipt { to, number, outcome: Err(Undelivered::Ended) })
            }
            _ => None,
        }
    }
}

/// Why a message did not reach a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undelivered {
    /// This cannot be the name of a process.
    Nobody,
    /// The process has ended.
    Ended,
    /// Its mailbox is full.
    Full,
    /// Its scheduler has not answered.
    Unheard,
}

impl Undelivered {
    /// The text for its sender.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nobody => "that is not the name of a process",
            Self::Ended => "the process has ended",
            Self::Full => "its mailbox is full",
            Self::Unheard => "its scheduler does not answer: the message may arrive or not",
        }
    }
}

/// Letters to be sent.
#[derive(Default)]
pub(super) struct Outgoing {
    letters: VecDeque<(Endpoint, Letter)>,
    last: u64,
}

impl Outgoing {
    pub(super) fn add(&mut self, to: Endpoint, letter: Letter) {
        self.letters.push_back((to, letter));
    }

    /// The number of the next letter.
    pub(super) fn number(&mut self) -> LetterNumber {
        self.last += 1;
        LetterNumber(self.last)
    }

    /// Takes back a letter that was not sent yet.
    pub(super) fn withdraw(&mut self, withdrawn: LetterNumber) {
        // A request for a name is not taken back, because the release of the name follows it.
        let is_it = |letter: &Letter| match letter {
            Letter::Message { number, .. } | Letter::Whereis { number, .. } => *number == withdrawn,
            _ => false,
        };
        self.letters.retain(|(_, letter)| !is_it(letter));
    }

    /// The number of letters that wait to be sent.
    pub(super) fn len(&self) -> usize {
        self.letters.len()
    }

    /// Sends the letters for which there is room, in order for each receiver: a name is not released before it is
    /// given. Returns whether none is left.
    pub(super) fn leave<M>(&mut self, mail: &mut Mailbox<M>) -> bool
    where
        M: Send + From<Box<Letter>> + TryInto<Box<Letter>>,
    {
        let mut full: Vec<Endpoint> = Vec::new();
        for _ in 0..self.letters.len() {
            let Some((to, letter)) = self.letters.pop_front() else { break };
            if full.contains(&to) {
                self.letters.push_back((to, letter));
            } else if let Err(letter) = mail.send_part(to, Box::new(letter)) {
                full.push(to);
                self.letters.push_back((to, *letter));
            }
        }
        self.letters.is_empty()
    }
}
