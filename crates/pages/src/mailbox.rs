//! The mailboxes of page processes.
//!
//! Owns the messages not yet received, with their limits, and which process waits for one. Never
//! sends a message.

use std::collections::VecDeque;

use runtime::slots::{ProcessId, Slots};

use super::post::{LetterNumber, Undelivered};
use super::process::Key;
use super::process_name::{NameToken, Tokens};
use crate::limits::{
    ALL_MAILBOXES_SIZE, MAILBOX_SIZE, PAGE_MESSAGE_COST, PAGE_MESSAGES_MAX, PAGE_PROCESSES_MAX,
};

/// What a process is ready to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaits {
    /// Nothing from outside.
    Nothing,
    /// A message.
    Message,
    /// The receipt for this letter.
    Word(LetterNumber),
}

struct Mailbox {
    owner: Key,
    token: NameToken,
    awaits: Awaits,
    messages: VecDeque<Vec<u8>>,
    size: usize,
}

/// Where a message went.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Put {
    /// It is kept until it is received.
    Kept,
    /// This process waits for it.
    Awaited(Key, Vec<u8>),
}

/// The mailboxes of one scheduler.
pub(super) struct Mailboxes {
    table: Slots<Mailbox>,
    tokens: Tokens,
    size: usize,
    /// Whose mailbox was full last, and for how many messages one was.
    full: Option<(Key, u64)>,
}

impl Mailboxes {
    /// `None` if the operating system provides no random bytes for the names.
    pub(super) fn new() -> Option<Self> {
        Some(Self {
            table: Slots::new(PAGE_PROCESSES_MAX),
            tokens: Tokens::new()?,
            size: 0,
            full: None,
        })
    }

    /// The number of the next mailbox to be opened.
    pub(super) fn next_id(&self) -> ProcessId {
        self.table.next_id()
    }

    /// Opens a mailbox; `None` if there are too many.
    pub(super) fn open(&mut self, owner: Key) -> Option<ProcessId> {
        let (awaits, messages, size) = (Awaits::Nothing, VecDeque::new(), 0);
        let token = self.tokens.next();
        self.table.insert(Mailbox { owner, token, awaits, messages, size }).ok()
    }

    /// Its process has ended; the messages in it are dropped.
    pub(super) fn close(&mut self, id: ProcessId) {
        if let Some(mailbox) = self.table.remove(id) {
            self.size -= mailbox.size;
        }
    }

    /// Its process continues under another key.
    pub(super) fn set_owner(&mut self, id: ProcessId, owner: Key) {
        if let Some(mailbox) = self.table.lookup(id) {
            mailbox.owner = owner;
        }
    }

    /// Sets what its process waits for.
    pub(super) fn set_awaits(&mut self, id: ProcessId, awaits: Awaits) {
        if let Some(mailbox) = self.table.lookup(id) {
            mailbox.awaits = awaits;
        }
    }

    /// The secret part of its name.
    pub(super) fn token(&mut self, id: ProcessId) -> Option<NameToken> {
        self.table.lookup(id).map(|mailbox| mailbox.token)
    }

    /// A message has arrived from a sender that knows the name. For other senders the process does not exist.
    pub(super) fn put(
        &mut self,
        (id, token): (ProcessId, NameToken),
        message: Vec<u8>,
    ) -> Result<Put, Undelivered> {
        let known = self.table.lookup(id).filter(|mailbox| mailbox.token == token);
        let mailbox = known.ok_or(Undelivered::Ended)?;
        if mailbox.awaits == Awaits::Message {
            mailbox.awaits = Awaits::Nothing;
            return Ok(Put::Awaited(mailbox.owner, message));
        }
        let size = message.len() + PAGE_MESSAGE_COST;
        let is_full = mailbox.messages.len() == PAGE_MESSAGES_MAX
            || mailbox.size + size > MAILBOX_SIZE
            || self.size + size > ALL_MAILBOXES_SIZE;
        if is_full {
            let times = self.full.map_or(0, |(_, times)| times);
            self.full = Some((mailbox.owner, times + 1));
            return Err(Undelivered::Full);
        }
        mailbox.messages.push_back(message);
        mailbox.size += size;
        self.size += size;
        Ok(Put::Kept)
    }

    /// Whose mailbox was full last since this was last asked, and for how many messages one was.
    pub(super) fn take_full(&mut self) -> Option<(Key, u64)> {
        self.full.take()
    }

    /// The oldest message.
    pub(super) fn take(&mut self, id: ProcessId) -> Option<Vec<u8>> {
        let mailbox = self.table.lookup(id)?;
        let message = mailbox.messages.pop_front()?;
        let size = message.len() + PAGE_MESSAGE_COST;
        mailbox.size -= size;
        self.size -= size;
        Some(message)
    }

