//! Time accounts: what a scheduler does at each moment, as Erlang's microstate accounting has it.
//!
//! Owns the accounts and the one that is charged now, for the scheduler that runs on this thread. Anyone below a turn
//! may change the account without being handed anything: that is why it belongs to the thread. What may take long (code
//! of pages, their garbage, messages to many subscribers) is timed each time ([`exactly`]); of everything else, one
//! turn in [`TURNS_PER_SAMPLE`](crate::limits::TURNS_PER_SAMPLE) is timed, and in the others a change is one test.
//! [`Accounts`] makes the whole of both.

use std::cell::Cell;

use sys::clock::tick_counter;

/// The purposes on which the time of a turn is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TimeAccount {
    /// Everything without an account of its own.
    Other,
    /// Asking the kernel for events.
    Poll,
    /// Accepting connections.
    Accept,
    /// Beginning connections to other servers.
    Connect,
    /// Receiving, decryption included.
    Receive,
    /// Reading the heads of requests and the commands of Redis clients.
    Parse,
    /// Answering, without what follows.
    Handler,
    /// Running code of pages.
    Page,
    /// Collecting the garbage of pages.
    Collector,
    /// Reading the store, and handing orders to its writer.
    Store,
    /// Handing messages of channels to their subscribers.
    Publish,
    /// Sending, encryption included.
    Send,
    /// Deadlines.
    Timers,
    /// Messages of other threads.
    Mail,
}

impl TimeAccount {
    /// How many there are.
    pub const COUNT: usize = 14;

    /// Their names, in order.
    pub const NAMES: [&'static str; Self::COUNT] = [
        "other",
        "poll",
        "accept",
        "connect",
        "receive",
        "parse",
        "handler",
        "page",
        "collector",
        "store",
        "publish",
        "send",
        "timers",
        "mail",
    ];
}

/// Ticks of [`tick_counter`] by account.
pub(crate) type Ticks = [u64; TimeAccount::COUNT];

/// The activity of this thread's scheduler.
struct Now {
    is_timed: Cell<bool>,
    current: Cell<TimeAccount>,
    /// When `current` began.
    since: Cell<u64>,
    /// Of the turn that is timed.
    sampled: [Cell<u64>; TimeAccount::COUNT],
    /// Of all turns since the last of them that was asked.
    exact: [Cell<u64>; TimeAccount::COUNT],
    /// All ticks in `exact` so far.
    exact_sum: Cell<u64>,
    /// When the turn began, in ticks and on the monotonic clock.
    turn_began: Cell<u64>,
    turn_began_ns: Cell<u64>,
    /// Ticks of a microsecond; 0 as long as nobody has measured them.
    per_us: Cell<u64>,
}

thread_local! {
    static NOW: Now = const {
        Now {
            is_timed: Cell::new(false),
            current: Cell::new(TimeAccount::Other),
            since: Cell::new(0),
            sampled: [const { Cell::new(0) }; TimeAccount::COUNT],
            exact: [const { Cell::new(0) }; TimeAccount::COUNT],
            exact_sum: Cell::new(0),
            turn_began: Cell::new(0),
            turn_began_ns: Cell::new(0),
            per_us: Cell::new(0),
        }
    };
}

impl Now {
    #[cold]
    fn charge(&self, next: TimeAccount) -> TimeAccount {
        let tick = tick_counter();
        let current = self.current.replace(next);
        add(&self.sampled[current as usize], tick.saturating_sub(self.since.replace(tick)));
        current
    }
}

fn add(to: &Cell<u64>, ticks: u64) {
    to.set(to.get() + ticks);
}

/// From now on, time is charged to this account. Returns the one before, or the same one if the turn is not timed.
#[inline]
pub fn change_to(account: TimeAccount) -> TimeAccount {
    NOW.with(|now| if now.is_timed.get() { now.charge(account) } else { account })
}

/// Does something that is charged to this account.
#[inline]
pub fn charged_to<T>(account: TimeAccount, act: impl FnOnce() -> T) -> T {
    let before = change_to(account);
    let done = act();
    change_to(before);
    done
}

/// Does something that may take long and is charged to this account, whether the turn is timed or not.
#[inline]
pub fn exactly<T>(account: TimeAccount, act: impl FnOnce() -> T) -> T {
    let (begun, sum) = (tick_counter(), NOW.with(|now| now.exact_sum.get()));
    let done = charged_to(account, act);
    NOW.with(|now| {
        // Something within it may have been timed exactly, too.
        let within = now.exact_sum.get() - sum;
        let own = tick_counter().saturating_sub(begun).saturating_sub(within);
        add(&now.exact[account as usize], own);
        add(&now.exact_sum, own);
    });
    done
}

