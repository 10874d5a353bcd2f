//! Eviction: which connection is closed when there is no room. First the oldest with an incomplete
//! request, then the one that has been idle longest.
//!
//! Owns the lists of candidates from the last sweep of the table. Requests never touch it: a run
//! stores the turn's tick in its slot, and the sweep reads those ticks. A list ordered by idleness
//! would make every request move its process in it, through the cache lines of others; the timer
//! wheel has another order, and lacks processes without a deadline. The list of one sweep stays
//! exact while it is used up: a process that has run since has another tick and is skipped, and
//! every process outside the list is younger.

use sys::pollset::Pollset;

use super::Scheduler;
use crate::extras::Extras;
use crate::limits::{EVICTION_CANDIDATES, EVICTION_REST_NS};
use crate::process::Process;
use crate::service::{CloseReason, Service};
use crate::slots::ProcessId;
use crate::timer::Tick;

/// Connections that may be closed, each with a time: the earliest is closed first. If there are too many, the latest
/// are left out.
struct Candidates {
    /// During a sweep in any order, up to twice as many as are kept; afterwards sorted, the first to close last.
    list: Vec<(Tick, ProcessId)>,
}

impl Candidates {
    /// An empty list with all the room it will ever need.
    fn new() -> Self {
        Self { list: Vec::with_capacity(2 * EVICTION_CANDIDATES) }
    }

    fn offer(&mut self, time: Tick, id: ProcessId) {
        if self.list.len() == 2 * EVICTION_CANDIDATES {
            self.drop_latest();
        }
        self.list.push((time, id));
    }

    fn drop_latest(&mut self) {
        if self.list.len() > EVICTION_CANDIDATES {
            self.list.select_nth_unstable_by_key(EVICTION_CANDIDATES, |(time, _)| *time);
            self.list.truncate(EVICTION_CANDIDATES);
        }
    }

    fn sort(&mut self) {
        self.drop_latest();
        self.list.sort_unstable_by_key(|(time, id)| std::cmp::Reverse((*time, id.index())));
    }
}

/// The candidates of the last sweep.
pub(super) struct Idlers {
    /// Idle connections, by their last run.
    idle: Candidates,
    /// Connections whose request has begun and is incomplete, by their deadline.
    beginners: Candidates,
    /// When the table may be swept again.
    sweeps_ns: u64,
}

impl Idlers {
    /// Empty lists.
    pub(super) fn new() -> Self {
        Self { idle: Candidates::new(), beginners: Candidates::new(), sweeps_ns: 0 }
    }
}

/// Since when a process has been idle; `None` if it is at work. A process that carries streams is at work.
fn idle_since<K, S: Service>(process: &Process<K, S::Process>, extras: &Extras) -> Option<Tick> {
    let carries = extras.carries(process.extra) > 0;
    let holds_nothing = process.inbox.is_none() && process.outbox.is_none() && !carries;
    let idle = holds_nothing && S::is_idle(&process.state);
    idle.then_some(process.last_run)
}

impl<P: Pollset, S: Service> Scheduler<P, S> {
    /// Closes a connection to make room for a new one: first one with an incomplete request that got no byte in this
    /// tick, then the one that has been idle longest, then any with an incomplete request. `false` if all are at work.
    pub(super) fn make_room(&mut self) -> bool {
        let now = self.executor.clock.now().tick();
        let find = |scheduler: &mut Self| {
            scheduler.oldest_beginner(now).or_else(|| scheduler.longest_idle())
        };
        let found = self.find_swept(find).or_else(|| self.oldest_beginner(Tick::NEVER));
        self.evict(found)
    }

    /// Whether there is room for a new process in the table, after it was made if necessary. If fewer are allowed than
    /// there are, more than one is closed, at most the candidates of one sweep.
    pub(super) fn has_made_room(&mut self) -> bool {
        while self.table.is_full() {
            if !self.make_room() {
                return false;
            }
        }
        true
    }

    /// Finds a candidate, after another sweep if necessary: those of the last one may have closed or be at work.
    fn find_swept(&mut self, find: impl Fn(&mut Self) -> Option<ProcessId>) -> Option<ProcessId> {
        find(self).or_else(|| {
            self.sweep();
            find(self)
        })
    }

    fn evict(&mut self, found: Option<ProcessId>) -> bool {
        let Some(id) = found else { return false };
        self.close(id, CloseReason::Evicted);
        true
    }

    /// The connection with an incomplete request whose deadline is nearest, among those that last ran before this tick.
    fn oldest_beginner(&mut self, before: Tick) -> Option<ProcessId> {
        let found = self.idlers.beginners.list.iter().rposition(|(deadline, id)| {
            self.table.lookup(*id).is_some_and(|process| {
                let is_as_it_was = process.deadline == *deadline && S::is_beginning(&process.state);
                is_as_it_was && process.last_run < before
            })
        });
        let (_, id) = self.idlers.beginners.list.remove(found?);
        Some(id)
    }

    fn longest_idle(&mut self) -> Option<ProcessId> {
        while let Some((last_run, id)) = self.idlers.idle.list.pop() {
            let extras = &self.executor.extras;
            let process = self.table.lookup(id);
            if process.and_then(|process| idle_since::<_, S>(process, extras)) == Some(last_run) {
                return Some(id);
            }
        }
        None
    }

    /// Searches the whole table for the longest idle processes. A large table is swept again only when the time spent
    /// sweeping has become a small part of the time that has passed.
    fn sweep(&mut self) {
        let now_ns = self.executor.clock.now().monotonic_ns;
        if now_ns < self.idlers.sweeps_ns {
            return;
        }
        let mut slots = 0;
        self.idlers.idle.list.clear();
        self.idlers.beginners.list.clear();
        for (id, process) in self.table.iter() {
            slots += 1;
            if S::is_beginning(&process.state) {
                self.idlers.beginners.offer(process.deadline, id);
            } else if let Some(last_run) = idle_since::<_, S>(process, &self.executor.extras) {
                self.idlers.idle.offer(last_run, id);
            }
        }
        self.idlers.idle.sort();
        self.idlers.beginners.sort();
        let beyond = u64::saturating_sub(slots, EVICTION_CANDIDATES as u64);
        self.idlers.sweeps_ns = now_ns + beyond * EVICTION_REST_NS;
    }
}
