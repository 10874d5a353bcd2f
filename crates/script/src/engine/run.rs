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

/// What handles leave behind when they are dropped; the state takes it away at its next call.
#[derive(Default)]
pub(super) struct Leftovers {
    pub(super) coroutines: Vec<Coroutine>,
    pub(super) references: Vec<Reference>,
    pub(super) accounts: Vec<AccountNumber>,
    /// Bytes that runs held which are over, since garbage was collected last.
    pub(super) held: u64,
}

impl Leftovers {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.coroutines.is_empty() && self.references.is_empty() && self.accounts.is_empty()
    }
}

/// The place for leftovers, which also tells whose handle it is.
pub(super) type Bin = Rc<RefCell<Leftovers>>;

/// A loaded page. Dropping it lets go of its code; runs under way keep what they need.
pub struct Handler {
    pub(super) reference: Option<Reference>,
    pub(super) name: Rc<str>,
    pub(super) bin: Bin,
}

impl Handler {
    /// The name it was loaded by.
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

/// What a module is loaded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To answer requests: it gives a handler, or handlers by method, or routes.
    Answers,
    /// To be required by others: it gives anything.
    Required,
    /// To be a process of the site: it gives a function.
    Process,
}

/// The memory of several runs together: what they hold is one sum. It is closed when the last of them is over.
pub struct Account {
    pub(super) number: AccountNumber,
    pub(super) bin: Bin,
}

impl Drop for Account {
    fn drop(&mut self) {
        self.bin.borrow_mut().accounts.push(self.number);
    }
}

/// A page that is under way and not running now. Dropping it cancels it: nothing of it runs any more.
pub struct Run {
    pub(super) coroutine: Option<Coroutine>,
    pub(super) name: Rc<str>,
    pub(super) ticks: u32,
    /// Nanoseconds that it was charged and that are no whole tick yet.
    pub(super) owed_ns: u64,
    /// Values on its stack that its first resume passes.
    pub(super) first_values: i32,
    /// Where its last slice ended.
    pub(super) seen: Option<Box<Seen>>,
    /// What it allocated.
    pub(super) meter: Meter,
    /// The account that it shares with others, if it does.
    pub(super) account: Option<Rc<Account>>,
    /// Bytes held above which it is reviewed.
    pub(super) review_above: u64,
    /// What is under way instead of it, if it may hold too much.
    pub(super) review: Option<Review>,
    pub(super) bin: Bin,
}

/// The look at what a run really holds: it stands, and garbage is collected, until all that was garbage when it began is
/// gone.
#[derive(Clone, Copy)]
pub(super) struct Review {
    /// The end of a cycle at which all that was garbage is gone.
    pub(super) until: u64,
    /// How the run came back before.
    pub(super) outcome: Resumed,
}

/// What memory a run may hold.
#[derive(Clone)]
pub(super) enum MemoryBudget {
    /// So much.
    Bytes(u64),
    /// What those of its account may, as long as there is room.
    Shared(Meter, Rc<Account>),
    /// All there is: it loads what others use.
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

    /// Gives it its CPU budget anew.
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

/// How a call to a page came back.
#[must_use]
pub enum Step {
    /// The page is done; what it wrote is in the output.
    Done,
    /// The page waits. Resume it with the answer.
    Waits(Run, Wait),
    /// Its time slice is over. Resume it when others had their turn.
    Sliced(Run),
    /// The page is ended.
    Failed(Box<ScriptError>),
}

/// What a page waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Time: resume with [`Reply::Nothing`] when it has passed.
    Sleep(Duration),
    /// Its own name: resume with a text.
    Name,
    /// A message to reach a process: resume with [`Reply::Nothing`] when it has, else with a text that says why not.
    Send {
        /// The name of that process.
        to: Vec<u8>,
        /// The message; no one but the page that it is for knows what is in it.
        message: Vec<u8>,
    },
    /// A file of its request's form to get a name: resume with [`Reply::Nothing`] when it has, else with two texts, the
    /// second of which says why not.
    SaveFile {
        /// Which file.
        file: FormFile,
        /// The name.
        name: Vec<u8>,
        /// What a file that has that name means.
        clash: Clash,
    },
    /// The first bytes of a file of its request's form: resume with them as a text, or with two texts, the second of which
    /// says why not.
    ReadFile {
        /// Which file.
        file: FormFile,
        /// Most bytes.
        most: usize,
    },
    /// A message: resume with its text, or with [`Reply::Nothing`] when so much time has passed.
    Receive(Option<Duration>),
    /// A process of its own, for the engine that runs processes ([`State::spawn`](crate::engine::State::spawn)): resume with its name,
    /// or with two texts, the second of which says why there is none.
    Spawn(Vec<u8>),
    /// Another server's answer: resume with its status, its fields (names in small letters, and values, a line each) and
    /// its body as texts, or with [`Reply::Failed`]: the page gets nil and that text. Where the body is wanted piece by piece
    /// it is empty, and a fourth text is the number by which it is read.
    Fetch(Box<Fetch>),
    /// The next piece of such a body: resume with it as a text, with [`Reply::Nothing`] at its end, or with
    /// [`Reply::Failed`].
    ReadFetched(u64),
    /// Nothing: the rest of such a body is not wanted. Resume with [`Reply::Nothing`].
    CloseFetched(u64),
    /// A name for its process: resume with [`Reply::Nothing`] when it has it, else with two texts, the second of which says why not.
    Register(Vec<u8>),
    /// The process that has this name: resume with its own name, or with [`Reply::Nothing`].
    Whereis(Vec<u8>),
    /// The messages of a channel: resume with a number by which they are heard, or with two texts, the second of which says why not.
    Listen(Vec<u8>),
    /// The next of them: resume with three texts (its number, what it is, and how many before it were lost) and the message; with [`Reply::Nothing`]
    /// when so much time has passed; or with [`Reply::Failed`].
    Hear {
        /// By which they are heard.
        number: u64,
        /// How long.
        time: Option<Duration>,
    },
    /// Nothing: they are not wanted any more. Resume with [`Reply::Nothing`].
    StopListening(u64),
    /// Changes of the store: items, each its length in decimal digits, a colon and its bytes. First comes how many conditions there are, and for each the
    /// database, the key and the version it must have, `0` for none; then the steps, each `put` with the database, the key, the kind, the
    /// bytes, when it ends (nothing, `keep`, or milliseconds since 1970) and on which condition (nothing, `absent`, `present`, or a
    /// version), `delete` with the database, the key and a version or nothing, or `add` with the database, the key and a whole number. Resume
    /// with two texts: `done` and what came of the last step (`1`, `0` or a number); `refused`, as a condition does not hold; `failed`
    /// and why; or `wrong` and what the page does wrong.
    Order(Vec<u8>),
    /// A commit of the store with a higher number: resume with [`Reply::Nothing`] when there is one, or when so much time has passed.
    Commit {
        /// The number.
        after: u64,
        /// How long.
        time: Option<Duration>,
    },
    /// To be the first in the line of this name; nothing, to leave the line. Resume with [`Reply::Nothing`] then, or when it takes too long.
    StandInLine(Vec<u8>),
    /// The client: what the page has written so far is in the output, the head with it at the first time. Resume with
    /// [`Reply::Nothing`] when it was taken.
    Flush,
    /// The client's WebSocket: the name of its subprotocol is in the output as the body, with the fields of the head. Resume with
    /// [`Reply::Nothing`] when it is open.
    Accept,
    /// Something to be done with the WebSocket: [`Output::saying`] tells what. Resume with [`Reply::Nothing`] when it is done, else with two
    /// texts, the second of which says why not.
    Say,
    /// The next message of the client: resume with its kind (`text` or `binary`) and its bytes; with `close`, the reason, and the code when
    /// the WebSocket is closed; or, where letters are wanted, with the one text of a message of a process.
    NextMessage(Letters),
}

