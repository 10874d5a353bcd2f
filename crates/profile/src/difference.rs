//! Two profiles compared: which functions take a larger share of the time than before, and which a
//! smaller one.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::fold::{Folded, Frame};
use crate::table::rounded;

/// The functions whose own share has changed most, in percentage points; positive means more in the second profile.
pub fn difference_table(before: &Folded, after: &Folded, rows: usize) -> String {
    let [shares_before, shares_after] = [before, after].map(own_shares);
    let mut all: BTreeMap<&Frame, [f64; 2]> = BTreeMap::new();
    for (side, shares) in [&shares_before, &shares_after].into_iter().enumerate() {
        for (frame, share) in shares {
            all.entry(frame).or_default()[side] = *share;
        }
    }
    let mut sorted: Vec<(&Frame, [f64; 2])> = all.into_iter().collect();
    let change = |[before, after]: &[f64; 2]| after - before;
    sorted.sort_by(|(_, one), (_, other)| change(other).abs().total_cmp(&change(one).abs()));
    let mut text = format!(
        "{} samples before, {} behind\n\n before  behind  change         function\n",
        rounded(before.total()),
        rounded(after.total())
    );
    for (frame, shares) in sorted.into_iter().take(rows) {
        let _endless = writeln!(
            text,
            "{:5.1} % {:5.1} % {:+6.1}  {}  {}",
            shares[0],
            shares[1],
            change(&shares),
            frame.mode.name(),
            frame.name
        );
    }
    text
}

/// The share of samples, in percent, in which each function was the innermost one.
fn own_shares(folded: &Folded) -> BTreeMap<&Frame, f64> {
    let total = folded.total().max(f64::MIN_POSITIVE);
    let mut shares = BTreeMap::new();
    for (stack, count) in &folded.stacks {
        if let Some(last) = stack.last() {
            *shares.entry(last).or_default() += *count * 100.0 / total;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded_file::tests::folded;

    #[test]
    fn largest_difference_comes_first() {
        let before = folded("a;b 50\na;c 40\na;gone_[k] 10\n");
        let after = folded("a;b 120\na;c 80\n");
        let table = difference_table(&before, &after, 10);
        let lines: Vec<&str> = table.lines().skip(3).collect();
        let row = |at: usize| lines[at].split_whitespace().collect::<Vec<_>>().join(" ");
        let rows = [row(0), row(1), row(2)];
        let mut sorted = rows.clone();
        sorted.sort_unstable();
        assert_eq!(
            sorted,
            [
                "10.0 % 0.0 % -10.0 kernel gone",
                "40.0 % 40.0 % +0.0 program c",
                "50.0 % 60.0 % +10.0 program b"
            ]
        );
        assert_eq!(rows[2], "40.0 % 40.0 % +0.0 program c");
    }
}
