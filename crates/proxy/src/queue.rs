//! The line of requests that wait for a place at a server.
//!
//! Owns their order: first come, first served, among those that could have a place. A request that was called has left
//! the line and asks again; until then no later one gets its place. No step visits the line: a million may wait, and
//! all may leave in one turn.

use std::collections::{BTreeMap, BTreeSet};

use crate::tried::Tried;

/// The line is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineFull;

/// A request that waits until a time.
#[derive(Clone, Copy, Debug)]
struct Waiting<W> {
    who: W,
    due_ns: u64,
    /// The servers that it has met.
    tried: Tried,
}

/// A place in the line: the lower, the earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinePlace(i64);

/// The line.
#[derive(Debug)]
pub(crate) struct Queue<W> {
    waiting: BTreeMap<LinePlace, Waiting<W>>,
    places: BTreeMap<W, LinePlace>,
    /// The places of those that have met the same servers: most have met none.
    alike: BTreeMap<Tried, BTreeSet<LinePlace>>,
    /// Requests that were called and have not asked again.
    called: BTreeMap<W, Waiting<W>>,
}

impl<W> Default for Queue<W> {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
            places: BTreeMap::new(),
            alike: BTreeMap::new(),
            called: BTreeMap::new(),
        }
    }
}

impl<W: Copy + Ord> Queue<W> {
    /// The same line for other servers, of which a request has met those that `met` makes of its own.
    pub(crate) fn for_others(self, met: impl Fn(Tried) -> Tried) -> Self {
        let other = |one: Waiting<W>| Waiting { tried: met(one.tried), ..one };
        let mut line = Self::default();
        self.waiting.into_iter().for_each(|(place, one)| line.insert(place, other(one)));
        line.called = self.called.into_iter().map(|(who, one)| (who, other(one))).collect();
        line
    }

    /// Whether a request was called and has not asked again.
    pub(crate) fn was_called(&self, who: W) -> bool {
        self.called.contains_key(&who)
    }

    /// How many requests were called and have not asked again.
    pub(crate) fn called(&self) -> usize {
        self.called.len()
    }

    /// The place of the first one that could have a server, by the servers that it has met.
    pub(crate) fn first(&self, mut could: impl FnMut(Tried) -> bool) -> Option<LinePlace> {
        let able = self.alike.iter().filter(|(tried, _)| could(**tried));
        able.filter_map(|(_, places)| places.first().copied()).min()
    }

    /// Adds a request at the end, or puts one that was called back to the front.
    pub(crate) fn enter(
        &mut self,
        who: W,
        (due_ns, tried): (u64, Tried),
        most: usize,
    ) -> Result<(), LineFull> {
        if let Some(back) = self.called.remove(&who) {
            let front = self.waiting.first_key_value().map_or(0, |(place, _)| place.0 - 1);
            self.insert(LinePlace(front), back);
            return Ok(());
        }
        if self.places.contains_key(&who) {
            return Ok(());
        }
        if self.len() >= most {
            return Err(LineFull);
        }
        let end = self.waiting.last_key_value().map_or(0, |(place, _)| place.0 + 1);
        self.insert(LinePlace(end), Waiting { who, due_ns, tried });
        Ok(())
    }

    fn insert(&mut self, place: LinePlace, waiting: Waiting<W>) {
        self.places.insert(waiting.who, place);
        self.alike.entry(waiting.tried).or_default().insert(place);
        self.waiting.insert(place, waiting);
    }

    fn remove(&mut self, place: LinePlace) -> Option<Waiting<W>> {
        let gone = self.waiting.remove(&place)?;
        self.places.remove(&gone.who);
        if let Some(places) = self.alike.get_mut(&gone.tried) {
            places.remove(&place);
            if places.is_empty() {
                self.alike.remove(&gone.tried);
            }
        }
        Some(gone)
    }

    /// A server is free for the request at this place, which has to ask again.
    pub(crate) fn call(&mut self, place: LinePlace) -> Option<W> {
        let called = self.remove(place)?;
        self.called.insert(called.who, called);
        Some(called.who)
    }

    /// A request has its server or is over.
    pub(crate) fn leave(&mut self, who: W) {
        if self.called.remove(&who).is_none()
            && let Some(place) = self.places.get(&who)
        {
            self.remove(*place);
        }
    }

    /// Removes the first request if it has waited too long.
    pub(crate) fn take_late(&mut self, now_ns: u64) -> Option<W> {
        let (place, first) = self.waiting.first_key_value()?;
        if first.due_ns > now_ns {
            return None;
        }
        self.remove(*place).map(|first| first.who)
    }

    /// When the first request has waited too long.
    pub(crate) fn due_ns(&self) -> Option<u64> {
        self.waiting.first_key_value().map(|(_, first)| first.due_ns)
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len() + self.called.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tried::ServerIndex;

    /// The same line as a list.
    #[derive(Default)]
    struct List {
        waiting: Vec<(u8, Tried)>,
        called: Vec<(u8, Tried)>,
    }

    impl List {
        fn enter(&mut self, who: u8, tried: Tried) {
            if let Some(at) = self.called.iter().position(|one| one.0 == who) {
                self.waiting.insert(0, self.called.remove(at));
            } else if self.waiting.iter().all(|one| one.0 != who) {
                self.waiting.push((who, tried));
            }
        }

        fn call(&mut self, could: impl Fn(Tried) -> bool) -> Option<u8> {
            let at = self.waiting.iter().position(|one| could(one.1))?;
            self.called.push(self.waiting.remove(at));
            self.called.last().map(|one| one.0)
        }

        fn leave(&mut self, who: u8) {
            self.called.retain(|one| one.0 != who);
            self.waiting.retain(|one| one.0 != who);
        }
    }

    /// The servers of a number of two bits.
    fn tried(bits: u8) -> Tried {
        let mut tried = Tried::default();
        (0..2).filter(|server| bits & (1 << server) != 0).for_each(|it| tried.add(ServerIndex(it)));
        tried
    }

    proptest! {
        #[test]
        fn line_has_the_order_of_a_list(
            steps in prop::collection::vec((0..4_u8, 0..12_u8, 0..4_u8), 1..200)
        ) {
            let (mut queue, mut list) = (Queue::default(), List::default());
            for (step, who, bits) in steps {
                match step {
                    0 | 1 => {
                        prop_assert!(queue.enter(who, (u64::from(who), tried(bits)), 12).is_ok());
                        list.enter(who, tried(bits));
                    }
                    2 => {
                        // Only the servers of `bits` are free.
                        let could = |met: Tried| {
                            (0..2).any(|it| bits & (1 << it) != 0 && !met.has(ServerIndex(it)))
                        };
                        let called = queue.first(could).and_then(|place| queue.call(place));
                        prop_assert_eq!(called, list.call(could));
                    }
                    _ => {
                        queue.leave(who);
                        list.leave(who);
                    }
                }
                prop_assert_eq!(queue.len(), list.waiting.len() + list.called.len());
                prop_assert_eq!(queue.called(), list.called.len());
                let first = list.waiting.first().map(|one| u64::from(one.0));
                prop_assert_eq!(queue.due_ns(), first);
                prop_assert_eq!(queue.places.len(), queue.waiting.len());
                let alike: usize = queue.alike.values().map(BTreeSet::len).sum();
                prop_assert_eq!(alike, queue.waiting.len());
            }
        }
    }
}