/// Whether a run that waits for its client takes messages of processes meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    /// It does.
    Wanted,
    /// It does not.
    Left,
}

/// What is to be done with a WebSocket. Its text, if it has one, is the body of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saying {
    /// A message of text.
    Text,
    /// A message of bytes.
    Binary,
    /// Messages of that channel.
    Subscribe,
    /// No messages of it any more.
    Unsubscribe,
    /// Its end, with this code; the body is the reason.
    Close(u16),
}

/// A file of a form, as the host has told the page of it ([`Part::Files`](crate::engine::Part::Files)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormFile {
    /// The form's number.
    pub form: u64,
    /// The file's, from 1.
    pub number: usize,
}

/// What a file means for another that is to get its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clash {
    /// It stays, and the other gets no name.
    Keep,
    /// It is replaced.
    Replace,
}

/// The answer to a [`Wait`], and what a slice is resumed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'text> {
    /// It is time to go on.
    Nothing,
    /// What was waited for failed; raised in the page as an error with this text.
    Failed(&'text str),
    /// What was waited for: up to [`REPLY_TEXTS`](crate::limits::REPLY_TEXTS) texts.
    Texts(&'text [&'text [u8]]),
}

/// Whose an answer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Author {
    /// The page's, or the module's.
    #[default]
    Page,
    /// The server's own of that status: a module has no handler for the request, or gave nothing but an error's status.
    Server,
}

/// What a page wrote. Used again and again, it keeps its room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The bytes of the body.
    pub body: Vec<u8>,
    /// The status, if the page set one.
    pub status: Option<u16>,
    /// Whose answer it is.
    pub author: Author,
    /// Names and values of the fields that the page set, a line each. Neither holds a line end.
    pub(super) fields: Vec<u8>,
}

impl Output {
    /// The fields that the page set, in no particular order. A value may be any bytes but control characters.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let mut lines = self.fields.split(|byte| *byte == b'\n');
        // Behind the last line end is nothing more.
        std::iter::from_fn(move || Some((str::from_utf8(lines.next()?).ok()?, lines.next()?)))
    }

    /// What is to be done with the WebSocket, behind [`Wait::Say`].
    #[must_use]
    pub fn saying(&self) -> Saying {
        match self.status {
            None | Some(1) => Saying::Text,
            Some(2) => Saying::Binary,
            Some(3) => Saying::Subscribe,
            Some(4) => Saying::Unsubscribe,
            Some(code) => Saying::Close(code),
        }
    }

    /// Copies what a page wrote: the one crossing of its output.
    pub(super) fn take(&mut self, coroutine: &Coroutine) {
        self.clear();
        self.body.extend_from_slice(coroutine.stack.lent_bytes_at(2));
        let status = coroutine.stack.number_at(4) as u16;
        self.status = (status != 0).then_some(status);
        if coroutine.stack.number_at(6) == 1.0 {
            self.author = Author::Server;
        }
        if let Some(fields) = coroutine.stack.bytes_at(5) {
            self.fields.extend_from_slice(fields);
        }
    }

    fn clear(&mut self) {
        self.body.clear();
        self.status = None;
        self.author = Author::default();
        self.fields.clear();
    }
}
