//! Whether to poll a little before blocking.
//!
//! Owns only the decision. A sleep and a wake-up cost tens of microseconds on both sides; if the
//! next request arrives sooner, polling answers it at once. It pays only while requests arrive in
//! quick succession, so short sleeps must earn it. Unsuccessful polling is paid from a budget that
//! successful polling fills, and polling pauses when another thread is seen waiting for the core.
//! It also pays only with few active connections: with many, the clients have other work while we
//! wake up, and polling would only burn what a sleep saves.

use crate::limits::SPIN_PAUSE_NS;

/// Short sleeps in a row after which polling is allowed.
const EARNED_AFTER: u32 = 3;

/// A sleep is short if it lasts at most this many times the bound: a client that has to be woken itself sends its
/// next request this much later than one that polls.
const SHORT_SLEEP_FACTOR: u64 = 4;

/// Nanoseconds that a successful poll adds to the purse: about the cost of a sleep and a wake-up. If
/// one poll in three fails, at the default bound, the purse keeps its level.
const SAVED_BY_A_HIT_NS: u64 = 25_000;

/// One part in this many of the time slept is added to the purse. It is what failed polling may cost in the long run.
const SLEEP_PAYS_ONE_IN: u64 = 32;

/// Times the bound that the purse holds at most, and at start: this many polls may fail in a row.
const PURSE_BOUNDS: u64 = 8;

/// Runs that are remembered.
const RECENT: usize = 32;

/// Distinct processes among the remembered runs that count as few: each ran twice on average.
const FEW: u32 = 16;

/// Nanoseconds over which involuntary switches are counted.
const WINDOW_NS: u64 = 50_000_000;

/// One involuntary switch in this many nanoseconds means that another thread computes: time slices are a few
/// milliseconds.
const SHARED_EVERY_NS: u64 = 8_000_000;

/// The adaptive spin of one scheduler.
#[derive(Debug)]
pub(crate) struct Spin {
    bound_ns: u64,
    short_sleeps: u32,
    /// For how long polling may still fail.
    purse_ns: u64,
    paused_until_ns: u64,
    window_start_ns: u64,
    window_switches: u64,
    /// The slot numbers of the processes that ran last. New connections count as different processes.
    recent: [u32; RECENT],
    runs: usize,
}

impl Spin {
    /// Polls for at most `bound_ns`; 0 never polls.
    pub(crate) fn new(bound_ns: u64) -> Self {
        Self {
            bound_ns,
            short_sleeps: 0,
            purse_ns: bound_ns * PURSE_BOUNDS,
            paused_until_ns: 0,
            window_start_ns: 0,
            window_switches: 0,
            recent: [0; RECENT],
            runs: 0,
        }
    }

    /// A process ran.
    #[inline]
    pub(crate) fn note_run(&mut self, slot: usize) {
        self.recent[self.runs % RECENT] = slot as u32;
        self.runs = self.runs.wrapping_add(1);
    }

    /// A connection was accepted: whatever its slot number, it is a new process.
    #[inline]
    pub(crate) fn note_accept(&mut self) {
        self.note_run(self.runs);
    }

    /// Whether few processes made up the last runs. Numbers that share a bit count as one, which errs towards few.
    fn is_narrow(&self) -> bool {
        let seen = self.recent.iter().fold(0_u64, |seen, slot| seen | 1 << (slot % 64));
        seen.count_ones() <= FEW
    }

    /// How long to poll before blocking now; 0 means not at all.
    #[inline]
    pub(crate) fn allowance_ns(&self, now_ns: u64) -> u64 {
        let may = self.short_sleeps >= EARNED_AFTER
            && self.purse_ns >= self.bound_ns
            && now_ns >= self.paused_until_ns
            && self.is_narrow();
        if may { self.bound_ns } else { 0 }
    }

    /// Polling found work.
    pub(crate) fn on_hit(&mut self) {
        self.pay_in(SAVED_BY_A_HIT_NS);
    }

    /// Polling ended in a sleep.
    pub(crate) fn on_miss(&mut self) {
        self.purse_ns = self.purse_ns.saturating_sub(self.bound_ns);
    }

    /// The scheduler slept for this long.
    pub(crate) fn on_sleep(&mut self, slept_ns: u64) {
        self.pay_in(slept_ns / SLEEP_PAYS_ONE_IN);
        if slept_ns > self.bound_ns * SHORT_SLEEP_FACTOR {
            self.short_sleeps = 0;
        } else {
            self.short_sleeps = self.short_sleeps.saturating_add(1);
        }
    }

