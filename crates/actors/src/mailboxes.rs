//! The mailboxes of page processes.
//!
//! Owns the messages not yet received, with their limits, the names of each process, and which process waits for
//! something. Never sends a message.

use std::collections::VecDeque;

use runtime::slots::{ProcessId, Slots};

use crate::id::RunKey;
use crate::letters::{LetterNumber, Undelivered};
use crate::limits::{
    ALL_MAILBOXES_SIZE, MAILBOX_SIZE, PAGE_MESSAGE_COST, PAGE_MESSAGES_MAX, PAGE_PROCESSES_MAX,
};
use crate::process_name::{NameToken, ProcessName, Tokens};

/// The things that a process is ready to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaits {
    /// Nothing from outside.
    Nothing,
    /// A message.
    Message,
    /// The receipt for this letter.
    Word(LetterNumber),
    /// That the cluster gives or refuses a name.
    Lease,
}

struct Mailbox {
    owner: RunKey,
    token: NameToken,
    awaits: Awaits,
    messages: VecDeque<Vec<u8>>,
    size: usize,
    /// The names that it has registered or has requested.
    names: Vec<RegisteredName>,
}

/// A name of a process that it has registered, or has requested from another scheduler.
pub(super) struct RegisteredName {
    text: Box<str>,
    process: ProcessName,
}

impl RegisteredName {
    pub(super) fn new(text: &str, process: ProcessName) -> Self {
        Self { text: text.into(), process }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn into_text(self) -> Box<str> {
        self.text
    }

    pub(super) fn process(&self) -> ProcessName {
        self.process
    }
}

/// How full a mailbox is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MailboxLoad {
    /// The number of messages in it.
    pub messages: usize,
    /// Their bytes, and what each costs in addition.
    pub bytes: usize,
}

/// Where a message went.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Put {
    /// It is kept until it is received.
    Kept,
    /// This process waits for it.
    Awaited(RunKey, Vec<u8>),
}

/// The mailboxes of one scheduler.
pub(super) struct Mailboxes {
    table: Slots<Mailbox>,
    tokens: Tokens,
    size: usize,
    /// The process whose mailbox was full last, and for how many messages one was.
    full: Option<(RunKey, u64)>,
}

impl Mailboxes {
    /// With a secret key for the names.
    pub(super) fn new(key: [u8; 32]) -> Self {
        let (table, tokens) = (Slots::new(PAGE_PROCESSES_MAX), Tokens::new(key));
        Self { table, tokens, size: 0, full: None }
    }

    /// The number of the next mailbox to be opened.
    pub(super) fn next_id(&self) -> ProcessId {
        self.table.next_id()
    }

    /// Opens a mailbox; `None` if there are too many.
    pub(super) fn open(&mut self, owner: RunKey) -> Option<ProcessId> {
        let mailbox = Mailbox {
            owner,
            token: self.tokens.next(),
            awaits: Awaits::Nothing,
            messages: VecDeque::new(),
            size: 0,
            names: Vec::new(),
        };
        self.table.insert(mailbox).ok()
    }

    /// Its process has ended; the messages in it are dropped. Returns the names of the process.
    pub(super) fn close(&mut self, id: ProcessId) -> Vec<RegisteredName> {
        let Some(mailbox) = self.table.remove(id) else { return Vec::new() };
        self.size -= mailbox.size;
        mailbox.names
    }

    /// The names of its process.
    pub(super) fn names(&self, id: ProcessId) -> &[RegisteredName] {
        self.get(id).map_or(&[], |mailbox| &mailbox.names)
    }

    /// Its process has one name more.
    pub(super) fn add_name(&mut self, id: ProcessId, name: RegisteredName) {
        if let Some(mailbox) = self.table.lookup(id) {
            mailbox.names.push(name);
        }
    }

    /// The name that its process has requested last belongs to another process.
    pub(super) fn forget_last_name(&mut self, id: ProcessId) {
        if let Some(mailbox) = self.table.lookup(id) {
            mailbox.names.pop();
        }
    }

    /// Its process continues under another key.
    pub(super) fn set_owner(&mut self, id: ProcessId, owner: RunKey) {
        if let Some(mailbox) = self.table.lookup(id) {
            mailbox.owner = owner;
        }
    }

