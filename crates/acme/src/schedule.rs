//! The schedule of one certificate: from facts to what is to be done, and when.
//!
//! Owns when a certificate is ordered and which issuer is asked. Pure: no clock, no I/O, no memory of its own. What
//! the limits of authorities allow is in `ledger`, which passes it in as one moment.

use crate::limits::{
    FAILURES_PER_ISSUER, RENEWAL_LEFT, RENEWAL_LEFT_LEAST, RETRY_FIRST_S, RETRY_LAST_S,
};
use crate::moment::{Fraction, UtcSecond};

/// The time for which a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// Its first second.
    pub not_before: UtcSecond,
    /// Its last second.
    pub not_after: UtcSecond,
}

impl Life {
    /// When a share of the life is left: a third for 3. A life that ends before it begins has no length.
    pub(crate) fn when_left(self, share: i64) -> UtcSecond {
        let seconds = self.not_after.since(self.not_before).max(0);
        self.not_after.plus(-(seconds / share))
    }
}

/// The time in which an authority wants a certificate to be renewed (RFC 9773 section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RenewalWindow {
    /// Its first second.
    pub start: UtcSecond,
    /// Its last second.
    pub end: UtcSecond,
}

/// The facts that are known about a certificate.
#[derive(Clone, Copy, Debug)]
pub struct CertificateFacts {
    /// The life of the one in use, if there is one.
    pub life: Option<Life>,
    /// The window that its authority names.
    pub window: Option<RenewalWindow>,
    /// The place of this certificate in the window. It must stay the same for the same certificate.
    pub spread: Fraction,
    /// When to try again, after a failure.
    pub retry_at: Option<UtcSecond>,
    /// When the limits of authorities allow an order (`Ledger::allowed_at`).
    pub allowed_at: UtcSecond,
}

/// Why an order is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderReason {
    /// There is no certificate.
    Missing,
    /// A third of its life is left.
    Renewal,
    /// Its authority asked for it.
    Authority,
}

/// The plan: an order at this time, or at once if it has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenewalPlan {
    /// When.
    pub at: UtcSecond,
    /// Why.
    pub reason: OrderReason,
}

/// When to order a certificate. The answer depends on the clock through `allowed_at` alone, so it may be asked at any
/// time.
pub fn plan(facts: &CertificateFacts) -> RenewalPlan {
    let (due, reason) = match facts.life {
        None => (facts.allowed_at, OrderReason::Missing),
        Some(life) => due(life, facts.window, facts.spread),
    };
    let retry_at = facts.retry_at.unwrap_or(due);
    RenewalPlan { at: due.max(retry_at).max(facts.allowed_at), reason }
}

/// When a certificate is to be renewed. An authority's window counts, because the authority spreads its load and may
/// have to revoke; but no window makes the time for retries shorter than a sixth of the life. A window that ends
/// before it begins is none.
fn due(life: Life, window: Option<RenewalWindow>, spread: Fraction) -> (UtcSecond, OrderReason) {
    match window.filter(|window| window.start <= window.end) {
        None => (life.when_left(RENEWAL_LEFT), OrderReason::Renewal),
        Some(window) => {
            let chosen = window.start.plus(spread.of(window.end.since(window.start)));
            let latest = life.when_left(RENEWAL_LEFT_LEAST);
            let reason =
                if chosen <= latest { OrderReason::Authority } else { OrderReason::Renewal };
            (chosen.min(latest), reason)
        }
    }
}

/// Seconds to wait after so many failures in a row (at least one): from a minute, doubled each time, to six hours. A
/// quarter is jitter, so that servers that failed together do not return together.
pub fn retry_delay_s(failures: u32, jitter: Fraction) -> i64 {
    let doubled = RETRY_FIRST_S.saturating_mul(1 << failures.saturating_sub(1).min(16));
    let base = doubled.min(RETRY_LAST_S / 5 * 4);
    base + jitter.of(base / 4)
}

/// Which issuer is asked, by its index, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The index of the issuer.
    pub issuer: usize,
    /// When it may be asked.
    pub at: UtcSecond,
}

/// The issuer whose turn it is after so many failures in a row. One that asked to be left alone (`held`, by index) is
/// passed over; if all did, it is the one that may be asked first.
///
/// # Panics
/// If there is no issuer.
pub fn issuer_in_turn(failures: u32, held: &[Option<UtcSecond>], now: UtcSecond) -> Turn {
    assert!(!held.is_empty(), "the settings name an issuer");
    let first = usize::try_from(failures / FAILURES_PER_ISSUER).unwrap_or(0) % held.len();
    let turns = (0..held.len()).map(|step| (first + step) % held.len());
    let free_at = |issuer: &usize| held[*issuer].unwrap_or(now).max(now);
    // The first of equals is taken, so the order of turns holds among issuers that may be asked.
    let issuer = turns.min_by_key(free_at).expect("there is at least one issuer");
    Turn { issuer, at: free_at(&issuer) }
}
