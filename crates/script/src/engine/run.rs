//! One run of a page: its handle, what it waits for, and what it wrote.
//!
//! Owns the handles. Never runs anything: the state does.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use crate::engine::error::ScriptError;
use crate::engine::fetch::Fetch;
use crate::engine::ffi::{AccountNumber, Coroutine, Meter, Reference, Resumed};
use crate::engine::seen::Seen;

/// What dropped handles leave behind; the state removes it at its next call.
#[derive(Default)]
pub(super) struct Leftovers {
    pub(super) coroutines: Vec<Coroutine>,
    pub(super) references: Vec<Reference>,
    pub(super) accounts: Vec<AccountNumber>,
    /// Bytes held by runs that have ended since the last garbage collection.
    pub(super) held: u64,
}

impl Leftovers {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.coroutines.is_empty() && self.references.is_empty() && self.accounts.is_empty()
    }
}

/// The place for leftovers, which also identifies the state of a handle.
pub(super) type Bin = Rc<RefCell<Leftovers>>;

/// A loaded page. Dropping it releases its code; running pages keep what they need.
pub struct Handler {
    pub(super) reference: Option<Reference>,
    pub(super) name: Rc<str>,
    pub(super) bin: Bin,
}

impl Handler {
    /// The name under which it was loaded.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        if let Some(reference) = self.reference.take() {
            self.bin.borrow_mut().references.push(reference);
        }
    }
}

/// The purpose for which a module is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To answer requests: it returns a handler, or handlers by method, or routes.
    Answers,
    /// To be required by others: it may return anything.
    Required,
    /// To be a process of the site: it returns a function.
    Process,
}

/// The shared memory account of several runs. It is closed when the last of them has ended.
pub struct Account {
    pub(super) number: AccountNumber,
    pub(super) bin: Bin,
}

impl Drop for Account {
    fn drop(&mut self) {
        self.bin.borrow_mut().accounts.push(self.number);
    }
}

/// A suspended page. Dropping it cancels the page.
pub struct Run {
    pub(super) coroutine: Option<Coroutine>,
    pub(super) name: Rc<str>,
    pub(super) ticks: u32,
    /// Nanoseconds charged that are not yet a whole tick.
    pub(super) owed_ns: u64,
    /// Values on its stack that its first resume passes.
    pub(super) first_values: i32,
    /// Where its last slice ended.
    pub(super) seen: Option<Box<Seen>>,
    /// What it allocated.
    pub(super) meter: Meter,
    /// The account it shares with others, if any.
    pub(super) account: Option<Rc<Account>>,
    /// Bytes held above which it is reviewed.
    pub(super) review_above: u64,
    /// The current review, if it may hold too much.
    pub(super) review: Option<Review>,
    pub(super) bin: Bin,
}

/// A review of what a run really holds: the run is suspended, and garbage is collected until everything that was garbage when the
/// review began has been freed.
#[derive(Clone, Copy)]
pub(super) struct Review {
    /// The cycle at whose end all that garbage is freed.
    pub(super) until: u64,
    /// How the run returned before the review.
    pub(super) outcome: Resumed,
}

/// The memory that a run may hold.
#[derive(Clone)]
pub(super) enum MemoryBudget {
    /// This many bytes.
    Bytes(u64),
    /// What the runs of its account may hold, as long as there is room.
    Shared(Meter, Rc<Account>),
    /// All of it, because it loads what others use.
    All,
}

impl Run {
    pub(super) fn new(
        coroutine: Coroutine,
        name: Rc<str>,
        memory: MemoryBudget,
        bin: &Bin,
    ) -> Self {
        let (meter, review_above, account) = match memory {
            MemoryBudget::Bytes(bytes) => (Meter::new(), bytes, None),
            MemoryBudget::Shared(meter, account) => (meter, u64::MAX, Some(account)),
            MemoryBudget::All => (Meter::of_nobody(), u64::MAX, None),
        };
        Self {
            coroutine: Some(coroutine),
            name,
            ticks: 0,
            owed_ns: 0,
            first_values: 0,
            seen: None,
            meter,
            account,
            review_above,
            review: None,
            bin: bin.clone(),
        }
    }

    /// The name of the page.
    #[must_use]
    pub fn page(&self) -> &str {
        &self.name
    }

    /// Renews its CPU budget.
    pub fn renew_budget(&mut self) {
        self.ticks = 0;
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let mut leftovers = self.bin.borrow_mut();
        leftovers.held += self.meter.unwatched();
        if let Some(coroutine) = self.coroutine.take() {
            leftovers.coroutines.push(coroutine);
        }
        if let Some(account) = self.meter.account().filter(|_| self.account.is_none()) {
            leftovers.accounts.push(account);
        }
    }
}

/// How a call to a page returned.
#[must_use]
pub enum Step {
    /// The page has finished; the output has what it wrote.
    Done,
    /// The page waits. Resume it with the answer.
    Waits(Run, Wait),
    /// Its time slice has ended. Resume it after others have run.
    Sliced(Run),
    /// The page was ended.
    Failed(Box<ScriptError>),
}