    fn pay_in(&mut self, gain_ns: u64) {
        self.purse_ns = (self.purse_ns + gain_ns).min(self.bound_ns * PURSE_BOUNDS);
    }

    /// Takes the number of times the kernel has taken the core away so far. A rate typical of another computing thread
    /// means that the core is shared; an occasional kernel thread does not. Returns whether polling pauses because of
    /// it.
    pub(crate) fn on_switches(&mut self, switches: u64, now_ns: u64) -> bool {
        let span_ns = now_ns.saturating_sub(self.window_start_ns);
        if span_ns < WINDOW_NS {
            return false;
        }
        let switched = switches.saturating_sub(self.window_switches);
        // A window that began long ago says nothing about the present.
        let is_shared = span_ns < 2 * WINDOW_NS && switched * SHARED_EVERY_NS > span_ns;
        (self.window_start_ns, self.window_switches) = (now_ns, switches);
        if is_shared {
            self.paused_until_ns = now_ns + SPIN_PAUSE_NS;
        }
        is_shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn earned() -> Spin {
        let mut spin = Spin::new(50_000);
        for _ in 0..EARNED_AFTER {
            assert_eq!(spin.allowance_ns(0), 0);
            spin.on_sleep(60_000);
        }
        spin
    }

    #[test]
    fn short_sleeps_earn_a_spin_and_a_long_one_does_not() {
        assert_eq!(earned().allowance_ns(0), 50_000);
        let mut idle = Spin::new(50_000);
        for _ in 0..100 {
            idle.on_sleep(1_000_000);
        }
        assert_eq!(idle.allowance_ns(0), 0);
    }

    #[test]
    fn spins_in_vain_empty_the_purse_and_hits_fill_it() {
        let mut spin = earned();
        for _ in 0..PURSE_BOUNDS {
            assert_eq!(spin.allowance_ns(0), 50_000);
            spin.on_miss();
        }
        assert_eq!(spin.allowance_ns(0), 0, "nothing is left to be spun in vain");
        spin.on_hit();
        assert_eq!(spin.allowance_ns(0), 0, "half of a spin");
        spin.on_hit();
        assert_eq!(spin.allowance_ns(0), 50_000);
        for _ in 0..1_000 {
            spin.on_hit();
        }
        for _ in 0..PURSE_BOUNDS {
            spin.on_miss();
        }
        assert_eq!(spin.allowance_ns(0), 0, "hits of long ago do not pay for ever");
    }

    #[test]
    fn work_that_always_comes_too_late_costs_a_small_part_of_the_time() {
        let mut spin = earned();
        let (mut slept_ns, mut in_vain_ns) = (0, 0);
        for _ in 0..100_000 {
            in_vain_ns += spin.allowance_ns(0);
            if spin.allowance_ns(0) > 0 {
                spin.on_miss();
            }
            spin.on_sleep(100_000);
            slept_ns += 100_000;
        }
        let part = slept_ns / in_vain_ns;
        assert!((31..=32).contains(&part), "one in {part}");
    }

    #[test]
    fn a_shared_core_pauses_it_and_a_kernel_thread_now_and_then_does_not() {
        let mut spin = earned();
        let mut now_ns = 10 * WINDOW_NS;
        assert!(!spin.on_switches(1000, now_ns), "the first look only begins a window");
        now_ns += WINDOW_NS;
        assert!(!spin.on_switches(1003, now_ns));
        assert_eq!(spin.allowance_ns(now_ns), 50_000);
        now_ns += WINDOW_NS;
        assert!(spin.on_switches(1020, now_ns));
        assert_eq!(spin.allowance_ns(now_ns), 0);
        assert_eq!(spin.allowance_ns(now_ns + SPIN_PAUSE_NS), 50_000);
    }

    #[test]
    fn many_connections_at_work_need_no_spin() {
        let mut spin = earned();
        for slot in 0..10 * RECENT {
            spin.note_run(slot % 10);
        }
        assert_eq!(spin.allowance_ns(0), 50_000, "ten take turns");
        for slot in 0..RECENT {
            spin.note_run(slot);
        }
        assert_eq!(spin.allowance_ns(0), 0, "each is another one");
        for _ in 0..RECENT {
            spin.note_run(7);
        }
        assert_eq!(spin.allowance_ns(0), 50_000);
        for _ in 0..RECENT {
            spin.note_accept();
        }
        assert_eq!(spin.allowance_ns(0), 0, "short connections");
    }

    #[test]
    fn a_bound_of_zero_is_off() {
        let mut spin = Spin::new(0);
        for _ in 0..10 {
            spin.on_sleep(0);
            spin.on_hit();
        }
        assert_eq!(spin.allowance_ns(0), 0);
    }
}
