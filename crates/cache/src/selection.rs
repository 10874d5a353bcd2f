//! The reply to a client from a stored answer: all of it, a range, or that it has it already (RFC 9111 section 4.3.2).
//!
//! Owns the choice. `wire` reads the fields.

use wire::http::conditional::{
    self, Precondition, Preconditions, RangeUse, SafeMethod, Validators,
};
use wire::http::date;
use wire::http::head::Fields;
use wire::http::range::{self, ByteRange, Ranges};

/// The reply to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The answer as it is stored.
    Whole,
    /// 304: it has it.
    NotModified,
    /// 206 with this part.
    Part(ByteRange),
    /// 416: the answer has no such part.
    Unsatisfied,
}

/// The choice for a request with these fields. `size`: the length of the stored body; `None`: it is not known yet, so
/// there are no ranges. Several ranges are answered with all of it, which RFC 9110 section 14.2 allows.
pub fn select(
    (status, answer): (u16, &Fields<'_, '_>),
    size: Option<usize>,
    (method, request): (SafeMethod, &Fields<'_, '_>),
    unix_s: u64,
) -> Selection {
    if status != 200 {
        return Selection::Whole;
    }
    let mut preconditions = Preconditions::default();
    for (name, value) in request.iter() {
        preconditions.note(name.as_bytes(), value);
    }
    let changed = answer.first("last-modified").and_then(date::parse);
    let etag = answer.first("etag").unwrap_or_default();
    let validators = Validators { etag, last_modified: changed.unwrap_or(0) };
    match conditional::evaluate(method, &preconditions, Some(&validators), unix_s) {
        Precondition::NotModified => Selection::NotModified,
        Precondition::Proceed { use_range: RangeUse::Apply } => {
            let (Some(field), Some(size)) = (preconditions.range, size) else {
                return Selection::Whole;
            };
            match range::evaluate(field, size as u64) {
                Ranges::One(range) => Selection::Part(range),
                Ranges::Unsatisfiable => Selection::Unsatisfied,
                Ranges::Whole | Ranges::Many(_) => Selection::Whole,
            }
        }
        // Preconditions that protect a change of a resource are not for caches, so nothing fails here.
        Precondition::Proceed { use_range: RangeUse::Ignore } | Precondition::Failed => {
            Selection::Whole
        }
    }
}
