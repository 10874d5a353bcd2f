//! Whether a stored answer is used for a request (RFC 9111 section 4).
//!
//! Owns the conditions apart from the key. Never finds an answer.

use wire::http::head::Fields;

use crate::control::Wishes;
use crate::freshness::{Basis, Freshness};
use crate::rules::RequestDirectives;
use crate::storing::StorageTerms;
use crate::time::Time;

/// How a stored answer is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// At once.
    Fresh,
    /// At once, while it is validated (RFC 5861 section 3).
    WhileValidated,
    /// After a validation.
    Validated,
}

/// How an answer of this freshness is used for a request. One that has waited for the fetch of another request is no
/// exception: what has to be validated for each request (RFC 9111 section 5.2.2.4) was perhaps made for that one.
pub(crate) fn use_of(freshness: &Freshness, wishes: &Wishes, now: Time) -> Use {
    let age_s = freshness.age_s(now);
    let is_too_old = wishes.max_age.is_some_and(|most| age_s > most);
    if freshness.is_checked_always || wishes.no_cache || is_too_old {
        return Use::Validated;
    }
    if freshness.is_fresh(now) {
        let left_s = freshness.lifetime_s.saturating_sub(age_s);
        let is_enough = wishes.min_fresh.is_none_or(|least| left_s >= least);
        return if is_enough { Use::Fresh } else { Use::Validated };
    }
    let staleness_s = freshness.staleness_s(now);
    if !freshness.is_strict && wishes.max_stale.is_some_and(|most| staleness_s <= most) {
        return Use::Fresh;
    }
    if staleness_s < freshness.while_revalidate_s { Use::WhileValidated } else { Use::Validated }
}

/// The directives of a request that count.
pub(crate) fn wishes_of(request: &Fields<'_, '_>, directives: RequestDirectives) -> Wishes {
    match directives {
        RequestDirectives::Obeyed => Wishes::of(request),
        RequestDirectives::Ignored => Wishes::default(),
    }
}

/// The credentials that a request shows of its sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Credentials {
    /// It has `Authorization`.
    pub authorization: bool,
    /// It has cookies.
    pub cookie: bool,
}

impl Credentials {
    /// The credentials that a request with these fields shows.
    pub fn of(request: &Fields<'_, '_>) -> Self {
        Self { authorization: request.has("authorization"), cookie: request.has("cookie") }
    }

    /// Whether they say more than others do.
    pub(crate) fn exceed(self, others: Self) -> bool {
        self.authorization && !others.authorization || self.cookie && !others.cookie
    }
}

/// Whether an answer that is stored on these terms may be for a request with these credentials. One that is fresh by
/// assumption alone is for clients without cookies: the server may have answered another one differently, and not have
/// said so.
pub fn may_answer(terms: &StorageTerms, shown: Credentials) -> bool {
    let is_for_user = !shown.authorization || terms.is_for_all;
    is_for_user && !(shown.cookie && terms.freshness.basis == Basis::Assumed)
}