/// A scheduler will run on this thread, with a real clock. On a thread for which this was not called, such as that of
/// the simulator, no time passes within a turn.
pub(crate) fn begin_thread() {
    NOW.with(|now| now.per_us.set(sys::clock::ticks_per_microsecond().get()));
}

/// The clock has just been read for a turn, at this tick of the pollset.
#[inline]
pub(crate) fn begin_turn(now_ns: u64, tick: u64) {
    NOW.with(|now| {
        now.turn_began.set(tick);
        now.turn_began_ns.set(now_ns);
    });
}

/// [`tick_counter`], by which work within a turn is bounded. Where no time passes within one, that is all of it.
#[inline]
pub fn tick() -> u64 {
    NOW.with(|now| if now.per_us.get() == 0 { now.turn_began_ns.get() } else { tick_counter() })
}

/// This moment, in nanoseconds of the monotonic clock.
pub fn moment_ns() -> u64 {
    NOW.with(|now| now.turn_began_ns.get()).saturating_add(since_turn_began_ns())
}

/// Nanoseconds since the clock was read for this turn. With [`Now`](crate::clock::Now), the time of this moment.
#[inline]
pub fn since_turn_began_ns() -> u64 {
    NOW.with(|now| {
        let ticks = tick_counter().saturating_sub(now.turn_began.get());
        ticks.saturating_mul(1_000).checked_div(now.per_us.get()).unwrap_or(0)
    })
}

/// Ticks of [`tick_counter`] since so many nanoseconds before the turn began.
#[inline]
pub fn ticks_since(before_turn_ns: u64) -> u64 {
    NOW.with(|now| {
        let per_us = now.per_us.get();
        if per_us == 0 {
            return before_turn_ns;
        }
        let within = tick_counter().saturating_sub(now.turn_began.get());
        match before_turn_ns {
            0 => within,
            ns => within.saturating_add(ticks(ns, per_us)),
        }
    })
}

#[cold]
fn ticks(ns: u64, per_us: u64) -> u64 {
    (u128::from(ns) * u128::from(per_us) / 1_000) as u64
}

/// So many nanoseconds, in the unit of [`ticks_since`].
#[inline]
pub fn ticks_of(ns: u64) -> u64 {
    match NOW.with(|now| now.per_us.get()) {
        0 => ns,
        per_us => ticks(ns, per_us),
    }
}

/// Nanoseconds of so many ticks of a time that [`ticks_since`] has measured.
pub fn nanoseconds_of(ticks: u64) -> u64 {
    match NOW.with(|now| now.per_us.get()) {
        0 => ticks,
        per_us => nanoseconds(ticks, per_us),
    }
}

/// A turn begins that is timed.
pub(crate) fn begin_sample() {
    NOW.with(|now| {
        now.current.set(TimeAccount::Other);
        now.since.set(tick_counter());
        now.is_timed.set(true);
    });
}

/// The time since the last change is counted elsewhere: the scheduler slept, or polled for want of work.
pub(crate) fn skip() {
    NOW.with(|now| {
        if now.is_timed.get() {
            now.since.set(tick_counter());
        }
    });
}

/// The turn that is timed ends. Adds the ticks of its accounts.
pub(crate) fn end_sample(to: &mut Ticks) {
    NOW.with(|now| {
        now.charge(TimeAccount::Other);
        now.is_timed.set(false);
        for (to, ticks) in to.iter_mut().zip(&now.sampled) {
            *to += ticks.take();
        }
    });
}

/// Takes what was timed exactly since this was last asked.
pub(crate) fn take_exact() -> Ticks {
    NOW.with(|now| std::array::from_fn(|place| now.exact[place].take()))
}

/// The time of a scheduler by account: all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    /// Nanoseconds since the scheduler began.
    pub wall_ns: u64,
    /// Of these, asleep.
    pub wait_ns: u64,
    /// Of these, by account. With `wait_ns` they add up to `wall_ns`.
    pub ns: [u64; TimeAccount::COUNT],
}

