//! Which runs go on at the end of a turn.
//!
//! Owns their order, by what each has used so far; this holds for requests, and for processes. Never runs anything.

use std::collections::VecDeque;

use super::process::Key;
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
    /// What this time is, of slices so long.
    pub(super) fn of(used_ns: u64, slice_ns: u64) -> Self {
        match used_ns {
            used if used < slice_ns => Self::Little,
            used if used < slice_ns.saturating_mul(SLICES_THAT_ARE_MUCH) => Self::Some,
            _ => Self::Much,
        }
    }
}

/// The ready runs of one kind, requests or processes.
#[derive(Default)]
pub(super) struct Queue {
    /// Runs that go on in the same turn, as long as its share lasts.
    fresh: VecDeque<Key>,
    /// Runs that have used a slice. One run goes on in each turn, for a slice, by turns from this queue and from the other: a run that
    /// needs two slices does not wait behind all that need hundreds, and each of these has its turn.
    worn: VecDeque<Key>,
    /// Runs that have used many slices.
    worn_out: VecDeque<Key>,
    /// The queue that goes first the next time.
    is_turn_of_worn_out: bool,
}

impl Queue {
    fn push(&mut self, key: Key, used: Used) {
        match used {
            Used::Little => self.fresh.push_back(key),
            Used::Some => self.worn.push_back(key),
            Used::Much => self.worn_out.push_back(key),
        }
    }

    /// The first run that has used little.
    pub(super) fn take_fresh(&mut self) -> Option<Key> {
        self.fresh.pop_front()
    }

    /// The first run of those that have used a slice or more.
    pub(super) fn take_worn(&mut self) -> Option<Key> {
        let (first, second) = match self.is_turn_of_worn_out {
            false => (&mut self.worn, &mut self.worn_out),
            true => (&mut self.worn_out, &mut self.worn),
        };
        self.is_turn_of_worn_out = !self.is_turn_of_worn_out;
        first.pop_front().or_else(|| second.pop_front())
    }

    /// How many runs are ready.
    pub(super) fn len(&self) -> usize {
        self.fresh.len() + self.worn.len() + self.worn_out.len()
    }
}

/// All ready runs. Requests do not wait behind processes, nor processes behind requests.
#[derive(Default)]
pub(super) struct Ready {
    pub(super) requests: Queue,
    pub(super) processes: Queue,
}

impl Ready {
    /// Puts a run behind all of its kind that have used as much.
    pub(super) fn push(&mut self, key: Key, used: Used) {
        match key {
            Key::Request(_) => self.requests.push(key, used),
            Key::Spawned(_) => self.processes.push(key, used),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.requests.len() + self.processes.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use runtime::slots::ProcessId;

    use super::*;

    fn taken(queue: &mut Queue) -> Vec<u64> {
        std::iter::from_fn(|| queue.take_worn())
            .map(|key| match key {
                Key::Request(process) | Key::Spawned(process) => process.to_bits(),
            })
            .collect()
    }

    #[test]
    fn who_has_used_some_slices_and_who_has_used_many_go_on_by_turns() {
        let slice_ns = 1_000;
        let used = |used_ns| Used::of(used_ns, slice_ns);
        assert_eq!(used(slice_ns - 1), Used::Little);
        let most_ns = SLICES_THAT_ARE_MUCH * slice_ns;
        let mut ready = Ready::default();
        for (number, used_ns) in
            [(1, most_ns), (2, most_ns), (3, most_ns), (4, slice_ns), (5, most_ns - 1)]
        {
            ready.push(Key::Request(ProcessId::from_bits(number)), used(used_ns));
        }
        assert_eq!(ready.requests.len(), 5);
        assert_eq!(taken(&mut ready.requests), [4, 1, 5, 2, 3]);
        assert!(ready.is_empty());
    }
}
