//! One run of a page: its handle, and how it comes back.
//!
//! Owns the handles. Never runs anything: the state does.

mod steps;

use std::cell::RefCell;
use std::rc::Rc;

use crate::engine::call::{Arguments, CallNumber};
use crate::engine::error::{ScriptError, TracebackFrame};
use crate::engine::ffi::{AccountNumber, Coroutine, Lua, Meter, Reference, Resumed};
use crate::engine::report;
use crate::engine::seen::Seen;
use crate::limits;

/// References that dropped handles leave behind; the state removes them at its next call.
#[derive(Default)]
pub(super) struct Leftovers {
    coroutines: Vec<Coroutine>,
    references: Vec<Reference>,
    accounts: Vec<AccountNumber>,
    /// Bytes held by runs that have ended since the last garbage collection.
    held: u64,
}

impl Leftovers {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.coroutines.is_empty() && self.references.is_empty() && self.accounts.is_empty()
    }

    /// Bytes held by runs that have ended since the last garbage collection.
    pub(super) fn held(&self) -> u64 {
        self.held
    }

    /// A garbage collection has ended.
    pub(super) fn note_collected(&mut self) {
        self.held = 0;
    }

    /// Removes a limited amount of them from their state.
    pub(super) fn release_some(&mut self, lua: &mut Lua) {
        let left = self.coroutines.len().saturating_sub(limits::SWEPT_AT_ONCE);
        self.coroutines.drain(left..).for_each(|coroutine| lua.drop_coroutine(coroutine));
        self.references.drain(..).for_each(|reference| lua.release(&reference));
        for account in std::mem::take(&mut self.accounts) {
            self.held += lua.ledger().close(account);
        }
    }
}

/// The place for leftovers, which also identifies the state of a handle.
pub(super) type Bin = Rc<RefCell<Leftovers>>;

/// A loaded page. Dropping it releases its code; running pages keep what they need.
pub struct Handler {
    function: Reference,
    name: Rc<str>,
    bin: Bin,
}

impl Handler {
    pub(super) fn new(function: Reference, name: Rc<str>, bin: &Bin) -> Self {
        Self { function, name, bin: Rc::clone(bin) }
    }

    /// The name under which it was loaded.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its function, in the state with this bin.
    pub(super) fn function_in(&self, bin: &Bin) -> &Reference {
        assert!(Rc::ptr_eq(bin, &self.bin), "a page runs in the engine that loaded it");
        &self.function
    }

    /// A run of it, with a coroutine of its state that holds its function.
    pub(super) fn run(&self, coroutine: Coroutine, memory: MemoryBudget) -> Run {
        Run::new(coroutine, Rc::clone(&self.name), memory, &self.bin).passing(1)
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        let function = std::mem::replace(&mut self.function, Reference::NOTHING);
        self.bin.borrow_mut().references.push(function);
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
    number: AccountNumber,
    bin: Bin,
}

impl MemoryAccount {
    pub(super) fn new(number: AccountNumber, bin: &Bin) -> Self {
        Self { number, bin: Rc::clone(bin) }
    }

    /// Its number, in the state with this bin.
    pub(super) fn number_in(&self, bin: &Bin) -> AccountNumber {
        assert!(Rc::ptr_eq(bin, &self.bin), "a process runs in the engine of its account");
        self.number
    }
}

impl Drop for MemoryAccount {
    fn drop(&mut self) {
        self.bin.borrow_mut().accounts.push(self.number);
    }
}

/// A suspended page. Dropping it cancels the page.
pub struct Run {
    coroutine: Option<Coroutine>,
    name: Rc<str>,
    /// Nanoseconds of its CPU budget that it has used.
    spent_ns: u64,
    /// Values on its stack that its first resume passes.
    first_values: i32,
    /// Where its last slice ended.
    seen: Option<Box<Seen>>,
    /// The meter of its memory.
    meter: Meter,
    /// The account it shares with others, if any.
    account: Option<Rc<MemoryAccount>>,
    /// Bytes held above which it is reviewed.
    review_above: u64,
    /// The current review, if it may hold too much.
    review: Option<Review>,
    bin: Bin,
}

/// A review of what a run really holds: the run is suspended, and garbage is collected until everything that was
/// garbage when the review began has been freed. Plain data.
#[derive(Clone, Copy)]
pub(super) struct Review {
    /// The cycle at whose end all that garbage is freed.
    pub(crate) until: u64,
    /// How the run returned before the review.
    pub(crate) outcome: Resumed,
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
            spent_ns: 0,
            first_values: 0,
            seen: None,
            meter,
            account,
            review_above,
            review: None,
            bin: bin.clone(),
        }
    }

    /// The same with values on its stack that its first resume passes.
    pub(super) fn passing(mut self, first_values: i32) -> Self {
        self.first_values = first_values;
        self
    }

    /// Whether it is of the state with this bin.
    pub(super) fn is_of(&self, bin: &Bin) -> bool {
        Rc::ptr_eq(&self.bin, bin)
    }

    /// The name of the page.
    pub fn page(&self) -> &str {
        &self.name
    }

    /// The arguments of the call that it waits for.
    pub fn arguments(&self) -> Arguments<'_> {
        Arguments::of(self.coroutine())
    }

    /// The calls that led to where it is, innermost first.
    pub fn calls(&self) -> Vec<TracebackFrame> {
        report::calls(self.coroutine().stack())
    }

    fn coroutine(&self) -> &Coroutine {
        self.coroutine.as_ref().expect("a run has its coroutine between calls")
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
        self.spent_ns = 0;
    }

    /// Nanoseconds of its CPU budget that it has used.
    pub fn spent_ns(&self) -> u64 {
        self.spent_ns
    }

    /// Charges further nanoseconds: what it costs its caller.
    pub fn charge(&mut self, ns: u64) {
        self.spent_ns = self.spent_ns.saturating_add(ns);
    }

    /// Sets the nanoseconds used, if it lives long or shares its budget with others.
    pub fn set_spent(&mut self, spent_ns: u64) {
        self.spent_ns = spent_ns;
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
    Waits(CallNumber),
    /// Its time slice has ended. Resume it after others have run.
    Sliced,
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
