//! The owners of Lua's memory: what a run allocated, and how much of it is still allocated.
//!
//! Owns the counting and the tracked blocks. Never calls Lua and never allocates from it: the
//! allocator calls this.
//!
//! Lua has one heap, and a block does not record its owner. The allocating run is known, so
//! everything allocated while a run executes is charged to it until it is freed, by whomever.
//! Tracking every block would cost more than allocating. So the first bytes of a run count as held
//! until its end, which covers most runs. Beyond that, positions in the sequence of allocated bytes
//! are sampled, one per [`SAMPLE_SIZE`] bytes on average, the blocks at these positions are
//! tracked, and each stands for that many bytes. So the chance of a block is proportional to its
//! size, regardless of the blocks around it, and nobody can predict the positions. The fast path is
//! a subtraction.

use std::cell::{Cell, RefCell};

use ahash::{HashMap, HashSet};

use crate::limits::{HOLDS_LITTLE, SAMPLE_SIZE, UNWATCHED_SIZE};

/// Counts the bytes that a run allocates.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Meter {
    /// Bytes until the next sample point; negative if it was passed.
    left: i64,
    /// Bytes allocated in total at that point.
    due: u64,
    /// Bytes that all count as held; allocations after them are sampled.
    unwatched: u64,
    account: Option<AccountNumber>,
}

/// The account of a run that allocated much, or of several runs. Close it with [`Ledger::close`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct AccountNumber(u32);

impl Meter {
    /// For a run.
    pub(in crate::engine) fn new() -> Self {
        // It is first checked when it no longer holds little.
        let (left, due) = (HOLDS_LITTLE.cast_signed(), HOLDS_LITTLE);
        Self { left, due, unwatched: UNWATCHED_SIZE, account: None }
    }

    /// For memory that belongs to no run.
    pub(in crate::engine) fn of_nobody() -> Self {
        Self { left: i64::MAX, due: i64::MAX.cast_unsigned(), unwatched: 0, account: None }
    }

    /// Bytes allocated so far, including those that were freed.
    pub(in crate::engine) fn allocated(&self) -> u64 {
        self.due.wrapping_sub(self.left.cast_unsigned())
    }

    /// Bytes of these that count as held without being sampled.
    pub(in crate::engine) fn unwatched(&self) -> u64 {
        self.allocated().min(self.unwatched)
    }

    /// The account. It is closed when its last run ends.
    pub(in crate::engine) fn account(&self) -> Option<AccountNumber> {
        self.account
    }
}

/// Where a block is, and its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    address: usize,
    size: usize,
}

impl Block {
    pub(super) fn new(address: usize, size: usize) -> Self {
        Self { address, size }
    }
}

/// A sampled block.
#[derive(Clone, Copy, Debug)]
struct Watched {
    account: AccountNumber,
    /// Bytes that it represents.
    weight: u64,
}

/// The sampled blocks of an account's runs.
#[derive(Debug, Default)]
struct Account {
    /// Bytes that they represent.
    held: u64,
    addresses: HashSet<usize>,
}

/// The memory of all runs in one state.
#[derive(Debug)]
pub(in crate::engine) struct Ledger {
    left: Cell<i64>,
    due: Cell<u64>,
    unwatched: Cell<u64>,
    account: Cell<Option<AccountNumber>>,
    /// The number of sampled blocks.
    watched: Cell<usize>,
    blocks: RefCell<HashMap<usize, Watched>>,
    /// `None` for a free number.
    accounts: RefCell<Vec<Option<Account>>>,
    free: RefCell<Vec<AccountNumber>>,
    random: Cell<u64>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            left: Cell::new(i64::MAX),
            due: Cell::new(0),
            unwatched: Cell::new(0),
            account: Cell::new(None),
            watched: Cell::new(0),
            blocks: RefCell::default(),
            accounts: RefCell::default(),
            free: RefCell::default(),
            random: Cell::new(0x9e37_79b9_7f4a_7c15),
        }
    }
}

