//! The parts of mailboxes: rings, the sleeping mark, wake descriptors, the number of a sending.
//!
//! Owns the choice: those of `sys`. `crates/model` compiles the mailbox with others, which try every interleaving.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use sys::ring::{Consumer, Producer, ring};
pub(crate) use sys::wake::{SleepMark, WakeSource, Waker, wake_pair};
