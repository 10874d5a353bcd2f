//! A rate with a burst: the generic cell rate algorithm (ITU-T I.371, appendix I).
//!
//! Owns the arithmetic. Of each key one time is kept: when all that it has used will be given back.

use std::time::Duration;

/// So many units in a time, and so many at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaPace {
    /// Units in `window`; above zero.
    pub units: u64,
    /// The time in which they are given back.
    pub window: Duration,
    /// Units at once; above zero.
    pub burst: u64,
}

/// The decision about a use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaDecision {
    /// It is allowed now.
    Allowed,
    /// It is allowed after this time, and counted already.
    After(Duration),
    /// It is refused and not counted. Another try makes sense after this time.
    Refused(Duration),
}

impl QuotaPace {
    /// The nanoseconds after which so many units are given back.
    pub fn nanoseconds_of(&self, units: u64) -> u64 {
        let total = u128::from(units).saturating_mul(self.window.as_nanos());
        u64::try_from(total.div_ceil(u128::from(self.units.max(1)))).unwrap_or(u64::MAX)
    }

    /// Uses units of a key that has used what is given back at `until_ns`, at most `patience` later.
    pub fn take(
        &self,
        until_ns: &mut u64,
        units: u64,
        now_ns: u64,
        patience: Duration,
    ) -> QuotaDecision {
        let after = (*until_ns).max(now_ns).saturating_add(self.nanoseconds_of(units));
        let most = now_ns.saturating_add(self.nanoseconds_of(self.burst));
        let wait = Duration::from_nanos(after.saturating_sub(most));
        if wait.is_zero() {
            *until_ns = after;
            return QuotaDecision::Allowed;
        }
        if wait <= patience {
            *until_ns = after;
            return QuotaDecision::After(wait);
        }
        QuotaDecision::Refused(wait)
    }

    /// Whether a key is within its limit: it may use something of unknown size, which is counted afterwards.
    pub fn is_within(&self, until_ns: u64, now_ns: u64) -> QuotaDecision {
        let most = now_ns.saturating_add(self.nanoseconds_of(self.burst));
        match Duration::from_nanos(until_ns.saturating_sub(most)) {
            Duration::ZERO => QuotaDecision::Allowed,
            wait => QuotaDecision::Refused(wait),
        }
    }
}