impl Ledger {
    /// Counts further allocations with this meter.
    pub(super) fn begin(&self, meter: Meter) {
        self.left.set(meter.left);
        self.due.set(meter.due);
        self.unwatched.set(meter.unwatched);
        self.account.set(meter.account);
    }

    /// Returns the meter. Further allocations belong to no run.
    pub(super) fn end(&self) -> Meter {
        // No sample point is reached, so the rest may stay.
        let meter = self.now();
        self.left.set(i64::MAX);
        meter
    }

    pub(super) fn now(&self) -> Meter {
        let (left, due) = (self.left.get(), self.due.get());
        Meter { left, due, unwatched: self.unwatched.get(), account: self.account.get() }
    }

    /// The meter of a run that shares an account: everything is sampled, because it may live long, and many like it may
    /// hold little each.
    pub(in crate::engine) fn meter_of(&self, account: AccountNumber) -> Meter {
        let due = self.first_gap();
        Meter { left: due.cast_signed(), due, unwatched: 0, account: Some(account) }
    }

    /// Bytes that a run holds, including garbage that was not collected; if it shares an account, those of the whole
    /// account.
    #[inline]
    pub(in crate::engine) fn held(&self, meter: &Meter) -> u64 {
        let unwatched = meter.unwatched();
        let Some(account) = meter.account else { return unwatched };
        unwatched.saturating_add(self.held_by(account))
    }

    /// Bytes that the sampled blocks of an account represent.
    pub(in crate::engine) fn held_by(&self, AccountNumber(number): AccountNumber) -> u64 {
        let accounts = self.accounts.borrow();
        accounts.get(number as usize).and_then(Option::as_ref).map_or(0, |account| account.held)
    }

    /// Stops following the blocks of this account; returns how much it held. Takes time in proportion to its own blocks
    /// only.
    pub(in crate::engine) fn close(&self, number: AccountNumber) -> u64 {
        let place = self.accounts.borrow_mut().get_mut(number.0 as usize).and_then(Option::take);
        let Some(account) = place else { return 0 };
        self.free.borrow_mut().push(number);
        let mut blocks = self.blocks.borrow_mut();
        for address in account.addresses {
            blocks.remove(&address);
        }
        if blocks.is_empty() {
            blocks.shrink_to_fit();
        }
        self.watched.set(blocks.len());
        account.held
    }

    /// A block was allocated. Returns whether the run should be checked, because a sample point was passed.
    #[inline]
    pub(super) fn note_new(&self, address: usize, size: usize) -> bool {
        let left = self.left.get().wrapping_sub_unsigned(size as u64);
        self.left.set(left);
        if left < 0 {
            self.pass_points(address);
        }
        left < 0
    }

    /// A block was freed.
    #[inline]
    pub(super) fn note_gone(&self, address: usize) {
        if self.watched.get() != 0 {
            self.forget(address);
        }
    }

    /// A block has shrunk. It keeps its owner, and represents that much less.
    #[cold]
    pub(super) fn note_less(&self, before: Block, after: Block) {
        if self.watched.get() != 0
            && let Some(block) = self.take_out(before.address)
        {
            let share = after.size as f64 / before.size as f64;
            self.put_in(
                after.address,
                Watched { weight: (block.weight as f64 * share) as u64, ..block },
            );
        }
    }

    #[cold]
    fn forget(&self, address: usize) {
        let _block = self.take_out(address);
    }

    fn take_out(&self, address: usize) -> Option<Watched> {
        let mut blocks = self.blocks.borrow_mut();
        let block = blocks.remove(&address)?;
        self.watched.set(blocks.len());
        if let Some(Some(account)) = self.accounts.borrow_mut().get_mut(block.account.0 as usize) {
            account.held = account.held.saturating_sub(block.weight);
            account.addresses.remove(&address);
        }
        Some(block)
    }

