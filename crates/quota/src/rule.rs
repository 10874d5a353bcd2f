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
    /// Its pace, and that of another rule about the same.
    pub(crate) fn paces(self, other: Self) -> Option<(QuotaPace, QuotaPace)> {
        match (self, other) {
            (Self::Uses(own), Self::Uses(other)) | (Self::Amounts(own), Self::Amounts(other)) => {
                Some((own, other))
            }
            _ => None,
        }
    }

    /// Whether the numbers of keys mean the same: a time or a count.
    pub fn is_counted_like(self, other: Self) -> bool {
        matches!(self, Self::Open(_)) == matches!(other, Self::Open(_))
    }
}
