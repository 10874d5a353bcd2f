//! Whose Lua's memory is: what a run allocated, and how much of it is still allocated.
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

/// What counts the bytes that a run allocates.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Meter {
    /// Bytes up to the next point; below zero where it was passed.
    left: i64,
    /// Bytes allocated in all at that point.
    due: u64,
    /// Bytes that all count as held; what follows is watched.
    unwatched: u64,
    account: Option<AccountNumber>,
}

/// The account of a run that allocated much, or of several runs. Given back with [`Ledger::close`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct AccountNumber(u32);

impl Meter {
    /// Of a run.
    pub(in crate::engine) fn new() -> Self {
        // It is looked at for the first time where it does not hold little any more.
        let (left, due) = (HOLDS_LITTLE.cast_signed(), HOLDS_LITTLE);
        Self { left, due, unwatched: UNWATCHED_SIZE, account: None }
    }

    /// Of a run that shares an account: all of it is watched, as it may last for long and others like it hold little each.
    pub(in crate::engine) fn of_account(account: AccountNumber, first_point: u64) -> Self {
        let (left, due) = (first_point.cast_signed(), first_point);
        Self { left, due, unwatched: 0, account: Some(account) }
    }

    /// Of what belongs to no run.
    pub(in crate::engine) fn of_nobody() -> Self {
        Self { left: i64::MAX, due: i64::MAX.cast_unsigned(), unwatched: 0, account: None }
    }

    /// Bytes allocated so far, those that are free again included.
    pub(in crate::engine) fn allocated(&self) -> u64 {
        self.due.wrapping_sub(self.left.cast_unsigned())
    }

    /// Bytes of it that count as held without being watched.
    pub(in crate::engine) fn unwatched(&self) -> u64 {
        self.allocated().min(self.unwatched)
    }

    /// The account. Whoever ends the last run that has it closes it.
    pub(in crate::engine) fn account(&self) -> Option<AccountNumber> {
        self.account
    }
}

/// A block that is watched.
#[derive(Clone, Copy, Debug)]
struct Watched {
    account: AccountNumber,
    /// Bytes that it stands for.
    weight: u64,
}

/// What the runs of an account have of the watched blocks.
#[derive(Debug, Default)]
struct Account {
    /// Bytes that they stand for.
    held: u64,
    addresses: HashSet<usize>,
}

/// The memory of all runs of one state.
#[derive(Debug)]
pub(super) struct Ledger {
    left: Cell<i64>,
    due: Cell<u64>,
    unwatched: Cell<u64>,
    account: Cell<Option<AccountNumber>>,
    /// How many blocks are watched.
    watched: Cell<usize>,
    blocks: RefCell<HashMap<usize, Watched>>,
    /// None where the number is free.
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
    /// What is allocated from now on is counted by this meter.
    pub(super) fn begin(&self, meter: Meter) {
        self.left.set(meter.left);
        self.due.set(meter.due);
        self.unwatched.set(meter.unwatched);
        self.account.set(meter.account);
    }

    /// The meter as it stands now. What is allocated from now on is nobody's.
    pub(super) fn end(&self) -> Meter {
        // Nobody comes to a point, so the rest may stay.
        let meter = self.now();
        self.left.set(i64::MAX);
        meter
    }

    /// The meter as it stands now.
    pub(super) fn now(&self) -> Meter {
        let (left, due) = (self.left.get(), self.due.get());
        Meter { left, due, unwatched: self.unwatched.get(), account: self.account.get() }
    }

    /// Bytes that a run holds, with those that nobody has collected yet; where it shares an account, all of that.
    #[inline]
    pub(super) fn held(&self, meter: &Meter) -> u64 {
        let unwatched = meter.unwatched();
        let Some(account) = meter.account else { return unwatched };
        unwatched.saturating_add(self.held_by(account))
    }

    /// Bytes that the watched blocks of an account stand for.
    pub(super) fn held_by(&self, AccountNumber(number): AccountNumber) -> u64 {
        let accounts = self.accounts.borrow();
        accounts.get(number as usize).and_then(Option::as_ref).map_or(0, |account| account.held)
    }

    /// Follows no block of this account any more; how much it held. It takes as long as it has blocks, however many others have.
    pub(super) fn close(&self, number: AccountNumber) -> u64 {
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

    /// A block has come. Whether what the run holds is to be looked at: a point was passed.
    #[inline]
    #[must_use]
    pub(super) fn note_new(&self, address: usize, size: usize) -> bool {
        let left = self.left.get().wrapping_sub_unsigned(size as u64);
        self.left.set(left);
        if left < 0 {
            self.pass_points(address);
        }
        left < 0
    }

    /// A block goes.
    #[inline]
    pub(super) fn note_gone(&self, address: usize) {
        if self.watched.get() != 0 {
            self.forget(address);
        }
    }

    /// A block has shrunk. It stays whose it is, and stands for as much less.
    #[cold]
    pub(super) fn note_less(&self, (old, before): (usize, usize), (new, after): (usize, usize)) {
        if self.watched.get() != 0
            && let Some(block) = self.take_out(old)
        {
            let share = after as f64 / before as f64;
            self.put_in(new, Watched { weight: (block.weight as f64 * share) as u64, ..block });
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

    /// One point or more fell into this block.
    #[cold]
    fn pass_points(&self, address: usize) {
        // The first point of a run is there to look at it, and nothing is watched.
        self.go_on_by(self.unwatched.get().saturating_sub(self.due.get()));
        if self.left.get() >= 0 {
            return;
        }
        // Those that lie close within a large block have the same distances.
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

    /// Bytes up to the first point: any number, so that of many that allocate little some are met.
    pub(super) fn first_gap(&self) -> u64 {
        self.draw() % SAMPLE_SIZE
    }

    /// Bytes from one point to the next.
    fn gap(&self) -> u64 {
        SAMPLE_SIZE / 2 + self.draw() % SAMPLE_SIZE
    }

    pub(super) fn open(&self) -> AccountNumber {
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

    /// The next of a row of numbers that no page has a way to see: xorshift.
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
    fn who_ends_takes_its_own_blocks_along_and_no_others() {
        let ledger = Ledger::default();
        let [one, other] = [1, 2].map(|address| run(&ledger, address, 8 << 20));
        let holds_all = |meter: &Meter| ledger.held(meter).abs_diff(8 << 20) < 4 * SAMPLE_SIZE;
        assert!(holds_all(&one) && holds_all(&other));
        ledger.close(one.account().unwrap());
        assert!(holds_all(&other));
        // The number is another run's now; what becomes of the blocks of the one before does not change what that holds.
        let next = run(&ledger, 3, 8 << 20);
        assert_eq!(next.account(), one.account());
        ledger.note_gone(1);
        assert!(holds_all(&next) && holds_all(&other));
        // Nor does the end of the next one, where a block of another run has the place of one of its own.
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
