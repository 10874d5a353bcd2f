//! Whether all subscribers have seen the messages in one order.
//!
//! Owns which message followed which, for any subscriber, and the search for a contradiction: there is an order that
//! agrees with all of them if and only if no message follows itself over others. A subscriber that misses some
//! messages contradicts nothing.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::limits::CHANNEL_SUCCESSIONS_FOLLOWED;

/// A place without a follower.
const NONE: u32 = u32::MAX;

/// Which messages followed which, by their places.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Succession {
    /// By place: the first message that any subscriber received next. With one order for all and no gaps, the only one.
    next: Vec<u32>,
    /// Further ones.
    more: BTreeSet<[u32; 2]>,
    /// There were more than are followed.
    is_cut: bool,
}

/// Messages that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Contradiction {
    places: usize,
    example: Vec<u32>,
}

impl Contradiction {
    /// How many messages have no place in an order.
    pub(super) fn places(&self) -> usize {
        self.places
    }

    /// Some of them: each was received directly before the next one by a subscriber, and the last before the first.
    pub(super) fn example(&self) -> &[u32] {
        &self.example
    }
}

impl Succession {
    /// A subscriber has received one message directly after another.
    pub(super) fn follow(&mut self, [before, after]: [u32; 2]) {
        let at = before as usize;
        match self.next.get_mut(at) {
            Some(next) if *next == after => {}
            Some(next) if *next == NONE => *next = after,
            Some(_) => self.add([before, after]),
            None => {
                self.next.resize(at + 1, NONE);
                self.next[at] = after;
            }
        }
    }

    fn add(&mut self, pair: [u32; 2]) {
        if self.more.len() < CHANNEL_SUCCESSIONS_FOLLOWED {
            self.more.insert(pair);
        } else if !self.more.contains(&pair) {
            self.is_cut = true;
        }
    }

    /// Adds what other subscribers have seen.
    pub(super) fn merge(&mut self, other: &Self) {
        for pair in other.pairs() {
            self.follow(pair);
        }
        self.is_cut |= other.is_cut;
    }

    /// Whether some successions were not followed.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn pairs(&self) -> impl Iterator<Item = [u32; 2]> {
        let first = self.next.iter().zip(0_u32..).filter(|(next, _)| **next != NONE);
        first.map(|(next, at)| [at, *next]).chain(self.more.iter().copied())
    }

    /// The messages that have no place in one order for all; `None` if there is such an order.
    pub(super) fn contradiction(&self) -> Option<Contradiction> {
        let forward: Vec<[u32; 2]> = self.pairs().collect();
        let backward: Vec<[u32; 2]> =
            forward.iter().map(|[before, after]| [*after, *before]).collect();
        // A message before everything, and then one behind everything, is in order.
        let left = tangled(&forward);
        let left: Vec<[u32; 2]> =
            forward.into_iter().filter(|pair| is_among(pair, &left)).collect();
        let both = tangled(&backward);
        let mut left: Vec<[u32; 2]> =
            left.into_iter().filter(|pair| is_among(pair, &both)).collect();
        left.sort_unstable();
        let places: BTreeSet<u32> = left.iter().map(|[before, _]| *before).collect();
        let mut example = vec![*places.first()?];
        // Each of them has a follower among them, so this comes back to one that it has seen.
        while let Some(last) = example.last() {
            let [_, after] = left.get(left.partition_point(|pair| pair[0] < *last))?;
            if let Some(begin) = example.iter().position(|place| place == after) {
                example.drain(..begin);
                break;
            }
            example.push(*after);
        }
        Some(Contradiction { places: places.len(), example })
    }
}

fn is_among(pair: &[u32; 2], places: &[bool]) -> bool {
    pair.iter().all(|place| places.get(*place as usize) == Some(&true))
}

/// By place: whether it remains when places without predecessors are removed one after the other (Kahn, "Topological
/// sorting of large networks", 1962).
fn tangled(pairs: &[[u32; 2]]) -> Vec<bool> {
    let most = pairs.iter().flatten().max().map_or(0, |place| *place as usize + 1);
    let mut sorted = pairs.to_vec();
    sorted.sort_unstable();
    let mut before = vec![0_u32; most];
    for [_, after] in pairs {
        before[*after as usize] += 1;
    }
    let mut is_left = vec![true; most];
    let mut free: Vec<u32> =
        before.iter().zip(0..).filter(|(before, _)| **before == 0).map(|(_, at)| at).collect();
    while let Some(place) = free.pop() {
        is_left[place as usize] = false;
        let begin = sorted.partition_point(|pair| pair[0] < place);
        for [_, after] in sorted[begin..].iter().take_while(|pair| pair[0] == place) {
            before[*after as usize] -= 1;
            if before[*after as usize] == 0 {
                free.push(*after);
            }
        }
    }
    is_left
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seen(orders: &[&[u32]]) -> Succession {
        let mut all = Succession::default();
        for order in orders {
            let mut one = Succession::default();
            for pair in order.windows(2) {
                one.follow([pair[0], pair[1]]);
            }
            all.merge(&one);
        }
        all
    }

    #[test]
    fn one_order_for_all_is_no_contradiction() {
        assert_eq!(Succession::default().contradiction(), None);
        assert_eq!(seen(&[&[0, 1, 2, 3], &[0, 1, 2, 3]]).contradiction(), None);
        // Gaps, a late begin and an early end.
        assert_eq!(seen(&[&[0, 2, 3], &[1, 3], &[0, 1], &[0, 3, 4]]).contradiction(), None);
    }

    #[test]
    fn messages_that_changed_places_are_found() {
        let found = seen(&[&[0, 1, 2, 3, 4], &[0, 2, 1, 3, 4]]).contradiction().unwrap();
        assert_eq!((found.places(), found.example()), (2, &[1, 2][..]));
        // Three subscribers, of which each two agree.
        let found = seen(&[&[5, 6], &[6, 7], &[7, 5]]).contradiction().unwrap();
        assert_eq!((found.places(), found.example()), (3, &[5, 6, 7][..]));
    }

    proptest! {
        #[test]
        fn subsequences_of_one_order_agree_and_a_swap_does_not(
            kept in proptest::collection::vec(any::<u64>(), 1..9),
            swapped in 0_usize..40,
        ) {
            let order: Vec<u32> = (0..42).map(|at| (at * 5) % 42).collect();
            let of = |mask: u64| -> Vec<u32> {
                order.iter().zip(0..).filter(|(_, at)| mask >> at & 1 == 1).map(|(place, _)| *place).collect()
            };
            let lists: Vec<Vec<u32>> = kept.iter().map(|mask| of(*mask)).collect();
            let mut lists: Vec<&[u32]> = lists.iter().map(Vec::as_slice).collect();
            lists.push(&order);
            prop_assert_eq!(seen(&lists).contradiction(), None);
            let mut other = order.clone();
            other.swap(swapped, swapped + 1);
            lists.push(&other);
            let found = seen(&lists).contradiction().unwrap();
            prop_assert!(found.example().contains(&order[swapped]));
        }
    }
}