    /// Its process has a name less. Returns it.
    pub(super) fn take_name(&mut self, id: ProcessId, text: &str) -> Option<RegisteredName> {
        let names = &mut self.table.lookup(id)?.names;
        let index = names.iter().position(|name| name.text() == text)?;
        Some(names.swap_remove(index))
    }

    /// The key of its process.
    pub(super) fn owner(&self, id: ProcessId) -> Option<RunKey> {
        self.get(id).map(|mailbox| mailbox.owner)
    }

    /// Sets what its process waits for.
    pub(super) fn set_awaits(&mut self, id: ProcessId, awaits: Awaits) {
        if let Some(mailbox) = self.table.lookup(id) {
            mailbox.awaits = awaits;
        }
    }

    /// The secret part of its name.
    pub(super) fn token(&self, id: ProcessId) -> Option<NameToken> {
        self.get(id).map(|mailbox| mailbox.token)
    }

    /// A message has arrived from a sender that knows the name. For other senders the process does not exist.
    pub(super) fn put(
        &mut self,
        id: ProcessId,
        token: NameToken,
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

    /// The process whose mailbox was full last since this was last asked, and for how many messages one was.
    pub(super) fn take_full(&mut self) -> Option<(RunKey, u64)> {
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

    /// How full it is.
    pub(super) fn load(&self, id: ProcessId) -> MailboxLoad {
        self.get(id).map_or_else(MailboxLoad::default, |mailbox| MailboxLoad {
            messages: mailbox.messages.len(),
            bytes: mailbox.size,
        })
    }

    fn get(&self, id: ProcessId) -> Option<&Mailbox> {
        self.table.get(id.index()).filter(|_| self.table.id_at(id.index()) == Some(id))
    }

    /// The thing for which its process waits.
    pub(super) fn awaits(&self, id: ProcessId) -> Awaits {
        self.get(id).map_or(Awaits::Nothing, |mailbox| mailbox.awaits)
    }

    /// Takes the process that waits for this.
    pub(super) fn take_waiting(&mut self, id: ProcessId, awaits: Awaits) -> Option<RunKey> {
        let mailbox = self.table.lookup(id).filter(|mailbox| mailbox.awaits == awaits)?;
        mailbox.awaits = Awaits::Nothing;
        Some(mailbox.owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> RunKey {
        RunKey::Request(ProcessId::from_bits(7))
    }

    /// From a sender that knows the name.
    fn put(boxes: &mut Mailboxes, id: ProcessId, message: Vec<u8>) -> Result<Put, Undelivered> {
        let token = boxes.token(id).ok_or(Undelivered::Ended)?;
        boxes.put(id, token, message)
    }

    #[test]
    fn without_the_token_there_is_nobody() {
        let (mut boxes, id) = boxes();
        let other = boxes.open(owner()).unwrap();
        let token = boxes.token(other).unwrap();
        assert_eq!(boxes.put(id, token, b"1".to_vec()), Err(Undelivered::Ended));
        assert_eq!(boxes.take(id), None);
        assert_eq!(boxes.put(other, token, b"1".to_vec()), Ok(Put::Kept));
        // The slot is reused, the token is not.
        boxes.close(other);
        let next = boxes.open(owner()).unwrap();
        assert_eq!(next.index(), other.index());
        assert_ne!(boxes.token(next), Some(token));
    }

    fn boxes() -> (Mailboxes, ProcessId) {
        let mut boxes = Mailboxes::new([0; 32]);
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
        let mut outgoing = crate::letters::Outgoing::default();
        let (first, second) = (outgoing.number(), outgoing.number());
        assert_eq!(boxes.take_waiting(id, Awaits::Word(first)), None);
        boxes.set_awaits(id, Awaits::Word(second));
        assert_eq!(put(&mut boxes, id, b"1".to_vec()), Ok(Put::Kept));
        assert_eq!(
            boxes.take_waiting(id, Awaits::Word(first)),
            None,
            "of a letter that was given up"
        );
        assert_eq!(boxes.take_waiting(id, Awaits::Word(second)), Some(owner()));
        assert_eq!(boxes.take_waiting(id, Awaits::Word(second)), None);
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