/// What a page waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Time: resume with [`Reply::Nothing`] when it has passed.
    Sleep(Duration),
    /// Its own name: resume with a text.
    Name,
    /// The delivery of a message to a process: resume with [`Reply::Nothing`] when it has arrived, otherwise with a text that says why not.
    Send {
        /// The name of that process.
        to: Vec<u8>,
        /// The message; only the receiving page knows its content.
        message: Vec<u8>,
    },
    /// A permanent name for a file of its request's form: resume with [`Reply::Nothing`] when it has it, otherwise with two texts, the
    /// second of which says why not.
    SaveFile {
        /// The file.
        file: FormFile,
        /// The name.
        name: Vec<u8>,
        /// What to do if a file with that name exists.
        clash: Clash,
    },
    /// The first bytes of a file of its request's form: resume with them as a text, or with two texts, the second of which
    /// says why not.
    ReadFile {
        /// The file.
        file: FormFile,
        /// Maximum number of bytes.
        most: usize,
    },
    /// A message: resume with its text, or with [`Reply::Nothing`] when this time has passed.
    Receive(Option<Duration>),
    /// A new process, for the engine that runs processes ([`State::spawn`](crate::engine::State::spawn)): resume with its name,
    /// or with two texts, the second of which says why there is none.
    Spawn(Vec<u8>),
    /// An answer from another server: resume with its status, its fields (names in lower case, and values, one per line) and
    /// its body as texts, or with [`Reply::Failed`]: the page gets nil and that text. If the body is read piece by piece,
    /// it is empty, and a fourth text is the number with which it is read.
    Fetch(Box<Fetch>),
    /// The next piece of such a body: resume with it as a text, with [`Reply::Nothing`] at its end, or with
    /// [`Reply::Failed`].
    ReadFetched(u64),
    /// Nothing: the rest of such a body is not wanted. Resume with [`Reply::Nothing`].
    CloseFetched(u64),
    /// A registered name for its process: resume with [`Reply::Nothing`] when it has it, otherwise with two texts, the second of which says why not.
    Register(Vec<u8>),
    /// The process with this registered name: resume with the process's own name, or with [`Reply::Nothing`].
    Whereis(Vec<u8>),
    /// A subscription to a channel: resume with its number, or with two texts, the second of which says why not.
    Listen(Vec<u8>),
    /// The next message of a subscription: resume with three texts (its number, its kind, and how many before it were lost) and the message; with
    /// [`Reply::Nothing`] when this time has passed; or with [`Reply::Failed`].
    Hear {
        /// The number of the subscription.
        number: u64,
        /// How long to wait.
        time: Option<Duration>,
    },
    /// Nothing: the subscription is ended. Resume with [`Reply::Nothing`].
    StopListening(u64),
    /// Changes of the store: items, each with its length in decimal digits, a colon and its bytes. First comes the number of conditions, and for each
    /// the database, the key and the version it must have, `0` for none; then the steps, each `put` with the database, the key, the kind, the
    /// bytes, the expiry (nothing, `keep`, or milliseconds since 1970) and a condition (nothing, `absent`, `present`, or a
    /// version), `delete` with the database, the key and a version or nothing, or `add` with the database, the key and an integer. Resume
    /// with two texts: `done` and the result of the last step (`1`, `0` or a number); `refused`, if a condition is not met; `failed`
    /// and the reason; or `wrong` and the page's mistake.
    Order(Vec<u8>),
    /// A commit of the store with a higher number: resume with [`Reply::Nothing`] when there is one, or when this time has passed.
    Commit {
        /// The number.
        after: u64,
        /// How long to wait.
        time: Option<Duration>,
    },
    /// The first place in the queue with this name; an empty name leaves the queue. Resume with [`Reply::Nothing`] then, or when it takes too long.
    StandInLine(Vec<u8>),
    /// The client: the output has what the page has written so far, including the head the first time. Resume with
    /// [`Reply::Nothing`] when the client has read it.
    Flush,
    /// The client's WebSocket: the output has the name of its subprotocol as the body, and the fields of the head. Resume with
    /// [`Reply::Nothing`] when it is open.
    Accept,
    /// An operation on the WebSocket, described by [`Output::saying`](super::Output::saying). Resume with
    /// [`Reply::Nothing`] when it is done, otherwise with two texts, the second of which says why not.
    Say,
    /// The next message of the client: resume with its kind (`text` or `binary`) and its bytes; with `close`, the reason and the code when
    /// the WebSocket is closed; or, if letters are wanted, with the single text of a message from a process.
    NextMessage(Letters),
}

/// Whether a run that waits for its client also accepts messages of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    /// Yes.
    Wanted,
    /// No.
    Left,
}

/// An operation on a WebSocket. Its text, if it has one, is the body of the output.
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

/// A file of a form, with the numbers that the host has given the page ([`Part::Files`](crate::engine::Part::Files)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormFile {
    /// The form's number.
    pub form: u64,
    /// The file's number, from 1.
    pub number: usize,
}

/// What to do with an existing file of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clash {
    /// Keep it; the new file gets no name.
    Keep,
    /// Replace it.
    Replace,
}

/// The answer to a [`Wait`], or the value with which a slice is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'text> {
    /// Continue.
    Nothing,
    /// The wait failed; raised in the page as an error with this text.
    Failed(&'text str),
    /// The result: up to [`REPLY_TEXTS`](crate::limits::REPLY_TEXTS) texts.
    Texts(&'text [&'text [u8]]),
}
