//! Locks of Go for which goroutines wait. They are no threads: no thread sleeps for such a lock.
//!
//! Owns the functions of Go's runtime in which such a wait begins, and how their calls are counted by place. Their
//! returns are never probed: Go moves stacks, and with them the address that a probe has put there.

use std::collections::BTreeMap;
use std::io;

use sys::sampling::{CallEdge, Modes, Probe, SampleTrigger};

use crate::lock_functions::{files_of, harm_to, offsets};
use crate::record::{Record, Stack};
use crate::threads::{Scope, Threads};
use crate::waits::with_caller;

/// They are called only when a lock is taken already; `internal/sync` is of Go since 1.24.
const FUNCTIONS: [&str; 4] = [
    "sync.runtime_SemacquireMutex",
    "internal/sync.runtime_SemacquireMutex",
    "sync.runtime_SemacquireRWMutex",
    "sync.runtime_SemacquireRWMutexR",
];

/// A recording of these calls.
#[derive(Debug)]
pub struct GoroutineLocks {
    threads: Threads,
    places: BTreeMap<Stack, u64>,
}

impl GoroutineLocks {
    /// Begins to record; `None` if the program is not one of Go.
    ///
    /// # Errors
    /// There is no such process, a probe could harm it, or the kernel has no probes or permits none.
    pub fn begin(scope: Scope) -> io::Result<Option<Self>> {
        let processes = scope.processes()?;
        let Some(&process) = processes.first() else { return Ok(None) };
        let mut triggers = Vec::new();
        for file in files_of(process)? {
            // A file that cannot be read as a program has no functions.
            for offset in offsets(file.clone(), &FUNCTIONS).unwrap_or_default() {
                let probe = Probe::of_file(&file, offset, CallEdge::Begin)?;
                triggers.push(SampleTrigger::Probe(probe));
            }
        }
        if triggers.is_empty() {
            return Ok(None);
        }
        harm_to(&processes)?;
        let threads = Threads::of_events(scope, &triggers, Modes::Both)?;
        Ok(Some(Self { threads, places: BTreeMap::new() }))
    }

    /// Adds threads that were started in the meantime.
    ///
    /// # Errors
    /// No thread can be recorded.
    pub fn find_threads(&mut self) -> io::Result<()> {
        self.threads.find()
    }

    /// Reads the records that have arrived.
    pub fn drain(&mut self) {
        let places = &mut self.places;
        self.threads.drain(|record| {
            if let Record::Sample(sample) = record {
                *places.entry(with_caller(sample)).or_default() += 1;
            }
        });
    }

    /// Ends the recording: how often a goroutine began to wait at each stack.
    #[must_use]
    pub fn end(mut self) -> BTreeMap<Stack, u64> {
        self.drain();
        self.places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_goroutines_is_not_probed() {
        let begun =
            GoroutineLocks::begin(Scope::Process(std::process::id())).expect("this process");
        assert!(begun.is_none());
        assert!(GoroutineLocks::begin(Scope::Process(0)).is_err());
    }
}
