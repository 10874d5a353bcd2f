//! Mailboxes compiled with atomics that try every interleaving of the threads that use them (loom).
//!
//! Owns what a mailbox stands on in a model: loom's atomics in place of the standard library's, and
//! a wake descriptor in place of the kernel's. Copies nothing: the ring and the sleeping mark are
//! the files of `sys`, the mailbox is that of `runtime`. The tests are the model.
#![allow(dead_code, unreachable_pub, reason = "a model uses a part of each file")]

mod descriptor;
#[path = "../../runtime/src/incoming.rs"]
mod incoming;
#[path = "../../runtime/src/mailbox.rs"]
pub mod mailbox;
#[path = "../../sys/src/ring.rs"]
mod ring;
#[path = "../../sys/src/sleep_mark.rs"]
mod sleep_mark;

pub use descriptor::{WakeSource, Waker};

/// The atomics of `sys`.
mod atomic {
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
}

/// The parts that a mailbox of `runtime` is made of.
mod threads {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};

    pub(crate) use crate::descriptor::{WakeSource, Waker, wake_pair};
    pub(crate) use crate::ring::{Consumer, Producer, ring};
    pub(crate) use crate::sleep_mark::SleepMark;
}

/// The limits of `runtime`, small, so that a model fills them.
mod limits {
    pub(crate) const ENDPOINTS: usize = 4;
    pub(crate) const MAILBOX_MESSAGES: usize = 2;
}
