//! Which runs continue at the end of a turn.
//!
//! Owns their order: by the time each has used so far, and among equals by turns of their pages.
//! However many runs of one page are ready, a run of another page waits for only one of them. This
//! applies to requests and to processes. Requests on streams of one connection have one place together. Never runs
//! anything.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use actors::RunKey;
use ahash::HashMap;
use sys::socket::Peer;

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

/// A run that is ready. Plain data.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadyRun {
    pub(crate) key: RunKey,
    pub(crate) page: RowIndex,
    /// The client, if its connection may have several requests at a time.
    pub(crate) client: Option<Peer>,
}

/// Ready runs, in order for each page. The pages take turns.
#[derive(Default)]
struct ByPage {
    /// No queue is empty.
    queues: HashMap<RowIndex, VecDeque<ReadyRun>>,
    /// Each page with a queue, once.
    turns: VecDeque<RowIndex>,
    /// Each client with several requests at a time that has one of them in a queue, and its other ones: the next is
    /// queued when that one is taken.
    lines: HashMap<Peer, VecDeque<ReadyRun>>,
    count: usize,
}

impl ByPage {
    fn push(&mut self, run: ReadyRun) {
        self.count += 1;
        match self.line_of(&run) {
            Some(line) => line.push_back(run),
            None => self.enqueue(run),
        }
    }

    /// Puts a run before all others of its page. If it is the only one, its page is the next.
    fn push_first(&mut self, run: ReadyRun) {
        self.count += 1;
        if let Some(line) = self.line_of(&run) {
            return line.push_front(run);
        }
        let queue = self.queues.entry(run.page).or_default();
        if queue.is_empty() {
            self.turns.push_front(run.page);
        }
        queue.push_front(run);
    }

    fn take(&mut self) -> Option<RunKey> {
        let page = self.turns.pop_front()?;
        let queue = self.queues.get_mut(&page)?;
        let run = queue.pop_front()?;
        self.count -= 1;
        if queue.is_empty() {
            self.queues.remove(&page);
        } else {
            self.turns.push_back(page);
        }
        if let Some(client) = run.client {
            match self.lines.get_mut(&client).and_then(VecDeque::pop_front) {
                Some(next) => self.enqueue(next),
                None => {
                    self.lines.remove(&client);
                }
            }
        }
        Some(run.key)
    }

    /// The line in which a run has to wait, because its client has a place. If it has none, this run takes it.
    fn line_of(&mut self, run: &ReadyRun) -> Option<&mut VecDeque<ReadyRun>> {
        match self.lines.entry(run.client?) {
            Entry::Occupied(line) => Some(line.into_mut()),
            Entry::Vacant(place) => {
                place.insert(VecDeque::new());
                None
            }
        }
    }

    fn enqueue(&mut self, run: ReadyRun) {
        let queue = self.queues.entry(run.page).or_default();
        if queue.is_empty() {
            self.turns.push_back(run.page);
        }
        queue.push_back(run);
    }
}

/// The ready runs of one kind, requests or processes.
#[derive(Default)]
pub(super) struct Queue {
    /// Runs that were called for this turn, and for which older ones left no time. From the end of the turn on they are
    /// the first of their pages.
    again: Vec<(ReadyRun, Used)>,
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
        for (run, used) in std::mem::take(&mut self.again).into_iter().rev() {
            self.class(used).push_first(run);
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
    /// Queues a run after all runs of its kind and page that have used as much.
    pub(super) fn push(&mut self, run: ReadyRun, used: Used) {
        match run.key {
            RunKey::Request(_) | RunKey::Socket(_) => self.requests.class(used).push(run),
            RunKey::Spawned(_) => self.processes.class(used).push(run),
        }
    }

    /// Queues the run of a request again, for which there was no time in the turn for which it was called.
    pub(super) fn push_again(&mut self, run: ReadyRun, used: Used) {
        self.requests.again.push((run, used));
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

    fn request(number: u64, page: RowIndex) -> ReadyRun {
        ReadyRun { key: RunKey::Request(ProcessId::from_bits(number)), page, client: None }
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
            ready.push(request(number, RowIndex::NONE), used(used_ns));
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
                ready.push(request(number, one), Used::Little);
            }
            for number in 3..=4 {
                ready.push_again(request(number, page), Used::Little);
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
                ready.push(request(number, RowIndex::of(1)), used);
            }
            ready.push(request(5, RowIndex::of(2)), used);
            ready.push(request(6, RowIndex::of(3)), used);
            ready.push(request(7, RowIndex::of(2)), used);
            assert_eq!(taken(&mut ready.requests, take), [1, 5, 6, 2, 7, 3, 4]);
            assert!(ready.is_empty());
        }
    }

    #[test]
    fn client_with_many_streams_has_one_place() {
        let page = RowIndex::of(1);
        let client = |port| Some(Peer { port, ..Peer::LOCAL });
        let run = |number, port| ReadyRun { client: client(port), ..request(number, page) };
        let mut ready = Ready::default();
        for number in 1..=4 {
            ready.push(run(number, 1), Used::Little);
        }
        ready.push(request(5, page), Used::Little);
        ready.push(run(6, 2), Used::Little);
        ready.push(run(7, 2), Used::Little);
        ready.push_again(run(8, 1), Used::Little);
        ready.requests.put_back();
        assert_eq!(ready.requests.len(), 8);
        let order = taken(&mut ready.requests, Queue::take_fresh);
        assert_eq!(order, [1, 5, 6, 8, 7, 2, 3, 4]);
        assert!(ready.is_empty() && ready.requests.fresh.lines.is_empty());
        // Its place is free again.
        ready.push(run(1, 1), Used::Little);
        assert_eq!(taken(&mut ready.requests, Queue::take_fresh), [1]);
    }
}
