//! Eviction: who has to go when there is no room, the longest idle first.
//!
//! Owns the list of those who had been idle for the longest time when the table was last swept. Never touched by a
//! request: a run stores the turn's tick in its slot, and whoever needs room reads those ticks. A list in the order
//! of idleness would have every request move its process in it, through the cache lines of strangers; the timer
//! wheel has another order, and those without a deadline are not in it. The list made by one sweep stays exact while
//! it is used up: who ran meanwhile has another tick and is passed over, and everybody outside it is younger.

use sys::pollset::Pollset;

use super::Scheduler;
use crate::limits::{EVICTION_CANDIDATES, EVICTION_REST_NS};
use crate::process::Process;
use crate::service::{CloseReason, Service};
use crate::slots::ProcessId;
use crate::timer::Tick;

/// The longest idle of the last sweep.
pub(super) struct Idlers {
    /// While sweeping in any order, twice as many as are kept; then the longest idle last.
    list: Vec<(Tick, ProcessId)>,
    /// When the table may be swept again.
    sweeps_ns: u64,
}

impl Idlers {
    /// An empty list with all the room it will ever need.
    pub(super) fn new() -> Self {
        Self { list: Vec::with_capacity(2 * EVICTION_CANDIDATES), sweeps_ns: 0 }
    }

    fn offer(&mut self, last_run: Tick, id: ProcessId) {
        if self.list.len() == 2 * EVICTION_CANDIDATES {
            self.drop_youngest();
        }
        self.list.push((last_run, id));
    }

    fn drop_youngest(&mut self) {
        if self.list.len() > EVICTION_CANDIDATES {
            self.list.select_nth_unstable_by_key(EVICTION_CANDIDATES, |(last_run, _)| *last_run);
            self.list.truncate(EVICTION_CANDIDATES);
        }
    }

    fn sort(&mut self) {
        self.drop_youngest();
        self.list.sort_unstable_by_key(|(last_run, id)| std::cmp::Reverse((*last_run, id.index())));
    }
}

/// Since when a process does nothing; `None` when it is at work.
fn idle_since<K, S: Service>(process: &Process<K, S::Process>) -> Option<Tick> {
    let holds_nothing = process.inbox.is_none() && process.outbox.is_none();
    let idle = holds_nothing && S::is_idle(&process.state);
    idle.then_some(process.last_run)
}

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// Closes the longest idle process to make room. `false` when every one is in use.
    pub(super) fn evict_idle(&mut self) -> bool {
        let Some(id) = self.longest_idle().or_else(|| {
            // The list is used up, or those in it have all been at work since.
            self.sweep();
            self.longest_idle()
        }) else {
            return false;
        };
        self.close(id, CloseReason::Evicted);
        true
    }

    fn longest_idle(&mut self) -> Option<ProcessId> {
        while let Some((last_run, id)) = self.idlers.list.pop() {
            if self.table.lookup(id).and_then(|process| idle_since::<_, S>(process))
                == Some(last_run)
            {
                return Some(id);
            }
        }
        None
    }

    /// Looks at the whole table for the longest idle. A large one is not swept again before sweeping has become a
    /// small part of the time that has passed.
    fn sweep(&mut self) {
        let now_ns = self.clock.now().monotonic_ns;
        if now_ns < self.idlers.sweeps_ns {
            return;
        }
        let mut slots = 0;
        for (id, process) in self.table.iter() {
            slots += 1;
            if let Some(last_run) = idle_since::<_, S>(process) {
                self.idlers.offer(last_run, id);
            }
        }
        self.idlers.sort();
        let beyond = u64::saturating_sub(slots, EVICTION_CANDIDATES as u64);
        self.idlers.sweeps_ns = now_ns + beyond * EVICTION_REST_NS;
    }
}
