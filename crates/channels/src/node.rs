//! Another node of a cluster, and whether what it sends has a rest.
//!
//! Owns the name of a node. Never knows how it is reached.

/// Another node, from its start to its end: a node that was started again is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterNode(pub u64);

/// Whether a part is the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remainder {
    /// It is.
    None,
    /// There is more behind it.
    Some,
}
