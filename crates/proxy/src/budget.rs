//! How many requests may be repeated.
//!
//! Owns the account: each request earns a part of a repetition, and a repetition costs one. When all servers fail, the
//! repetitions must not double the load.

use crate::limits::{RETRY_EARNED, RETRY_PRICE, RETRY_SAVED};

/// The account of an upstream, in thousandths of a repetition.
#[derive(Debug)]
pub(crate) struct Budget(u32);

impl Default for Budget {
    fn default() -> Self {
        Self(RETRY_SAVED)
    }
}

impl Budget {
    /// A request begins.
    pub(crate) fn earn(&mut self) {
        self.0 = (self.0 + RETRY_EARNED).min(RETRY_SAVED);
    }

    /// Whether a request may be repeated; it is paid for.
    pub(crate) fn spend(&mut self) -> bool {
        let rest = self.0.checked_sub(RETRY_PRICE);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }
}
