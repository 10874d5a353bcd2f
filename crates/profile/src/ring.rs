//! The samples of the last minutes, in memory.
//!
//! Owns which of them are kept: those of a span of time, within a number of bytes; the oldest leave first. Equal stacks
//! are kept once. Takes no sample, and reads no clock.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use crate::record::Stack;

/// How often each stack was sampled in a part of the ring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    stacks: BTreeMap<Rc<Stack>, u64>,
    /// Samples of stacks for which there was no room.
    left_out: u64,
}

impl Counted {
    /// Its stacks, and how often each was sampled.
    pub fn stacks(&self) -> impl Iterator<Item = (&Stack, u64)> + Clone {
        self.stacks.iter().map(|(stack, count)| (&**stack, *count))
    }

    /// Samples of stacks for which there was no room.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Only the stacks that were sampled most often, within a number of bytes.
    #[must_use]
    pub fn within(self, bytes_max: usize) -> Self {
        let mut sorted: Vec<_> = self.stacks.into_iter().collect();
        sorted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let (mut kept, mut bytes) = (Self { left_out: self.left_out, ..Self::default() }, 0);
        for (stack, count) in sorted {
            bytes += bytes_of(&stack);
            if bytes <= bytes_max {
                kept.stacks.insert(stack, count);
            } else {
                kept.left_out += count;
            }
        }
        kept
    }
}

/// The samples.
#[derive(Debug)]
pub struct Ring {
    span_ns: u64,
    bytes_max: usize,
    /// Bytes of all samples and stacks, about.
    bytes: usize,
    /// Each with its time, about in order: those of one thread after those of another, as they were read.
    samples: VecDeque<(u64, Rc<Stack>)>,
    /// Invariant: the stacks of all samples, and how many samples have each.
    stacks: BTreeMap<Rc<Stack>, u64>,
}

/// Bytes of one sample.
const SAMPLE: usize = size_of::<(u64, Rc<Stack>)>();

/// Bytes of one stack, with those of its place in the set.
fn bytes_of(stack: &Stack) -> usize {
    size_of::<Stack>() + 4 * size_of::<usize>() + 8 * (stack.kernel.len() + stack.user.len())
}

impl Ring {
    /// An empty one, for the samples of so many nanoseconds within so many bytes.
    pub fn new(span_ns: u64, bytes_max: usize) -> Self {
        let (samples, stacks) = (VecDeque::new(), BTreeMap::new());
        Self { span_ns, bytes_max, bytes: 0, samples, stacks }
    }

    /// Adds a sample. Those that are too old for it leave.
    pub fn add(&mut self, time_ns: u64, stack: Stack) {
        let known = self.stacks.get_key_value(&stack).map(|(known, _)| Rc::clone(known));
        let stack = known.unwrap_or_else(|| {
            self.bytes += bytes_of(&stack);
            Rc::new(stack)
        });
        *self.stacks.entry(Rc::clone(&stack)).or_default() += 1;
        self.samples.push_back((time_ns, stack));
        self.bytes += SAMPLE;
        let oldest_ns = time_ns.saturating_sub(self.span_ns);
        while self.bytes > self.bytes_max || self.since_ns().is_some_and(|at_ns| at_ns < oldest_ns)
        {
            self.remove_oldest();
        }
    }

    fn remove_oldest(&mut self) {
        let Some((_, stack)) = self.samples.pop_front() else { return };
        self.bytes -= SAMPLE;
        let Some(uses) = self.stacks.get_mut(&stack) else { return };
        *uses -= 1;
        if *uses == 0 {
            self.stacks.remove(&stack);
            self.bytes -= bytes_of(&stack);
        }
    }

    /// The time of the oldest sample.
    pub fn since_ns(&self) -> Option<u64> {
        self.samples.front().map(|(at_ns, _)| *at_ns)
    }

    /// The samples from one time to another.
    pub fn between(&self, from_ns: u64, to_ns: u64) -> Counted {
        let mut stacks = BTreeMap::new();
        for (at_ns, stack) in &self.samples {
            if (from_ns..=to_ns).contains(at_ns) {
                *stacks.entry(Rc::clone(stack)).or_default() += 1;
            }
        }
        Counted { stacks, left_out: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(thread: u32, frames: usize) -> Stack {
        Stack { thread, user: (0..frames as u64).collect(), ..Stack::default() }
    }

    fn counts(counted: &Counted) -> Vec<(u32, u64)> {
        counted.stacks().map(|(stack, count)| (stack.thread, count)).collect()
    }

    #[test]
    fn samples_of_a_span_are_counted_and_older_ones_leave() {
        let mut ring = Ring::new(100, usize::MAX);
        assert_eq!((ring.since_ns(), ring.between(0, u64::MAX)), (None, Counted::default()));
        for (at_ns, thread) in [(10, 1), (20, 2), (20, 1), (60, 1)] {
            ring.add(at_ns, stack(thread, 9));
        }
        assert_eq!(counts(&ring.between(0, u64::MAX)), [(1, 3), (2, 1)]);
        assert_eq!(counts(&ring.between(20, 59)), [(1, 1), (2, 1)]);
        ring.add(121, stack(3, 9));
        assert_eq!(
            (ring.since_ns(), counts(&ring.between(0, u64::MAX))),
            (Some(60), vec![(1, 1), (3, 1)])
        );
        assert_eq!(ring.stacks.len(), 2, "the stack of thread 2 is forgotten");
    }

    #[test]
    fn the_bytes_are_bounded_and_what_has_left_takes_none() {
        let most = 100 * (bytes_of(&stack(0, 50)) + SAMPLE);
        let mut ring = Ring::new(u64::MAX, most);
        for number in 0..1_000 {
            ring.add(number, stack(number as u32, 50));
            assert!(ring.bytes <= most, "{}", ring.bytes);
        }
        assert_eq!((ring.samples.len(), ring.since_ns()), (100, Some(900)));
        let kept = ring.between(0, u64::MAX).within(most / 2);
        assert!((40..=60).contains(&kept.stacks().count()), "{}", kept.stacks().count());
        assert_eq!(kept.left_out() + kept.stacks().count() as u64, 100);
        // One sample that is larger than the ring leaves at once, and takes all before it along.
        ring.add(1_001, stack(0, most));
        assert_eq!((ring.bytes, ring.samples.len(), ring.stacks.len()), (0, 0, 0));
    }
}