    fn put_in(&self, address: usize, block: Watched) {
        let mut accounts = self.accounts.borrow_mut();
        let Some(Some(account)) = accounts.get_mut(block.account.0 as usize) else { return };
        account.held += block.weight;
        account.addresses.insert(address);
        let mut blocks = self.blocks.borrow_mut();
        blocks.insert(address, block);
        self.watched.set(blocks.len());
    }

    /// One or more sample points are in this block.
    #[cold]
    fn pass_points(&self, address: usize) {
        // The first point of a run only causes a check, and nothing is sampled.
        self.go_on_by(self.unwatched.get().saturating_sub(self.due.get()));
        if self.left.get() >= 0 {
            return;
        }
        // Points within one large block have equal distances.
        let whole = self.left.get().unsigned_abs() / SAMPLE_SIZE;
        let mut weight = whole * SAMPLE_SIZE;
        self.go_on_by(weight);
        while self.left.get() < 0 {
            weight += SAMPLE_SIZE;
            self.go_on_by(self.gap());
        }
        let account = self.account.get().unwrap_or_else(|| self.open());
        self.account.set(Some(account));
        self.put_in(address, Watched { account, weight });
    }

    fn go_on_by(&self, size: u64) {
        self.left.set(self.left.get().saturating_add_unsigned(size));
        self.due.set(self.due.get().saturating_add(size));
    }

    /// Bytes until the first point: random, so that some of many runs that allocate little are sampled.
    fn first_gap(&self) -> u64 {
        self.draw() % SAMPLE_SIZE
    }

    /// Bytes from one point to the next.
    fn gap(&self) -> u64 {
        SAMPLE_SIZE / 2 + self.draw() % SAMPLE_SIZE
    }

    pub(in crate::engine) fn open(&self) -> AccountNumber {
        let mut accounts = self.accounts.borrow_mut();
        let number = self.free.borrow_mut().pop().unwrap_or_else(|| {
            accounts.push(None);
            AccountNumber(u32::try_from(accounts.len() - 1).unwrap_or(u32::MAX))
        });
        if let Some(place) = accounts.get_mut(number.0 as usize) {
            *place = Some(Account::default());
        }
        number
    }

    /// The next number of a sequence that no page can observe: xorshift.
    fn draw(&self) -> u64 {
        let mut random = self.random.get();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        self.random.set(random);
        random
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run that allocated one large block.
    fn run(ledger: &Ledger, address: usize, size: usize) -> Meter {
        ledger.begin(Meter::new());
        assert!(ledger.note_new(address, size));
        ledger.end()
    }

    #[test]
    fn ended_owner_frees_only_its_blocks() {
        let ledger = Ledger::default();
        let [one, other] = [1, 2].map(|address| run(&ledger, address, 8 << 20));
        let holds_all = |meter: &Meter| ledger.held(meter).abs_diff(8 << 20) < 4 * SAMPLE_SIZE;
        assert!(holds_all(&one) && holds_all(&other));
        ledger.close(one.account().unwrap());
        assert!(holds_all(&other));
        // The number now belongs to another run; freeing blocks of the previous run does not change what it holds.
        let next = run(&ledger, 3, 8 << 20);
        assert_eq!(next.account(), one.account());
        ledger.note_gone(1);
        assert!(holds_all(&next) && holds_all(&other));
        // Nor does the end of the next one, if a block of another run has the address of one of its own.
        ledger.note_gone(3);
        assert_eq!(ledger.held(&next), UNWATCHED_SIZE);
        let last = run(&ledger, 3, 8 << 20);
        ledger.close(next.account().unwrap());
        assert!(holds_all(&last) && holds_all(&other));
        ledger.note_gone(3);
        assert_eq!(ledger.held(&last), UNWATCHED_SIZE, "it was followed");
        for meter in [other, last] {
            ledger.close(meter.account().unwrap());
        }
        assert_eq!((ledger.watched.get(), ledger.blocks.borrow().capacity()), (0, 0));
    }
}
