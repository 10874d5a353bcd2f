//! The frames that cost most, as a table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::fold::{Folded, Frame, Mode};

/// Rows of so many frames: the share in which each was the innermost, and that in which it was anywhere.
#[must_use]
pub fn table(folded: &Folded, rows: usize) -> String {
    let total = folded.total().max(1) as f64;
    let (mut own, mut all): (BTreeMap<&Frame, u64>, BTreeMap<&Frame, u64>) = Default::default();
    let mut kernel = 0;
    for (stack, count) in &folded.stacks {
        if let Some(last) = stack.last() {
            *own.entry(last).or_default() += count;
            kernel += if last.mode == Mode::Kernel { *count } else { 0 };
        }
        for frame in stack.iter().collect::<BTreeSet<_>>() {
            *all.entry(frame).or_default() += count;
        }
    }
    let mut sorted: Vec<(&Frame, u64)> = own.into_iter().collect();
    sorted.sort_by_key(|(frame, count)| (std::cmp::Reverse(*count), *frame));
    let percent = |count: u64| count as f64 * 100.0 / total;
    let mut text = format!(
        "{} samples; {:.0} % in the kernel, {:.0} % in the program\n\n  own    all         function\n",
        folded.total(),
        percent(kernel),
        percent(folded.total() - kernel),
    );
    for (frame, count) in sorted.into_iter().take(rows) {
        let mode = if frame.mode == Mode::Kernel { "kernel " } else { "program" };
        let _endless = writeln!(
            text,
            "{:4.1} % {:4.1} %  {mode}  {}",
            percent(count),
            percent(all.get(frame).copied().unwrap_or(0)),
            frame.name,
        );
    }
    text
}
