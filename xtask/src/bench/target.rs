//! The targets of our server, relative to others or absolute.
//!
//! Owns the kinds of targets. `report` judges them.

use crate::bench::sample::Metric;

/// The value that ours is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Against {
    /// The median of the named contender in the same run.
    Contender(&'static str),
    /// The same, as a difference.
    Above(&'static str),
    /// Nothing: the value is absolute.
    Itself,
}

/// Which side of the bound is good.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// A target of our server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) metric: Metric,
    pub(crate) against: Against,
    pub(crate) bound: Bound,
}

impl Target {
    pub(crate) const fn at_most(metric: Metric, against: Against, most: f64) -> Target {
        Target { metric, against, bound: Bound::AtMost(most) }
    }

    pub(crate) const fn at_least(metric: Metric, against: Against, least: f64) -> Target {
        Target { metric, against, bound: Bound::AtLeast(least) }
    }

    /// CPU time of a request, as a ratio to that of a contender.
    pub(crate) const fn cpu_to(contender: &'static str, most: f64) -> Target {
        Target::at_most(Metric::CpuMicros, Against::Contender(contender), most)
    }
}
