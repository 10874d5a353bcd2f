//! Which runs continue at the end of a turn.
//!
//! Owns their order: by the time each has used so far, and among equals by turns of their pages.
//! However many runs of one page are ready, a run of another page waits for only one of them. This
//! applies to requests and to processes. Never runs anything.

use std::collections::VecDeque;

use actors::RunKey;
use ahash::HashMap;

use super::counts::RowIndex;
use crate::limits::SLICES_THAT_ARE_MUCH;

/// How much time a ready run has used so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Used {
    /// Less than one time slice.
    Little,
    /// Some time slices.
    Some,
    /// [`SLICES_THAT_ARE_MUCH`] or more.
    Much,
}

impl Used {
    /// The class of this time, for slices of this length.
    pub(super) fn of(used_ns: u64, slice_ns: u64) -> Self {
        match used_ns {
            used if used < slice_ns => Self::Little,
            used if used < slice_ns.saturating_mul(SLICES_THAT_ARE_MUCH) => Self::Some,
            _ => Self::Much,
        }
    }
}

/// Ready runs, in order for each page. The pages take turns.
#[derive(Default)]
struct ByPage {
    /// No queue is empty.
    queues: HashMap<RowIndex, VecDeque<RunKey>>,
    /// Each page with a queue, once.
    turns: VecDeque<RowIndex>,
    count: usize,
}

impl ByPage {
    fn push(&mut self, key: RunKey, page: RowIndex) {
        self.count += 1;
        let queue = self.queues.entry(page).or_default();
        if queue.is_empty() {
            self.turns.push_back(page);
        }
        queue.push_back(key);
    }

    /// Puts a run before all others of its page. If it is the only one, its page is the next.
    fn push_first(&mut self, key: RunKey, page: RowIndex) {
        self.count += 1;
        let queue = self.queues.entry(page).or_default();
        if queue.is_empty() {
            self.turns.push_front(page);
        }
        queue.push_front(key);
    }

    fn take(&mut self) -> Option<RunKey> {
        let page = self.turns.pop_front()?;
        let queue = self.queues.get_mut(&page)?;
        let key = queue.pop_front()?;
        self.count -= 1;
        if queue.is_empty() {
            self.queues.remove(&page);
        } else {
            self.turns.push_back(page);
        }
        Some(key)
    }
}

/// The ready runs of one kind, requests or processes.
#[derive(Default)]
pub(super) struct Queue {
    /// Runs that were called for this turn, and for which older ones left no time. From the end of the turn on they are
    /// the first of their pages.
    again: Vec<(RunKey, RowIndex, Used)>,
    /// The pages of runs in the next queue for which there was no time in the last turn.
    left: Vec<RowIndex>,
    /// Runs that continue in the same turn, as long as its share lasts.
    fresh: ByPage,
    /// Runs that have used a slice. Each turn continues one run for a slice, alternately from here and from the other
    /// queue: a run that needs two slices does not wait behind all those that need hundreds, and each of those still
    /// gets its turn.
    worn: ByPage,
    /// Runs that have used many slices.
    worn_out: ByPage,
    /// Whether the runs that have used many slices are next.
    is_turn_of_worn_out: bool,
}

impl Queue {
    fn class(&mut self, used: Used) -> &mut ByPage {
        match used {
            Used::Little => &mut self.fresh,
            Used::Some => &mut self.worn,
            Used::Much => &mut self.worn_out,
        }
    }

    /// The turn ends: those that were called for it and had no time are the first of their pages, in the order of the
    /// calls.
    pub(super) fn put_back(&mut self) {
        for (key, page, used) in std::mem::take(&mut self.again).into_iter().rev() {
            self.class(used).push_first(key, page);
        }
    }

    /// The first run that has used little.
    pub(super) fn take_fresh(&mut self) -> Option<RunKey> {
        self.fresh.take()
    }

    /// The turn ends: notes the pages of runs that have used little, and for which there was no time.
    pub(super) fn note_left(&mut self) {
        self.left.clear();
        self.left.extend(self.fresh.queues.keys());
    }

    /// The first run among those that have used a slice or more.
    pub(super) fn take_worn(&mut self) -> Option<RunKey> {
        let (first, second) = match self.is_turn_of_worn_out {
            false => (&mut self.worn, &mut self.worn_out),
            true => (&mut self.worn_out, &mut self.worn),
        };
        self.is_turn_of_worn_out = !self.is_turn_of_worn_out;
        first.take().or_else(|| second.take())
    }

