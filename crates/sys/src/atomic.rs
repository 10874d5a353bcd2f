//! The atomics that threads share.
//!
//! Owns the choice: those of the standard library. `crates/model` compiles the files that use them with others, which
//! try every interleaving.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
