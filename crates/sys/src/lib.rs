//! Safe functions for the Linux kernel: pollset, sockets, files, rings, processors, signals.
//!
//! All unsafe code that calls the kernel is here, one operation per block, each with the reason why it is sound. The
//! rest of the workspace's unsafe code is in `engine/ffi` of `script`, which calls LuaJIT, and in `ffi` of `store`.
//! Never interprets bytes, never decides policy; imports none of our crates.
#![allow(unsafe_code, reason = "this crate calls the kernel, and gives the others a safe face")]

pub mod accounting;
pub mod allocation;
mod atomic;
pub mod backtrace;
pub mod clock;
pub mod connect;
pub mod cpu;
pub mod credentials;
pub mod descriptor;
pub mod ethtool;
pub mod file;
pub mod foreign;
pub mod heap;
pub mod host;
pub mod limits;
pub mod log_file;
pub mod lost_page;
pub mod memory_file;
pub mod namespace;
pub mod netlink;
pub mod pollset;
pub mod regular_file;
pub mod ring;
pub mod sampling;
pub mod signal;
mod sleep_mark;
pub mod socket;
pub mod spool;
pub mod terminal;
pub mod text;
pub mod thread;
pub mod tracefs;
pub mod wake;
pub mod watch;
