//! Page processes: what a page, or a function that one spawned, is while it is under way.
//!
//! Owns their names and their mailboxes. Never runs one.

use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;
use std::str::FromStr;
use std::sync::Arc;

use runtime::mailbox::Endpoint;
use runtime::slots::{ProcessId, Slots};
use script::engine::{Reply, Run};

use super::counts::RowIndex;
use super::family::{Family, Member};
use super::fetches::Fetched;
use super::post::LetterNumber;
use super::set::Page;
use crate::limits::{
    ALL_MAILBOXES_SIZE, MAILBOX_SIZE, PAGE_MESSAGE_COST, PAGE_MESSAGES_MAX, PAGE_PROCESSES_MAX,
};

/// Which one, on its scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Key {
    /// What answers the request of a connection.
    Request(ProcessId),
    /// What was spawned, by the number of its mailbox.
    Spawned(ProcessId),
}

/// What is known of it as long as it is under way, whatever it does.
pub(super) struct Life {
    pub(super) page: Arc<Page>,
    pub(super) row: RowIndex,
    /// When it is ended, whatever it does.
    pub(super) deadline_ns: u64,
    /// Its mailbox, from the first time somebody may write to it.
    pub(super) mailbox: Option<ProcessId>,
    /// What it shares with those that it spawned, and with who spawned it.
    pub(super) family: Option<Member>,
    /// Whose CPU budget it uses.
    pub(super) budget: Budget,
    /// Whether its client was given something to take.
    pub(super) progress: Progress,
    /// From when on it has its CPU budget anew.
    budget_due_ns: u64,
}

/// Whose CPU budget a process uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Budget {
    /// Its own: it answers a request.
    Own,
    /// That of its family: it was spawned.
    Shared,
}

/// What its client was sent since it went on last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing.
    None,
    /// A part of the answer.
    PartSent,
}

impl Life {
    pub(super) fn new(page: Arc<Page>, row: RowIndex, deadline_ns: u64) -> Self {
        let (progress, budget_due_ns) = (Progress::None, deadline_ns);
        Self {
            page,
            row,
            deadline_ns,
            mailbox: None,
            family: None,
            budget: Budget::Own,
            progress,
            budget_due_ns,
        }
    }

    /// The family whose CPU budget it uses, where that is not its own.
    pub(super) fn shares_budget_with(&self) -> Option<&Rc<Family>> {
        self.family.as_ref().filter(|_| self.budget == Budget::Shared).map(Member::family)
    }

    /// It goes on. Whose client has taken a part since has its time anew, so that there may be answers without an end; and
    /// its CPU budget once in each such span, so that none takes more of a core for being one.
    pub(super) fn note_taken(&mut self, run: &mut Run, now_ns: u64, span_ns: u64) {
        if self.progress == Progress::None {
            return;
        }
        self.progress = Progress::None;
        self.deadline_ns = now_ns.saturating_add(span_ns);
        if now_ns >= self.budget_due_ns {
            self.budget_due_ns = self.deadline_ns;
            run.renew_budget();
        }
    }
}

/// One that does not run now.
pub(super) struct Underway {
    pub(super) run: Run,
    pub(super) life: Life,
    /// When it goes on, whatever happens.
    pub(super) due_ns: u64,
    /// What it waited for, once it is here.
    pub(super) delivery: Option<Delivery>,
    pub(super) standing: Standing,
}

impl Underway {
    pub(super) fn new(run: Run, life: Life, due_ns: u64, delivery: Option<Delivery>) -> Self {
        Self { run, life, due_ns, delivery, standing: Standing::Waits }
    }

    /// Whether what it waits for is here.
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        self.due_ns <= now_ns || self.delivery.is_some()
    }
}

/// Whether one that does not run is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It waits, or was told to go on.
    Waits,
    /// It is in the queue of those that go on.
    Ready,
}

