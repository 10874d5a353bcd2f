//! The frames that cost most, as a table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::fold::{Folded, Frame, Mode};
use crate::locks::time_in_words;

/// The unit of the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountUnit {
    /// Samples.
    Samples,
    /// Microseconds.
    Microseconds,
    /// Page faults.
    Faults,
}

impl CountUnit {
    /// The name of the unit.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Samples => "samples",
            Self::Microseconds => "us",
            Self::Faults => "page faults",
        }
    }

    /// A count with its unit, in words.
    pub fn told(self, count: f64) -> String {
        match self {
            Self::Samples => format!("{} samples", rounded(count)),
            Self::Microseconds => time_in_words(count * 1e3),
            Self::Faults => format!("{} page faults", rounded(count)),
        }
    }
}

/// A count without what a sum of fractions has beyond thousandths.
pub(crate) fn rounded(count: f64) -> f64 {
    (count * 1e3).round() / 1e3
}

/// A table with this many rows: for each frame the share in which it was the innermost one, and the share in which it
/// was anywhere in the stack.
pub fn table(folded: &Folded, unit: CountUnit, rows: usize) -> String {
    let total = folded.total().max(f64::MIN_POSITIVE);
    let (mut own, mut all): (BTreeMap<&Frame, f64>, BTreeMap<&Frame, f64>) = Default::default();
    let mut kernel = 0.0;
    for (stack, count) in &folded.stacks {
        if let Some(last) = stack.last() {
            *own.entry(last).or_default() += count;
            kernel += if last.mode == Mode::Kernel { *count } else { 0.0 };
        }
        for frame in stack.iter().collect::<BTreeSet<_>>() {
            *all.entry(frame).or_default() += count;
        }
    }
    let mut sorted: Vec<(&Frame, f64)> = own.into_iter().collect();
    sorted.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(other.0)));
    let percent = |count: f64| count * 100.0 / total;
    let mut text = format!(
        "{}; {:.0} % in the kernel, {:.0} % in the program\n\n  own    all         function\n",
        unit.told(folded.total()),
        percent(kernel),
        percent(folded.total() - kernel),
    );
    for (frame, count) in sorted.into_iter().take(rows) {
        let _endless = writeln!(
            text,
            "{:4.1} % {:4.1} %  {}  {}",
            percent(count),
            percent(all.get(frame).copied().unwrap_or(0.0)),
            frame.mode.name(),
            frame.name,
        );
    }
    text
}
