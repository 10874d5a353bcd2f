//! The timer wheel: coarse, intrusive, without allocation per connection.
//!
//! Owns the buckets and the links of one scheduler's timers, never the deadlines themselves: a
//! process stores its deadline, and only a deadline *earlier* than the one it is linked under moves
//! it. Moving a deadline back, which every keep-alive request does, costs one store; when the old
//! bucket expires, the process is moved to the right one.

use crate::limits::{TICK_MS, WHEEL_TICKS};

/// Time in ticks of the wheel since the scheduler started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tick(u32);

impl Tick {
    /// No deadline.
    pub const NEVER: Tick = Tick(u32::MAX);

    /// The last tick that is not after this time.
    #[inline]
    pub fn at_or_before_ns(ns: u64) -> Self {
        Tick(u32::try_from(ns / (TICK_MS * 1_000_000)).unwrap_or(u32::MAX - 1))
    }

    /// The time of this tick.
    pub fn to_ns(self) -> u64 {
        u64::from(self.0) * TICK_MS * 1_000_000
    }

    /// This many ticks later.
    #[inline]
    pub fn later(self, ticks: u64) -> Self {
        let ticks = u32::try_from(ticks).unwrap_or(u32::MAX);
        Tick(self.0.saturating_add(ticks).min(u32::MAX - 1))
    }

    fn bucket(self) -> usize {
        self.0 as usize % WHEEL_TICKS
    }
}

const NONE: u32 = u32::MAX;
const WORDS: usize = WHEEL_TICKS / 64;

// So that one word has a bit for each word of `filled`.
const _: () = assert!(WORDS == u64::BITS as usize);

/// A process's place in the wheel; lives in its slot.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    next: u32,
    previous: u32,
    /// The tick it is linked under; `NEVER` if it is not linked.
    linked: Tick,
}

impl Link {
    /// Not linked.
    pub const UNLINKED: Link = Link { next: NONE, previous: NONE, linked: Tick::NEVER };

    /// The tick it is linked under; `NEVER` if it is not linked.
    #[inline]
    pub fn linked(&self) -> Tick {
        self.linked
    }
}

/// Where the wheel finds the links: the table of processes.
pub trait Links {
    /// The link of the process in slot `index`.
    fn link(&mut self, index: u32) -> &mut Link;
}

/// The wheel of one scheduler.
pub struct Wheel {
    heads: Box<[u32; WHEEL_TICKS]>,
    /// One bit per bucket that is not empty.
    filled: [u64; WORDS],
    /// One bit per word of `filled` that is not zero: every turn searches for the next due bucket.
    words: u64,
    /// All buckets before this tick have been visited.
    current: Tick,
    /// Nothing expires before this tick, so most turns need not search.
    next_look: Tick,
    linked: usize,
}

impl Wheel {
    /// An empty wheel that starts at tick 0.
    pub fn new() -> Self {
        Self {
            heads: Box::new([NONE; WHEEL_TICKS]),
            filled: [0; WORDS],
            words: 0,
            current: Tick(0),
            next_look: Tick(0),
            linked: 0,
        }
    }

    /// Links a process under `deadline`, or within one round if that is further away.
    pub fn link(&mut self, links: &mut impl Links, index: u32, deadline: Tick) {
        debug_assert_eq!(links.link(index).linked, Tick::NEVER, "linked once");
        let last = Tick(self.current.0.saturating_add(WHEEL_TICKS as u32 - 1));
        let tick = deadline.clamp(self.current, last);
        let bucket = tick.bucket();
        let head = self.heads[bucket];
        *links.link(index) = Link { next: head, previous: NONE, linked: tick };
        if head != NONE {
            links.link(head).previous = index;
        }
        self.heads[bucket] = index;
        self.filled[bucket / 64] |= 1 << (bucket % 64);
        self.words |= 1 << (bucket / 64);
        self.linked += 1;
        self.next_look = self.next_look.min(tick);
    }

    /// Unlinks a process. Does nothing if it is not linked.
    pub fn unlink(&mut self, links: &mut impl Links, index: u32) {
        let link = *links.link(index);
        if link.linked == Tick::NEVER {
            return;
        }
        if link.next != NONE {
            links.link(link.next).previous = link.previous;
        }
        let bucket = link.linked.bucket();
        if link.previous != NONE {
            links.link(link.previous).next = link.next;
        } else {
            self.heads[bucket] = link.next;
            if link.next == NONE {
                self.filled[bucket / 64] &= !(1 << (bucket % 64));
                if self.filled[bucket / 64] == 0 {
                    self.words &= !(1 << (bucket / 64));
                }
            }
        }
        *links.link(index) = Link::UNLINKED;
        self.linked -= 1;
    }

