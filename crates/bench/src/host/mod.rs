//! Facts of this host from the kernel: its properties, who listens, who used how much of which
//! core.
//!
//! Owns the reading of /proc and /sys. Every text is parsed by a pure function; what is missing or
//! not understood is left out, never guessed. Never changes anything on the host.

mod facts;
mod listener;
mod memory;
mod steal;
mod usage;

pub use facts::{Fact, HostFacts};
pub use listener::{is_local, listening_processes};
pub use memory::resident_bytes;
pub use steal::CpuTimes;
pub use sys::terminal::columns as terminal_columns;
pub use usage::{ProcessSample, ServerSample, ServerUse, ThreadSample, ThreadUse};
