//! Whether an answer is stored (RFC 9111 section 3).
//!
//! Owns the conditions, in the order of the RFC, and those of this cache: it is shared, and its clients are strangers
//! to each other. Never stores.

use wire::http::head::Fields;

use crate::answer_head::AnswerHead;
use crate::control::{Control, Wishes};
use crate::freshness::{AccelExpires, Basis, Freshness};
use crate::rules::{CacheRules, RequestDirectives, SetCookie};
use crate::time::Time;
use crate::vary::{Variant, Vary};

/// The terms on which an answer is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageTerms {
    /// How long it is used.
    pub freshness: Freshness,
    /// The requests that it is for.
    pub variant: Variant,
    /// Whether requests with `Authorization` may have it.
    pub is_for_all: bool,
}

/// Why an answer is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStored {
    /// Its status is no final one, or its body is only a part.
    Status,
    /// `no-store`.
    NoStore,
    /// `private`.
    Private,
    /// The request had `Authorization`, and the answer does not say that it is for others too.
    Authorization,
    /// It sets a cookie.
    SetCookie,
    /// `Vary: *`, or too many names.
    Vary,
    /// It says nothing of its freshness.
    Unsaid,
    /// It is never fresh, and cannot be validated.
    Useless,
    /// The rules assume its freshness, but the request had cookies.
    Cookie,
    /// Its end cannot be told from a cut.
    Unmeasured,
    /// Its body is too long.
    Length,
}

impl NotStored {
    /// Whether answers to other requests for the same URI will not be stored either, as far as is known.
    pub fn is_of_uri(self) -> bool {
        !matches!(self, Self::Authorization | Self::Cookie)
    }
}

/// The statuses that a cache may assume to be fresh (RFC 9110 section 15.1), without 206.
const ASSUMED: [u16; 11] = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501];

/// The statuses whose rules this cache knows (RFC 9111 section 5.2.2.3).
const UNDERSTOOD: [u16; 14] =
    [200, 203, 204, 300, 301, 302, 303, 307, 308, 404, 405, 410, 414, 501];

/// Whether an answer to a request with these fields is stored.
///
/// # Errors
/// If it is not.
pub fn judge(
    answer: &AnswerHead<'_>,
    request: &Fields<'_, '_>,
    rules: &CacheRules,
    (asked, heard): (Time, Time),
) -> Result<StorageTerms, NotStored> {
    let control = Control::of(&answer.fields);
    if !matches!(answer.status, 200..=599) || matches!(answer.status, 206 | 304) {
        return Err(NotStored::Status);
    }
    if answer.fields.has("content-range") {
        return Err(NotStored::Status);
    }
    let is_understood = UNDERSTOOD.contains(&answer.status);
    if control.must_understand && !is_understood {
        return Err(NotStored::Status);
    }
    let wishes_no_store =
        rules.directives == RequestDirectives::Obeyed && Wishes::of(request).no_store;
    let is_never = AccelExpires::of(&answer.fields) == Some(AccelExpires::Never);
    if wishes_no_store || is_never || control.no_store && !control.must_understand {
        return Err(NotStored::NoStore);
    }
    if control.private {
        return Err(NotStored::Private);
    }
    if request.has("authorization") && !control.is_for_all() {
        return Err(NotStored::Authorization);
    }
    if rules.set_cookie == SetCookie::Refuse && answer.fields.has("set-cookie") {
        return Err(NotStored::SetCookie);
    }
    check_length(answer, rules)?;
    let Vary::By(names) = Vary::of(&answer.fields, rules.key) else { return Err(NotStored::Vary) };
    let freshness =
        Freshness::of(answer, &control, rules, (asked, heard)).ok_or(NotStored::Unsaid)?;
    if freshness.basis == Basis::Assumed {
        if !ASSUMED.contains(&answer.status) {
            return Err(NotStored::Unsaid);
        }
        if request.has("cookie") {
            return Err(NotStored::Cookie);
        }
    }
    let can_be_validated =
        answer.status == 200 && (answer.fields.has("etag") || answer.fields.has("last-modified"));
    if !freshness.is_of_use(heard) && !can_be_validated {
        return Err(NotStored::Useless);
    }
    let variant = Variant::of(names, request);
    Ok(StorageTerms { freshness, variant, is_for_all: control.is_for_all() })
}

/// A body that lasts until its connection closes may have been cut.
fn check_length(answer: &AnswerHead<'_>, rules: &CacheRules) -> Result<(), NotStored> {
    if answer.status == 204 || answer.fields.has("transfer-encoding") {
        return Ok(());
    }
    let length = answer.fields.first("content-length").ok_or(NotStored::Unmeasured)?;
    // Equal values may be repeated.
    let digits = length.split(|byte| *byte == b',').next().unwrap_or_default();
    let length: Option<usize> =
        str::from_utf8(digits.trim_ascii()).ok().and_then(|it| it.parse().ok());
    match length {
        Some(length) if length <= rules.longest() => Ok(()),
        Some(_) => Err(NotStored::Length),
        None => Err(NotStored::Unmeasured),
    }
}
