//! Facts in admin answers, other than counters.
//!
//! Owns the facts of the start and the phase of the server. Never counts.

/// Facts known at start that never change.
#[derive(Clone, Debug)]
pub struct StartFacts {
    /// The served directory.
    pub directory: String,
    /// The addresses of the listeners.
    pub listeners: Vec<String>,
    /// The CPU of each scheduler, if pinned.
    pub cpus: Vec<Option<usize>>,
    /// Whether each scheduler has a descriptor table of its own.
    pub private_tables: bool,
    /// The names of the kinds of processes.
    pub kinds: &'static [&'static str],
    /// The sandbox in force.
    pub sandbox: &'static str,
    /// Bytes of one connection's slot.
    pub slot_bytes: usize,
    /// The time of the start, in seconds since 1970.
    pub started: u64,
    /// The process id.
    pub process: u32,
}

impl StartFacts {
    /// The CPUs of the schedulers; none if they are not pinned.
    pub(super) fn pinned_cpus(&self) -> Option<Vec<usize>> {
        self.cpus.iter().copied().collect()
    }
}

/// The phase of the server's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Serving,
    /// It accepts no new connections, and ends when running requests have finished.
    Draining,
}

impl Phase {
    /// Its word.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Serving => "serving",
            Self::Draining => "draining",
        }
    }
}
