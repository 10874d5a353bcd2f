//! What page processes of two schedulers send each other.
//!
//! Owns the letters and those that wait to leave. A sender waits for its receipt, so there is never more than one letter of
//! each process here.

use std::collections::VecDeque;

use runtime::mailbox::{Endpoint, Mailbox};
use runtime::slots::ProcessId;

use super::process::Undelivered;
use crate::message::Message;

/// A letter from one scheduler to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Letter {
    /// A message of a process to another.
    Message {
        /// The mailbox it is for.
        to: ProcessId,
        /// The mailbox of the sender, which waits for the receipt.
        from: ProcessId,
        /// The message.
        message: Vec<u8>,
    },
    /// What became of a message.
    Receipt {
        /// The mailbox of its sender.
        to: ProcessId,
        /// Whether it is in the mailbox it was for.
        outcome: Result<(), Undelivered>,
    },
}

/// Letters that are to leave.
#[derive(Default)]
pub(super) struct Outgoing {
    letters: VecDeque<(Endpoint, Letter)>,
}

impl Outgoing {
    pub(super) fn add(&mut self, to: Endpoint, letter: Letter) {
        self.letters.push_back((to, letter));
    }

    /// Hands over what there is room for. Whether nothing is left.
    pub(super) fn leave(&mut self, mail: &mut Mailbox<Message>) -> bool {
        for _ in 0..self.letters.len() {
            let Some((to, letter)) = self.letters.pop_front() else { break };
            if let Err(Message::Letter(letter)) = mail.send(to, Message::Letter(Box::new(letter))) {
                self.letters.push_back((to, *letter));
            }
        }
        self.letters.is_empty()
    }
}
