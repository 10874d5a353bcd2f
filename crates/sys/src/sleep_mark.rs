//! The mark that says that a scheduler is asleep, and with it the protocol of sleeping and waking.
//!
//! Owns the mark. Never writes to a wake descriptor ([`crate::wake`] does). `crates/model` tries every interleaving of
//! two threads that use it.
//!
//! # Why no wake-up is lost
//! The sleeper: `mark.raise()`, check all mailboxes again, wait only if all are empty, `mark.lower()`, drain
//! the wake source, check the mailboxes. The sender: publish, then `mark.is_asleep_then_take()`, and wake
//! only if that returns true.
//!
//! This is Dekker's pattern: each side writes one place and then reads the other's. `raise` stores the mark and
//! fences, and the sleeper loads the ring's tail; the sender stores the tail, fences (inside
//! `is_asleep_then_take`), and loads the mark. Both fences are sequentially consistent, so one of them comes
//! first in their single order. If the sleeper's is first, the sender sees the mark and wakes. If the sender's
//! is first, the sleeper sees the message and does not wait. With Release and Acquire alone, both loads could
//! happen before both stores, and the message would wait until something else ends the sleep.
//!
//! The mark is taken by a compare-and-exchange, so among many senders one wakes and the rest save the system call. The
//! sender that takes the mark always writes to the descriptor, and the descriptor stays readable until it is drained: a
//! wake-up that arrives late, in a later sleep, ends that sleep early and does no other harm. The source must only be
//! drained while the mark is lowered and before the mailboxes are checked; drained between `raise` and the wait, it
//! could swallow the wake-up for a message published after the check.

use crate::atomic::{AtomicBool, Ordering, fence};

/// Says that a scheduler sleeps or is about to. One for each scheduler, shared in an `Arc` with all senders,
/// and alone on its cache lines, so that senders that find it lowered share the line without contention.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct SleepMark {
    raised: AtomicBool,
}

impl SleepMark {
    /// A lowered mark.
    pub fn new() -> Self {
        Self { raised: AtomicBool::new(false) }
    }

    /// For the sleeper: from now on senders will wake it. Check the mailboxes after this and before waiting.
    pub fn raise(&self) {
        self.raised.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// For the sleeper: it is awake again, and sees messages without a wake-up.
    pub fn lower(&self) {
        self.raised.store(false, Ordering::Relaxed);
    }

    /// For a sender, after publishing: whether it has to wake the sleeper. True for one sender for
    /// each time the mark was raised; that sender must call [`Waker::wake`](crate::wake::Waker::wake).
    #[must_use = "the mark is taken: whoever is told true has to wake the sleeper"]
    pub fn is_asleep_then_take(&self) -> bool {
        fence(Ordering::SeqCst);
        // The plain load comes first, because the exchange would take the cache line away from the sleeper for every
        // message. A mark that the sleeper has lowered meanwhile is not written again: it may be raised by now.
        self.raised.load(Ordering::Relaxed)
            && self
                .raised
                .compare_exchange(true, false, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }
}