    /// Whether [`expire`](Self::expire) has anything to do at `now`.
    #[inline]
    pub fn is_due(&self, now: Tick) -> bool {
        now >= self.next_look
    }

    /// Removes one process whose bucket is due at `now`, or returns `None` if there are no more.
    pub fn expire(&mut self, links: &mut impl Links, now: Tick) -> Option<u32> {
        let Some(due) = self.next_due().filter(|due| *due <= now) else {
            // Buckets before `now` are empty. Skip them, so that new deadlines have a whole round.
            self.current = self.current.max(now);
            self.next_look = self.current.later(1);
            return None;
        };
        self.current = due;
        let index = self.heads[due.bucket()];
        self.unlink(links, index);
        Some(index)
    }

    /// The first tick with a linked process; `None` if the wheel is empty.
    pub fn next_due(&self) -> Option<Tick> {
        if self.linked == 0 {
            return None;
        }
        let start = self.current.bucket();
        let mut word = start / 64;
        let mut bits = self.filled[word] & (!0 << (start % 64));
        if bits == 0 {
            // The words after this one, around the wheel, and last this one again: its buckets before `start` belong to
            // the next round.
            let behind = self.words.rotate_right((word as u32 + 1) % u64::BITS);
            word = (word + 1 + behind.trailing_zeros() as usize) % WORDS;
            bits = self.filled[word];
        }
        let bucket = word * 64 + bits.trailing_zeros() as usize;
        let ahead = (bucket + WHEEL_TICKS - start) % WHEEL_TICKS;
        Some(self.current.later(ahead as u64))
    }

    /// The number of linked processes.
    pub fn len(&self) -> usize {
        self.linked
    }

    /// Whether no process is linked.
    pub fn is_empty(&self) -> bool {
        self.linked == 0
    }
}

impl Default for Wheel {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Table(Vec<Link>);

    impl Links for Table {
        fn link(&mut self, index: u32) -> &mut Link {
            &mut self.0[index as usize]
        }
    }

    #[test]
    fn a_deadline_that_has_passed_is_due_in_this_tick() {
        let mut table = Table(vec![Link::UNLINKED; 4]);
        let mut wheel = Wheel::new();
        assert_eq!(wheel.expire(&mut table, Tick(5)), None);
        assert!(!wheel.is_due(Tick(5)) && wheel.is_due(Tick(6)));
        wheel.link(&mut table, 3, Tick(2));
        assert!(wheel.is_due(Tick(5)));
        assert_eq!(wheel.expire(&mut table, Tick(5)), Some(3));
    }

    proptest! {
        /// Compares the wheel with a sorted list: the same members, never early, and all due ones come out.
        #[test]
        fn agrees_with_a_list(operations in proptest::collection::vec((0u32..64, 0u32..9000, 0u8..3), 1..300)) {
            let mut table = Table(vec![Link::UNLINKED; 64]);
            let mut wheel = Wheel::new();
            let mut model: Vec<Option<u32>> = vec![None; 64];
            let mut now = 0u32;
            for (index, amount, what) in operations {
                match what {
                    0 if model[index as usize].is_none() => {
                        let deadline = now + amount;
                        wheel.link(&mut table, index, Tick(deadline));
                        model[index as usize] = Some(deadline.min(now.max(wheel.current.0) + WHEEL_TICKS as u32 - 1).max(wheel.current.0));
                    }
                    1 => {
                        wheel.unlink(&mut table, index);
                        model[index as usize] = None;
                    }
                    _ => {
                        now += amount % 700;
                        let is_due = wheel.is_due(Tick(now));
                        let mut out = Vec::new();
                        while let Some(index) = wheel.expire(&mut table, Tick(now)) {
                            out.push(index);
                        }
                        out.sort_unstable();
                        let mut expected: Vec<u32> = (0..64u32)
                            .filter(|index| model[*index as usize].is_some_and(|deadline| deadline <= now))
                            .collect();
                        expected.sort_unstable();
                        prop_assert_eq!(&out, &expected);
                        prop_assert!(is_due || expected.is_empty(), "it says that nothing is due");
                        for index in out {
                            model[index as usize] = None;
                        }
                    }
                }
                prop_assert_eq!(wheel.len(), model.iter().flatten().count());
                let first = model.iter().flatten().min().copied();
                prop_assert_eq!(wheel.next_due().map(|tick| tick.0), first);
            }
        }
    }
}
