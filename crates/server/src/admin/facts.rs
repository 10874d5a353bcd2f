//! Facts in admin answers, other than counters.
//!
//! Owns the facts of the start and the phase of the server. Never counts.

/// The facts of the start; they never change.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The served directory.
    pub directory: String,
    /// Where the server listens.
    pub listeners: Vec<String>,
    /// The CPU of each scheduler, when pinned.
    pub cpus: Vec<Option<usize>>,
    /// Whether each scheduler has a descriptor table of its own.
    pub private_tables: bool,
    /// The kind names of the schedulers' processes.
    pub kinds: &'static [&'static str],
    /// Which sandbox is in force.
    pub sandbox: &'static str,
    /// Bytes of one connection's slot.
    pub slot_bytes: usize,
    /// Seconds since 1970 at the start.
    pub started: u64,
    /// The process.
    pub process: u32,
}

/// The phase of the server's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It serves.
    Serving,
    /// It takes no new connections, and ends when what runs has.
    Draining,
}