impl Accounts {
    /// Adds the time since the last call: so long in all, so long asleep and so long polling for want of work. What was
    /// timed exactly counts as it is; the rest is divided as the turns were that were timed.
    pub(crate) fn add(&mut self, span: Span, exact: &Ticks, sampled: &Ticks) {
        let Span { wall_ns, asleep_ns, spun_ns } = span;
        let asleep_ns = asleep_ns.min(wall_ns);
        let mut left_ns = wall_ns - asleep_ns;
        self.wall_ns += wall_ns;
        self.wait_ns += asleep_ns;
        let mut charge = |account: usize, ns: u64| {
            let ns = ns.min(left_ns);
            left_ns -= ns;
            self.ns[account] += ns;
        };
        charge(TimeAccount::Poll as usize, spun_ns);
        let per_us = sys::clock::ticks_per_microsecond().get();
        for (account, ticks) in exact.iter().enumerate() {
            charge(account, nanoseconds(*ticks, per_us));
        }
        // Time that is measured exactly is in the samples too, and was counted.
        let is_exact = |account: usize| exact[account] > 0;
        let sampled = |account: usize| if is_exact(account) { 0 } else { sampled[account] };
        let sum: u64 = (0..TimeAccount::COUNT).map(sampled).sum();
        let shared_ns = left_ns;
        for account in 0..TimeAccount::COUNT {
            let share = u128::from(shared_ns) * u128::from(sampled(account));
            let ns = share.checked_div(u128::from(sum)).unwrap_or(0);
            let ns = u64::try_from(ns).unwrap_or(u64::MAX).min(left_ns);
            left_ns -= ns;
            self.ns[account] += ns;
        }
        self.ns[TimeAccount::Other as usize] += left_ns;
    }
}

/// A span of the life of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// How long it was.
    pub(crate) wall_ns: u64,
    /// How long of it the scheduler was blocked.
    pub(crate) asleep_ns: u64,
    /// How long of it the scheduler polled for want of work.
    pub(crate) spun_ns: u64,
}

fn nanoseconds(ticks: u64, per_us: u64) -> u64 {
    let ns = u128::from(ticks) * 1_000 / u128::from(per_us);
    u64::try_from(ns).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the counter until so many ticks have passed.
    fn work(ticks: u64) {
        let begun = tick_counter();
        while tick_counter().saturating_sub(begun) < ticks {}
    }

    fn of(ticks: &Ticks, account: TimeAccount) -> u64 {
        ticks[account as usize]
    }

    #[test]
    fn a_timed_turn_charges_what_ran_and_another_turn_nothing() {
        let mut ticks = Ticks::default();
        charged_to(TimeAccount::Parse, || work(1_000));
        begin_sample();
        change_to(TimeAccount::Receive);
        work(20_000);
        charged_to(TimeAccount::Parse, || work(60_000));
        work(20_000);
        change_to(TimeAccount::Send);
        end_sample(&mut ticks);
        let (parse, receive) = (of(&ticks, TimeAccount::Parse), of(&ticks, TimeAccount::Receive));
        assert!(parse >= 60_000 && receive >= 40_000, "{ticks:?}");
        charged_to(TimeAccount::Parse, || work(1_000));
        let mut none = Ticks::default();
        begin_sample();
        end_sample(&mut none);
        assert_eq!(of(&none, TimeAccount::Parse), 0);
    }

    #[test]
    fn exactly_timed_work_is_charged_once() {
        let _before = take_exact();
        let begun = tick_counter();
        exactly(TimeAccount::Page, || {
            work(20_000);
            exactly(TimeAccount::Publish, || work(80_000));
        });
        let passed = tick_counter() - begun;
        let exact = take_exact();
        let (page, publish) = (of(&exact, TimeAccount::Page), of(&exact, TimeAccount::Publish));
        assert!(page >= 20_000 && publish >= 80_000, "{exact:?}");
        assert!(page + publish <= passed, "{exact:?} in {passed}");
        assert_eq!(take_exact(), Ticks::default());
    }

    #[test]
    fn accounts_add_up_to_the_time_that_passed() {
        let mut accounts = Accounts::default();
        let per_us = sys::clock::ticks_per_microsecond().get();
        let (mut exact, mut sampled) = (Ticks::default(), Ticks::default());
        exact[TimeAccount::Page as usize] = per_us * 100;
        sampled[TimeAccount::Page as usize] = 7;
        sampled[TimeAccount::Send as usize] = 3;
        sampled[TimeAccount::Receive as usize] = 1;
        let span = Span { wall_ns: 1_000_000, asleep_ns: 300_000, spun_ns: 200_000 };
        accounts.add(span, &exact, &sampled);
        let told = |account: TimeAccount| accounts.ns[account as usize];
        assert_eq!((accounts.wait_ns, told(TimeAccount::Poll)), (300_000, 200_000));
        assert_eq!((told(TimeAccount::Page), told(TimeAccount::Send)), (100_000, 300_000));
        assert_eq!(told(TimeAccount::Receive), 100_000);
        // Nothing was timed: nobody knows what it was.
        accounts.add(span, &Ticks::default(), &Ticks::default());
        assert_eq!(accounts.ns[TimeAccount::Other as usize], 500_000);
        // Clocks differ a little: what was timed is never more than what passed.
        exact[TimeAccount::Page as usize] = per_us * 5_000;
        accounts.add(span, &exact, &sampled);
        let sum: u64 = accounts.ns.iter().sum();
        assert_eq!((sum + accounts.wait_ns, accounts.wall_ns), (3_000_000, 3_000_000));
    }
}