    /// The number of ready runs.
    pub(super) fn len(&self) -> usize {
        self.again.len() + self.fresh.count + self.worn.count + self.worn_out.count
    }
}

/// All ready runs. Requests do not wait behind processes, nor processes behind requests.
#[derive(Default)]
pub(super) struct Ready {
    requests: Queue,
    processes: Queue,
}

impl Ready {
    /// Queues a run of this page after all runs of its kind and page that have used as much.
    pub(super) fn push(&mut self, key: RunKey, page: RowIndex, used: Used) {
        match key {
            RunKey::Request(_) | RunKey::Socket(_) => self.requests.class(used).push(key, page),
            RunKey::Spawned(_) => self.processes.class(used).push(key, page),
        }
    }

    /// Queues the run of a request again, for which there was no time in the turn for which it was called.
    pub(super) fn push_again(&mut self, key: RunKey, page: RowIndex, used: Used) {
        self.requests.again.push((key, page, used));
    }

    /// Whether there was no time for a request of this page in the last turn, although it has used little.
    pub(super) fn has_left_request(&self, page: RowIndex) -> bool {
        self.requests.left.contains(&page)
    }

    pub(super) fn requests(&mut self) -> &mut Queue {
        &mut self.requests
    }

    pub(super) fn processes(&mut self) -> &mut Queue {
        &mut self.processes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.requests.len() + self.processes.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use runtime::slots::ProcessId;

    use super::*;

    fn taken(queue: &mut Queue, take: fn(&mut Queue) -> Option<RunKey>) -> Vec<u64> {
        std::iter::from_fn(|| take(queue))
            .map(|key| match key {
                RunKey::Request(process) | RunKey::Socket(process) | RunKey::Spawned(process) => {
                    process.to_bits()
                }
            })
            .collect()
    }

    fn request(number: u64) -> RunKey {
        RunKey::Request(ProcessId::from_bits(number))
    }

    #[test]
    fn pages_with_few_and_many_slices_alternate() {
        let slice_ns = 1_000;
        let used = |used_ns| Used::of(used_ns, slice_ns);
        assert_eq!(used(slice_ns - 1), Used::Little);
        let most_ns = SLICES_THAT_ARE_MUCH * slice_ns;
        let mut ready = Ready::default();
        for (number, used_ns) in
            [(1, most_ns), (2, most_ns), (3, most_ns), (4, slice_ns), (5, most_ns - 1)]
        {
            ready.push(request(number), RowIndex::NONE, used(used_ns));
        }
        assert_eq!(ready.requests.len(), 5);
        assert_eq!(taken(&mut ready.requests, Queue::take_worn), [4, 1, 5, 2, 3]);
        assert!(ready.is_empty());
    }

    #[test]
    fn a_called_process_that_did_not_run_is_the_first_of_its_page() {
        let (one, other) = (RowIndex::of(1), RowIndex::of(2));
        for (page, order) in [(one, [3, 4, 1, 2]), (other, [3, 1, 4, 2])] {
            let mut ready = Ready::default();
            for number in 1..=2 {
                ready.push(request(number), one, Used::Little);
            }
            for number in 3..=4 {
                ready.push_again(request(number), page, Used::Little);
            }
            assert_eq!(ready.requests.len(), 4);
            ready.requests.put_back();
            assert_eq!(taken(&mut ready.requests, Queue::take_fresh), order);
            assert!(ready.is_empty());
        }
    }

    #[test]
    fn one_of_many_runs_of_a_page_goes_on_before_the_only_one_of_another() {
        for (used, take) in [
            (Used::Little, Queue::take_fresh as fn(&mut Queue) -> Option<RunKey>),
            (Used::Some, Queue::take_worn),
            (Used::Much, Queue::take_worn),
        ] {
            let mut ready = Ready::default();
            for number in 1..=4 {
                ready.push(request(number), RowIndex::of(1), used);
            }
            ready.push(request(5), RowIndex::of(2), used);
            ready.push(request(6), RowIndex::of(3), used);
            ready.push(request(7), RowIndex::of(2), used);
            assert_eq!(taken(&mut ready.requests, take), [1, 5, 6, 2, 7, 3, 4]);
            assert!(ready.is_empty());
        }
    }
}