/// What a process waited for.
pub(super) enum Delivery {
    /// It is this text.
    Text(Vec<u8>),
    /// It has happened, which says it all.
    Done,
    /// It was refused, which the page may handle.
    Refused(&'static str),
    /// It failed.
    Failed(&'static str),
    /// Another server has answered, or has not.
    Fetched(Box<Fetched>),
}

impl Delivery {
    /// As the engine takes it.
    pub(super) fn reply_to<T>(delivery: Option<&Self>, resume: impl FnOnce(Reply<'_>) -> T) -> T {
        match delivery {
            Some(Self::Text(text)) => resume(Reply::Texts(&[text])),
            Some(Self::Refused(why)) => resume(Reply::Texts(&[b"", why.as_bytes()])),
            Some(Self::Failed(why)) => resume(Reply::Failed(why)),
            Some(Self::Fetched(fetched)) => fetched.reply_to(resume),
            Some(Self::Done) | None => resume(Reply::Nothing),
        }
    }
}

/// The name of a process among all schedulers, as pages see it: `SCHEDULER.NUMBER.GENERATION`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// The scheduler.
    pub(super) endpoint: Endpoint,
    /// The mailbox there.
    pub(super) mailbox: ProcessId,
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.mailbox.to_bits();
        write!(formatter, "{}.{}.{}", self.endpoint.0, bits & u64::from(u32::MAX), bits >> 32)
    }
}

impl FromStr for Name {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('.');
        let mut part = || parts.next().filter(|part| !part.is_empty()).ok_or(());
        let endpoint = Endpoint(part()?.parse().map_err(drop)?);
        let number: u32 = part()?.parse().map_err(drop)?;
        let generation: u32 = part()?.parse().map_err(drop)?;
        let mailbox = ProcessId::from_bits(u64::from(generation) << 32 | u64::from(number));
        if parts.next().is_some() { Err(()) } else { Ok(Self { endpoint, mailbox }) }
    }
}

/// Why a message did not reach a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undelivered {
    /// No process can have this name.
    Nobody,
    /// There is no such process any more.
    Ended,
    /// Its mailbox is full.
    Full,
    /// Its scheduler has not answered.
    Unheard,
}

impl Undelivered {
    /// As its sender is told.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nobody => "that is not the name of a process",
            Self::Ended => "the process has ended",
            Self::Full => "its mailbox is full",
            Self::Unheard => "its scheduler does not answer: the message may arrive or not",
        }
    }
}

/// What a process is ready to be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaits {
    /// Nothing from outside.
    Nothing,
    /// A message.
    Message,
    /// Word of what became of this letter.
    Word(LetterNumber),
}

struct Mailbox {
    owner: Key,
    awaits: Awaits,
    messages: VecDeque<Vec<u8>>,
    size: usize,
}

/// Where a message is now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Put {
    /// It waits to be asked for.
    Kept,
    /// This process waits for it.
    Awaited(Key, Vec<u8>),
}

/// The mailboxes of one scheduler.
pub(super) struct Mailboxes {
    table: Slots<Mailbox>,
    size: usize,
}

impl Mailboxes {
    pub(super) fn new() -> Self {
        Self { table: Slots::new(PAGE_PROCESSES_MAX), size: 0 }
    }

    /// The number of the mailbox that is opened next.
    pub(super) fn next_id(&self) -> ProcessId {
        self.table.next_id()
    }

    /// Opens a mailbox; none when there are too many.
    pub(super) fn open(&mut self, owner: Key) -> Option<ProcessId> {
        let (awaits, messages, size) = (Awaits::Nothing, VecDeque::new(), 0);
        self.table.insert(Mailbox { owner, awaits, messages, size }).ok()
    }

    /// Its process has ended; nobody reads what is in it.
    pub(super) fn close(&mut self, id: ProcessId) {
        if let Some(mailbox) = self.table.remove(id) {
            self.size -= mailbox.size;
        }
    }

    /// Says what its process waits for.
    pub(super) fn set_awaits(&mut self, id: ProcessId, awaits: Awaits) {
        if let Some(mailbox) = self.table.lookup(id) {
            mailbox.awaits = awaits;
        }
    }

