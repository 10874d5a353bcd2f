//! Eviction: who has to go when there is no room. Whoever began a request long ago and did not go on with it, then the longest idle,
//! then whoever began a request, be it now.
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
    /// Those that began something, by their deadlines, the nearest last.
    beginners: Vec<(Tick, ProcessId)>,
    /// When the table may be swept again.
    sweeps_ns: u64,
}

impl Idlers {
    /// An empty list with all the room it will ever need.
    pub(super) fn new() -> Self {
        let list = Vec::with_capacity(2 * EVICTION_CANDIDATES);
        Self { list, beginners: Vec::new(), sweeps_ns: 0 }
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
        self.beginners
            .sort_unstable_by_key(|(deadline, id)| std::cmp::Reverse((*deadline, id.index())));
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
    /// Closes a process to make room for a new one: one that began something before and did not go on with it in this turn, else the
    /// longest idle, else one that began something just now. `false` when every one is in use.
    pub(super) fn make_room(&mut self) -> bool {
        let now = self.clock.now().tick();
        self.close_first(|scheduler| {
            scheduler.oldest_beginner(now).or_else(|| scheduler.longest_idle())
        }) || self.close_first(|scheduler| scheduler.oldest_beginner(Tick::NEVER))
    }

    /// Closes the longest idle process. `false` when every one is in use.
    pub(super) fn evict_idle(&mut self) -> bool {
        self.close_first(Self::longest_idle)
    }

    /// Closes the one that is found, if need be in new lists: those that are there may be used up, or at work since.
    fn close_first(&mut self, find: impl Fn(&mut Self) -> Option<ProcessId>) -> bool {
        let found = find(self).or_else(|| {
            self.sweep();
            find(self)
        });
        let Some(id) = found else { return false };
        self.close(id, CloseReason::Evicted);
        true
    }

    /// Whoever began something and has the nearest deadline, of those that were last at work before this time.
    fn oldest_beginner(&mut self, before: Tick) -> Option<ProcessId> {
        let beginners = &self.idlers.beginners;
        let found = beginners.iter().rposition(|(deadline, id)| {
            self.table.lookup(*id).is_some_and(|process| {
                let is_as_it_was = process.deadline == *deadline && S::is_beginning(&process.state);
                is_as_it_was && process.last_run < before
            })
        });
        let place = found?;
        let (_, id) = self.idlers.beginners.remove(place);
        Some(id)
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
        self.idlers.beginners.clear();
        for (id, process) in self.table.iter() {
            slots += 1;
            if S::is_beginning(&process.state) && self.idlers.beginners.len() < EVICTION_CANDIDATES
            {
                self.idlers.beginners.push((process.deadline, id));
            }
            if let Some(last_run) = idle_since::<_, S>(process) {
                self.idlers.offer(last_run, id);
            }
        }
        self.idlers.sort();
        let beyond = u64::saturating_sub(slots, EVICTION_CANDIDATES as u64);
        self.idlers.sweeps_ns = now_ns + beyond * EVICTION_REST_NS;
    }
}
