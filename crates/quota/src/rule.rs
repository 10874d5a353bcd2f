//! The quantity that a limit counts.
//!
//! Owns which quantities there are. Counts nothing.

use crate::pace::QuotaPace;

/// The quantity that a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Uses, each of one unit.
    Uses(QuotaPace),
    /// Something whose size is known afterwards.
    Amounts(QuotaPace),
    /// Uses that have not ended.
    Open(u64),
}

impl Rule {
    /// Whether the numbers of keys mean the same: a time or a count.
    pub fn is_counted_like(self, other: Self) -> bool {
        matches!(self, Self::Open(_)) == matches!(other, Self::Open(_))
    }
}
