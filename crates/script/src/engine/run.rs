//! One run of a page: its handle, and how it comes back.
//!
//! Owns the handles. Never runs anything: the state does.

use std::cell::RefCell;
use std::rc::Rc;

use crate::engine::call::{Arguments, CallNumber};
use crate::engine::error::ScriptError;
use crate::engine::ffi::{AccountNumber, Coroutine, Meter, Reference, Resumed};
use crate::engine::seen::Seen;

/// References that dropped handles leave behind; the state removes them at its next call.
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
pub struct MemoryAccount {
    pub(super) number: AccountNumber,
    pub(super) bin: Bin,
}

impl Drop for MemoryAccount {
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
    /// The meter of its memory.
    pub(super) meter: Meter,
    /// The account it shares with others, if any.
    pub(super) account: Option<Rc<MemoryAccount>>,
    /// Bytes held above which it is reviewed.
    pub(super) review_above: u64,
    /// The current review, if it may hold too much.
    pub(super) review: Option<Review>,
    pub(super) bin: Bin,
}

/// A review of what a run really holds: the run is suspended, and garbage is collected until everything that was
/// garbage when the review began has been freed.
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
    /// The memory that the runs of its account may hold, as long as there is room.
    Shared(Meter, Rc<MemoryAccount>),
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
    pub fn page(&self) -> &str {
        &self.name
    }

    /// The arguments of the call that it waits for.
    pub fn arguments(&self) -> Arguments<'_> {
        Arguments::of(self.coroutine.as_ref().expect("a run has its coroutine between calls"))
    }

    /// The host has read the arguments of the call. Until then they are kept, at most until the run continues.
    pub fn forget_arguments(&mut self) {
        let waits = self.review.is_none() && self.first_values == 0;
        if let (Some(coroutine), true) = (&mut self.coroutine, waits) {
            coroutine.truncate(0);
        }
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
pub enum CallResult {
    /// The page has finished; the output has what it wrote.
    Done,
    /// The page waits for this call of its host. Resume it with the answer.
    Waits(Run, CallNumber),
    /// Its time slice has ended. Resume it after others have run.
    Sliced(Run),
    /// The page was ended.
    Failed(Box<ScriptError>),
}

/// The answer to a call, or the value with which a slice is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReply<'text> {
    /// Continue.
    Nothing,
    /// The wait failed; raised in the page as an error with this text.
    Failed(&'text str),
    /// The result: up to [`REPLY_TEXTS`](crate::limits::REPLY_TEXTS) texts.
    Texts(&'text [&'text [u8]]),
}
