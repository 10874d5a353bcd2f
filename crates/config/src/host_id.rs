//! The number of a host.
//!
//! Owns which host is the default one.

/// A host's number, in file order; 0 is the default host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostId(pub u32);

impl HostId {
    /// The default host.
    pub const DEFAULT: Self = Self(0);
}
