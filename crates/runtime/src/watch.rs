//! The use of each process while somebody watches: its time and its bytes.
//!
//! Owns one entry for each slot, and only while [`SchedulerCommand::Walk`](crate::service::SchedulerCommand::Walk) is
//! asked for again and again. Otherwise there is none, and a run costs one test. Never decides anything by it.

use crate::limits::WATCH_NS;
use crate::slots::ProcessId;

/// The use of a process since the watching began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Time of its runs, in ticks of [`sys::clock::tick_counter`]: its handler, and what was received and sent for it.
    pub ticks: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
}

/// The use of processes.
#[derive(Debug)]
pub(crate) struct Watch {
    until_ns: u64,
    /// By slot. The name tells a process from the one before it in its slot.
    uses: Vec<(ProcessId, Used)>,
}

impl Watch {
    pub(crate) fn new(now_ns: u64) -> Self {
        Self { until_ns: now_ns + WATCH_NS, uses: Vec::new() }
    }

    /// Somebody still watches.
    pub(crate) fn extend(&mut self, now_ns: u64) {
        self.until_ns = now_ns + WATCH_NS;
    }

    /// Nobody has asked for long.
    pub(crate) fn is_over(&self, now_ns: u64) -> bool {
        now_ns > self.until_ns
    }

    #[cold]
    pub(crate) fn of_mut(&mut self, id: ProcessId) -> &mut Used {
        let none = (ProcessId::from_bits(0), Used::default());
        if self.uses.len() <= id.index() {
            self.uses.resize(id.index() + 1, none);
        }
        let (owner, used) = &mut self.uses[id.index()];
        if *owner != id {
            (*owner, *used) = (id, Used::default());
        }
        used
    }

    /// The use of a process.
    pub(crate) fn of(&self, id: ProcessId) -> Used {
        let known = self.uses.get(id.index()).filter(|(owner, _)| *owner == id);
        known.map_or(Used::default(), |(_, used)| *used)
    }
}
