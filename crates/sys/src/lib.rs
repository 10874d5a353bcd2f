//! The Linux kernel made safe: pollset, sockets, files, rings, processors, signals.
//!
//! All unsafe code of the workspace is here: one operation per block, each with the reason why it is sound.
//! Never knows what bytes mean, never decides policy; imports none of our crates.
#![allow(unsafe_code, reason = "this is the crate the rest of the workspace keeps its unsafe in")]

pub mod accounting;
pub mod allocation;
pub mod clock;
pub mod connect;
pub mod cpu;
pub mod credentials;
pub mod descriptor;
pub mod file;
pub mod limits;
pub mod pollset;
pub mod ring;
pub mod signal;
pub mod socket;
pub mod spool;
pub mod terminal;
pub mod text;
pub mod thread;
pub mod wake;
pub mod watch;