    /// The number of messages in it, and their bytes.
    pub(super) fn load(&self, id: ProcessId) -> (usize, usize) {
        let mailbox =
            self.table.get(id.index()).filter(|_| self.table.id_at(id.index()) == Some(id));
        mailbox.map_or((0, 0), |mailbox| (mailbox.messages.len(), mailbox.size))
    }

    /// What its process waits for.
    pub(super) fn awaits(&mut self, id: ProcessId) -> Awaits {
        self.table.lookup(id).map_or(Awaits::Nothing, |mailbox| mailbox.awaits)
    }

    /// Takes the process that waits for the receipt of this letter.
    pub(super) fn take_word(&mut self, id: ProcessId, number: LetterNumber) -> Option<Key> {
        let word = Awaits::Word(number);
        let mailbox = self.table.lookup(id).filter(|mailbox| mailbox.awaits == word)?;
        mailbox.awaits = Awaits::Nothing;
        Some(mailbox.owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> Key {
        Key::Request(ProcessId::from_bits(7))
    }

    /// From a sender that knows the name.
    fn put(boxes: &mut Mailboxes, id: ProcessId, message: Vec<u8>) -> Result<Put, Undelivered> {
        let token = boxes.token(id).ok_or(Undelivered::Ended)?;
        boxes.put((id, token), message)
    }

    #[test]
    fn without_the_token_there_is_nobody() {
        let (mut boxes, id) = boxes();
        let other = boxes.open(owner()).unwrap();
        let token = boxes.token(other).unwrap();
        assert_eq!(boxes.put((id, token), b"1".to_vec()), Err(Undelivered::Ended));
        assert_eq!(boxes.take(id), None);
        assert_eq!(boxes.put((other, token), b"1".to_vec()), Ok(Put::Kept));
        // The slot is reused, the token is not.
        boxes.close(other);
        let next = boxes.open(owner()).unwrap();
        assert_eq!(next.index(), other.index());
        assert_ne!(boxes.token(next), Some(token));
    }

    fn boxes() -> (Mailboxes, ProcessId) {
        let mut boxes = Mailboxes::new().unwrap();
        let id = boxes.open(owner()).unwrap();
        (boxes, id)
    }

    #[test]
    fn messages_come_in_their_order_and_to_who_waits_at_once() {
        let (mut boxes, id) = boxes();
        assert_eq!(put(&mut boxes, id, b"1".to_vec()), Ok(Put::Kept));
        assert_eq!(put(&mut boxes, id, b"2".to_vec()), Ok(Put::Kept));
        assert_eq!(boxes.take(id), Some(b"1".to_vec()));
        assert_eq!(boxes.take(id), Some(b"2".to_vec()));
        assert_eq!(boxes.take(id), None);
        boxes.set_awaits(id, Awaits::Message);
        assert_eq!(put(&mut boxes, id, b"3".to_vec()), Ok(Put::Awaited(owner(), b"3".to_vec())));
        assert_eq!(put(&mut boxes, id, b"4".to_vec()), Ok(Put::Kept));
    }

    #[test]
    fn word_is_for_who_waits_for_it() {
        let (mut boxes, id) = boxes();
        let mut outgoing = super::super::post::Outgoing::default();
        let (first, second) = (outgoing.number(), outgoing.number());
        assert_eq!(boxes.take_word(id, first), None);
        boxes.set_awaits(id, Awaits::Word(second));
        assert_eq!(put(&mut boxes, id, b"1".to_vec()), Ok(Put::Kept));
        assert_eq!(boxes.take_word(id, first), None, "of a letter that was given up");
        assert_eq!(boxes.take_word(id, second), Some(owner()));
        assert_eq!(boxes.take_word(id, second), None);
    }

    #[test]
    fn a_mailbox_is_bounded_in_messages_and_in_bytes_and_closing_gives_them_back() {
        let (mut boxes, id) = boxes();
        for _ in 0..PAGE_MESSAGES_MAX {
            assert_eq!(put(&mut boxes, id, Vec::new()), Ok(Put::Kept));
        }
        assert_eq!(put(&mut boxes, id, Vec::new()), Err(Undelivered::Full));
        boxes.close(id);
        assert_eq!(boxes.size, 0);
        assert_eq!(put(&mut boxes, id, Vec::new()), Err(Undelivered::Ended));
        let large = vec![0; MAILBOX_SIZE / 2];
        let ids: Vec<_> = (0..100).map(|_| boxes.open(owner()).unwrap()).collect();
        assert_eq!(put(&mut boxes, ids[0], large.clone()), Ok(Put::Kept));
        assert_eq!(put(&mut boxes, ids[0], large.clone()), Err(Undelivered::Full));
        let mut kept = 1;
        for id in &ids[1..] {
            kept += usize::from(put(&mut boxes, *id, large.clone()).is_ok());
        }
        assert_eq!(kept, ALL_MAILBOXES_SIZE / (large.len() + PAGE_MESSAGE_COST));
        for id in ids {
            boxes.close(id);
        }
        assert_eq!(boxes.size, 0);
    }
}
