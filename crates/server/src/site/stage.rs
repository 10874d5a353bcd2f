//! When limits are applied to a request.
//!
//! Owns the two moments. Never applies one: `entry/limit` does.

/// When limits are applied: those that know the user after access was given, all others before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// By address, path, field or cookie.
    Client,
    /// By user.
    User,
}
