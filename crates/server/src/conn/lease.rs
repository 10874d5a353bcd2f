//! The rights of a client whose connection stays.
//!
//! Owns when they end, and when such a connection is next looked at. What it loses then its session says.

use channels::Rights;
use runtime::clock::Now;

use crate::limits::PING_INTERVAL_MS;

/// The rights of a client, for as long as it has them.
#[derive(Debug, Default)]
pub(super) struct Lease(Rights);

impl Lease {
    pub(super) fn new(rights: Rights) -> Self {
        Self(rights)
    }

    pub(super) fn rights(&self) -> &Rights {
        &self.0
    }

    /// Milliseconds until the client is asked whether it is there, or its rights end.
    pub(super) fn quiet_ms(&self, now: Now) -> u64 {
        self.left_ms(now).map_or(PING_INTERVAL_MS, |left_ms| left_ms.min(PING_INTERVAL_MS))
    }

    /// Milliseconds until the rights end, if they do.
    pub(super) fn left_ms(&self, now: Now) -> Option<u64> {
        let expire = self.0.expire()?;
        Some(expire.saturating_sub(now.unix_seconds).saturating_mul(1000))
    }

    /// Ends rights whose time is over. `true`: it was so.
    pub(super) fn end_if_over(&mut self, now: Now) -> bool {
        let is_over = self.left_ms(now) == Some(0);
        if is_over {
            self.0 = Rights::Anybody;
        }
        is_over
    }
}