    /// A message has come.
    pub(super) fn put(&mut self, id: ProcessId, message: Vec<u8>) -> Result<Put, Undelivered> {
        let mailbox = self.table.lookup(id).ok_or(Undelivered::Ended)?;
        if mailbox.awaits == Awaits::Message {
            mailbox.awaits = Awaits::Nothing;
            return Ok(Put::Awaited(mailbox.owner, message));
        }
        let size = message.len() + PAGE_MESSAGE_COST;
        let is_full = mailbox.messages.len() == PAGE_MESSAGES_MAX
            || mailbox.size + size > MAILBOX_SIZE
            || self.size + size > ALL_MAILBOXES_SIZE;
        if is_full {
            return Err(Undelivered::Full);
        }
        mailbox.messages.push_back(message);
        mailbox.size += size;
        self.size += size;
        Ok(Put::Kept)
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

    /// What its process waits for.
    pub(super) fn awaits(&mut self, id: ProcessId) -> Awaits {
        self.table.lookup(id).map_or(Awaits::Nothing, |mailbox| mailbox.awaits)
    }

    /// Who waits for word of this letter here, and does no more.
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

    fn boxes() -> (Mailboxes, ProcessId) {
        let mut boxes = Mailboxes::new();
        let id = boxes.open(owner()).unwrap();
        (boxes, id)
    }

    #[test]
    fn a_name_is_read_as_it_is_written() {
        let mailbox = ProcessId::from_bits(3 << 32 | 17);
        let name = Name { endpoint: Endpoint(2), mailbox };
        assert_eq!(name.to_string(), "2.17.3");
        assert_eq!("2.17.3".parse(), Ok(name));
        for wrong in
            ["", "2.17", "2.17.3.4", "a.1.2", "1..2", "1.2.", "70000.1.1", "1.5000000000.1"]
        {
            assert_eq!(wrong.parse::<Name>(), Err(()), "{wrong}");
        }
    }

    #[test]
    fn messages_come_in_their_order_and_to_who_waits_at_once() {
        let (mut boxes, id) = boxes();
        assert_eq!(boxes.put(id, b"1".to_vec()), Ok(Put::Kept));
        assert_eq!(boxes.put(id, b"2".to_vec()), Ok(Put::Kept));
        assert_eq!(boxes.take(id), Some(b"1".to_vec()));
        assert_eq!(boxes.take(id), Some(b"2".to_vec()));
        assert_eq!(boxes.take(id), None);
        boxes.set_awaits(id, Awaits::Message);
        assert_eq!(boxes.put(id, b"3".to_vec()), Ok(Put::Awaited(owner(), b"3".to_vec())));
        assert_eq!(boxes.put(id, b"4".to_vec()), Ok(Put::Kept));
    }

    #[test]
    fn word_is_for_who_waits_for_it() {
        let (mut boxes, id) = boxes();
        let mut outgoing = super::super::post::Outgoing::default();
        let (first, second) = (outgoing.number(), outgoing.number());
        assert_eq!(boxes.take_word(id, first), None);
        boxes.set_awaits(id, Awaits::Word(second));
        assert_eq!(boxes.put(id, b"1".to_vec()), Ok(Put::Kept));
        assert_eq!(boxes.take_word(id, first), None, "of a letter that was given up");
        assert_eq!(boxes.take_word(id, second), Some(owner()));
        assert_eq!(boxes.take_word(id, second), None);
    }

    #[test]
    fn a_mailbox_is_bounded_in_messages_and_in_bytes_and_closing_gives_them_back() {
        let (mut boxes, id) = boxes();
        for _ in 0..PAGE_MESSAGES_MAX {
            assert_eq!(boxes.put(id, Vec::new()), Ok(Put::Kept));
        }
        assert_eq!(boxes.put(id, Vec::new()), Err(Undelivered::Full));
        boxes.close(id);
        assert_eq!(boxes.size, 0);
        assert_eq!(boxes.put(id, Vec::new()), Err(Undelivered::Ended));
        let large = vec![0; MAILBOX_SIZE / 2];
        let ids: Vec<_> = (0..100).map(|_| boxes.open(owner()).unwrap()).collect();
        assert_eq!(boxes.put(ids[0], large.clone()), Ok(Put::Kept));
        assert_eq!(boxes.put(ids[0], large.clone()), Err(Undelivered::Full));
        let mut kept = 1;
        for id in &ids[1..] {
            kept += usize::from(boxes.put(*id, large.clone()).is_ok());
        }
        assert_eq!(kept, ALL_MAILBOXES_SIZE / (large.len() + PAGE_MESSAGE_COST));
        for id in ids {
            boxes.close(id);
        }
        assert_eq!(boxes.size, 0);
    }
}
