//! A weighted choice among several things.
//!
//! Owns the alias table (Walker 1977, built as by Vose 1991): a choice costs two random numbers, whatever the number
//! of things; a choice of one costs none. Integers throughout, so the weights are met exactly.

use super::template::TemplateState;

/// A choice by weights.
#[derive(Clone, Debug)]
pub struct WeightedChoice {
    cells: Vec<Cell>,
    /// The sum of the weights.
    total: u64,
}

/// One thing, and another that has the rest of its cell.
#[derive(Clone, Copy, Debug)]
struct Cell {
    /// The thing's own part of the cell, of `total`.
    own: u64,
    other: usize,
}

impl WeightedChoice {
    /// A choice among as many things as there are weights; the result is an index. If all weights are
    /// zero (or there are none) it is the first.
    pub fn new(weights: &[u32]) -> Self {
        let total: u64 = weights.iter().copied().map(u64::from).sum();
        if total == 0 {
            return Self { cells: Vec::new(), total };
        }
        let count = weights.len() as u64;
        let mut cells: Vec<Cell> = weights
            .iter()
            .enumerate()
            .map(|(other, weight)| Cell { own: u64::from(*weight).saturating_mul(count), other })
            .collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..cells.len()).partition(|index| cells[*index].own < total);
        while let (Some(poor), Some(rich)) = (small.pop(), large.last().copied()) {
            cells[poor].other = rich;
            cells[rich].own -= total - cells[poor].own;
            if cells[rich].own < total {
                large.pop();
                small.push(rich);
            }
        }
        Self { cells, total }
    }

    /// One of them.
    #[inline]
    pub fn pick(&self, state: &mut TemplateState) -> usize {
        if self.cells.len() < 2 {
            return 0;
        }
        let index = state.random().usize(..self.cells.len());
        let cell = self.cells[index];
        if state.random().u64(..self.total) < cell.own { index } else { cell.other }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// How much each index has of all cells; the whole is `total * cells`.
    fn shares(choice: &WeightedChoice) -> Vec<u64> {
        let mut shares = vec![0; choice.cells.len()];
        for (index, cell) in choice.cells.iter().enumerate() {
            let own = cell.own.min(choice.total);
            shares[index] += own;
            shares[cell.other] += choice.total - own;
        }
        shares
    }

    proptest! {
        #[test]
        fn each_has_exactly_its_weight(weights in proptest::collection::vec(0_u32..1000, 1..50)) {
            let choice = WeightedChoice::new(&weights);
            prop_assume!(choice.total > 0);
            let expected: Vec<u64> =
                weights.iter().map(|weight| u64::from(*weight) * weights.len() as u64).collect();
            prop_assert_eq!(shares(&choice), expected);
        }
    }

    #[test]
    fn picks_follow_the_weights() {
        let choice = WeightedChoice::new(&[1, 0, 9]);
        let mut state = TemplateState::new(7, 0, 1);
        let mut counts = [0_u32; 3];
        for _ in 0..100_000 {
            counts[choice.pick(&mut state)] += 1;
        }
        assert_eq!(counts[1], 0);
        // Four standard deviations of a binomial distribution with n = 100,000 and p = 0.1.
        assert!(counts[0].abs_diff(10_000) < 380, "{counts:?}");
    }

    #[test]
    fn one_of_one_takes_no_random_number() {
        let mut state = TemplateState::new(7, 0, 1);
        let before = state.random().clone();
        assert_eq!(WeightedChoice::new(&[5]).pick(&mut state), 0);
        assert_eq!(WeightedChoice::new(&[0, 0]).pick(&mut state), 0);
        assert_eq!(*state.random(), before);
    }
}
