//! What our server should reach, beside others or by itself.
//!
//! Owns the kinds of targets. `report` judges them.

use crate::bench::sample::Metric;

/// What a target holds our value against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Against {
    /// The median of the named contender in the same run.
    Contender(&'static str),
    /// The same: how much more ours is.
    Above(&'static str),
    /// Nothing: the number itself counts.
    Itself,
}

/// Which side of the bound is good.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// What our server should reach.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) metric: Metric,
    pub(crate) against: Against,
    pub(crate) bound: Bound,
}
