//! Conditional requests (RFC 9110 section 13): whether to answer, and whether with a range.
//!
//! Owns the five precondition fields, their order, and the entity tags of files. Never reads a
//! clock, never finds a representation. RFC 9110 section 13.2.1: ask only when the answer without
//! preconditions would be 2xx or 412.

use sha1::{Digest, Sha1};

use super::date;
use super::encoding::Coding;
use crate::escape::{hex_high, hex_low};
use crate::limits::{ETAG_DIGEST_BYTES, LAST_MODIFIED_STRONG_AFTER_S, TAG_LINES_MAXIMUM};

/// The methods, as far as preconditions distinguish them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SafeMethod {
    /// GET: all five fields apply, and `Range`.
    Get,
    /// HEAD: as GET without `Range` (RFC 9110 section 14.2).
    Head,
    /// Any other: instead of a 304 the answer is a 412, and `If-Modified-Since` and `Range` are ignored.
    Other,
}

/// The validators of the selected representation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validators<'a> {
    /// The entity tag with its quotes, and `W/` before a weak one. Empty if there is none: then only `*` matches.
    pub etag: &'a [u8],
    /// Unix seconds. 0 if there is none: then the fields with a date are ignored.
    pub last_modified: u64,
}

/// The values of all lines of `If-Match` or `If-None-Match`, borrowed from the request.
///
/// RFC 9110 section 5.3: several lines mean the same as one line with all their members.
#[derive(Clone, Copy, Debug, Default)]
pub struct TagLines<'a> {
    lines: [&'a [u8]; TAG_LINES_MAXIMUM],
    count: usize,
    overflow: Overflow,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Overflow {
    #[default]
    No,
    Yes,
}

impl<'a> TagLines<'a> {
    /// Adds the value of one more line. Beyond [`TAG_LINES_MAXIMUM`] lines it only records that there were
    /// more.
    pub fn push(&mut self, line: &'a [u8]) {
        match self.lines.get_mut(self.count) {
            Some(place) => {
                *place = line;
                self.count += 1;
            }
            None => self.overflow = Overflow::Yes,
        }
    }

    /// Whether the request lacks the field.
    pub const fn is_absent(&self) -> bool {
        self.count == 0
    }

    /// Whether `matches` is true for a member, or a line is `*`.
    fn any(&self, matches: impl Fn(EntityTag<'_>) -> bool) -> bool {
        self.lines
            .iter()
            .take(self.count)
            .any(|line| line.trim_ascii() == b"*" || EntityTags { rest: line }.any(&matches))
    }
}

impl<'a> From<Option<&'a [u8]>> for TagLines<'a> {
    fn from(line: Option<&'a [u8]>) -> Self {
        line.into_iter().collect()
    }
}

impl<'a> FromIterator<&'a [u8]> for TagLines<'a> {
    fn from_iter<I: IntoIterator<Item = &'a [u8]>>(lines: I) -> Self {
        let mut all = Self::default();
        for line in lines {
            all.push(line);
        }
        all
    }
}

/// The values of the precondition fields of a request, and of `Range`.
///
/// Starts empty. Fill it by calling [`note`](Self::note) with every field of the request, or set the fields
/// directly.
#[derive(Clone, Copy, Debug, Default)]
pub struct Preconditions<'a> {
    /// RFC 9110 section 13.1.1.
    pub if_match: TagLines<'a>,
    /// RFC 9110 section 13.1.4.
    pub if_unmodified_since: Option<&'a [u8]>,
    /// RFC 9110 section 13.1.2.
    pub if_none_match: TagLines<'a>,
    /// RFC 9110 section 13.1.3.
    pub if_modified_since: Option<&'a [u8]>,
    /// RFC 9110 section 13.1.5.
    pub if_range: Option<&'a [u8]>,
    /// RFC 9110 section 14.2; only its presence counts here.
    pub range: Option<&'a [u8]>,
}

impl<'a> Preconditions<'a> {
    /// Takes a field of the request if it is one of the six. The name may be in any case.
    ///
    /// A second line of a field with a single value makes that value empty, which is malformed and
    /// therefore ignored, like the two values joined by a comma.
    pub fn note(&mut self, name: &[u8], value: &'a [u8]) {
        let is = |wanted: &[u8]| name.eq_ignore_ascii_case(wanted);
        let single = match name.len() {
            5 if is(b"range") => &mut self.range,
            8 if is(b"if-match") => return self.if_match.push(value),
            8 if is(b"if-range") => &mut self.if_range,
            13 if is(b"if-none-match") => return self.if_none_match.push(value),
            17 if is(b"if-modified-since") => &mut self.if_modified_since,
            19 if is(b"if-unmodified-since") => &mut self.if_unmodified_since,
            _ => return,
        };
        *single = Some(if single.is_some() { b"" } else { value });
    }
}

/// The result of the preconditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Do what the method says.
    Proceed {
        /// Whether the `Range` field may be used.
        use_range: RangeUse,
    },
    /// 304.
    NotModified,
    /// 412.
    Failed,
}

/// Whether the `Range` field may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeUse {
    /// Pass its value to `range::evaluate`.
    Apply,
    /// There is none, or it must be ignored: answer with the whole representation.
    Ignore,
}

/// Evaluates the preconditions in the order of RFC 9110 section 13.2.2.
///
/// `validators` is None when there is no representation; `now` is in unix seconds.
pub fn evaluate(
    method: SafeMethod,
    preconditions: &Preconditions<'_>,
    validators: Option<&Validators<'_>>,
    now: u64,
) -> Precondition {
    if !may_act(preconditions, validators) {
        return Precondition::Failed;
    }
    if !is_wanted(method, preconditions, validators) {
        return match method {
            SafeMethod::Get | SafeMethod::Head => Precondition::NotModified,
            SafeMethod::Other => Precondition::Failed,
        };
    }
    Precondition::Proceed { use_range: range_use(method, preconditions, validators, now) }
}

/// Steps 1 and 2: `If-Match`, or else `If-Unmodified-Since`.
fn may_act(preconditions: &Preconditions<'_>, validators: Option<&Validators<'_>>) -> bool {
    let Some(validators) = validators else { return preconditions.if_match.is_absent() };
    if !preconditions.if_match.is_absent() {
        return preconditions.if_match.any(|tag| tag.matches_strongly(validators.etag));
    }
    match modified_after(preconditions.if_unmodified_since, validators) {
        Some(Modified::After) => false,
        Some(Modified::NotAfter) | None => true,
    }
}

/// Steps 3 and 4: `If-None-Match`, or else `If-Modified-Since`.
fn is_wanted(
    method: SafeMethod,
    preconditions: &Preconditions<'_>,
    validators: Option<&Validators<'_>>,
) -> bool {
    let Some(validators) = validators else { return true };
    let tags = &preconditions.if_none_match;
    if !tags.is_absent() {
        let unread_could_match = tags.overflow == Overflow::Yes && method == SafeMethod::Other;
        return !unread_could_match && !tags.any(|tag| tag.matches_weakly(validators.etag));
    }
    if method == SafeMethod::Other {
        return true;
    }
    match modified_after(preconditions.if_modified_since, validators) {
        Some(Modified::NotAfter) => false,
        Some(Modified::After) | None => true,
    }
}

/// Step 5: `Range` with `If-Range`.
fn range_use(
    method: SafeMethod,
    preconditions: &Preconditions<'_>,
    validators: Option<&Validators<'_>>,
    now: u64,
) -> RangeUse {
    let (SafeMethod::Get, Some(_), Some(validators)) = (method, preconditions.range, validators)
    else {
        return RangeUse::Ignore;
    };
    match preconditions.if_range {
        Some(condition) if !is_unchanged(condition, validators, now) => RangeUse::Ignore,
        Some(_) | None => RangeUse::Apply,
    }
}

/// RFC 9110 section 13.1.5: a strong tag that matches strongly, or exactly our date if it is a
/// strong validator.
fn is_unchanged(condition: &[u8], validators: &Validators<'_>, now: u64) -> bool {
    let mut tags = EntityTags { rest: condition };
    if let Some(tag) = tags.next() {
        return tags.rest.is_empty() && tag.matches_strongly(validators.etag);
    }
    let age = now.checked_sub(validators.last_modified);
    validators.last_modified != 0
        && date::parse(condition) == Some(validators.last_modified)
        && age.is_some_and(|age| age >= LAST_MODIFIED_STRONG_AFTER_S)
}

enum Modified {
    After,
    NotAfter,
}

/// `None` if the field is absent or not a date, or the representation has no date: the field is then
/// ignored.
fn modified_after(field: Option<&[u8]>, validators: &Validators<'_>) -> Option<Modified> {
    let date = date::parse(field?)?;
    match validators.last_modified {
        0 => None,
        modified if modified > date => Some(Modified::After),
        _ => Some(Modified::NotAfter),
    }
}

/// `[ "W/" ] opaque-tag` (RFC 9110 section 8.8.3).
#[derive(Clone, Copy)]
struct EntityTag<'a> {
    strength: Strength,
    /// Including its quotes.
    opaque: &'a [u8],
}

/// The meaning of an equal tag (RFC 9110 section 8.8.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// The same bytes.
    Strong,
    /// Perhaps not the same bytes, so a range of them cannot be added to those from before.
    Weak,
}

impl<'a> EntityTag<'a> {
    /// Takes a tag from the start of `text`. `W` is case-sensitive.
    fn take(text: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (strength, text) = match text.strip_prefix(b"W/") {
            Some(rest) => (Strength::Weak, rest),
            None => (Strength::Strong, text),
        };
        let inside = text.strip_prefix(b"\"")?;
        let length = memchr::memchr(b'"', inside)? + 2;
        let (opaque, rest) = text.split_at_checked(length)?;
        Some((Self { strength, opaque }, rest))
    }

    /// RFC 9110 section 8.8.3.2.
    fn matches_strongly(self, ours: &[u8]) -> bool {
        self.strength == Strength::Strong && self.opaque == ours
    }

    /// RFC 9110 section 8.8.3.2.
    fn matches_weakly(self, ours: &[u8]) -> bool {
        self.opaque == ours.strip_prefix(b"W/").unwrap_or(ours)
    }
}

/// The members of a line. A malformed member ends the list; the members before it count.
struct EntityTags<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for EntityTags<'a> {
    type Item = EntityTag<'a>;

    fn next(&mut self) -> Option<EntityTag<'a>> {
        while let [b' ' | b'\t' | b',', rest @ ..] = self.rest {
            self.rest = rest;
        }
        let (tag, rest) = EntityTag::take(self.rest)?;
        let rest = rest.trim_ascii_start();
        // Two tags without a comma between them are not a list.
        self.rest = if matches!(rest, [] | [b',', ..]) { rest } else { b"" };
        Some(tag)
    }
}

/// Writes the entity tag of a representation, as in `"5f3c0a1b2c3d4e5f6a7b8c9d-gzip"`: a digest of what tells it from
/// others.
///
/// The facts do not appear in the tag: an inode number in it would help an attacker (CVE-2003-1418). Each coding has
/// its own tag, because its bytes differ (RFC 9110 section 8.8.3.3).
pub fn write_etag(out: &mut Vec<u8>, strength: Strength, facts: &[&[u8]], coding: Coding) {
    let mut digest = Sha1::new();
    for fact in facts {
        digest.update((fact.len() as u64).to_le_bytes());
        digest.update(fact);
    }
    if strength == Strength::Weak {
        out.extend_from_slice(b"W/");
    }
    out.push(b'"');
    for byte in digest.finalize().iter().take(ETAG_DIGEST_BYTES) {
        out.extend_from_slice(&[hex_high(*byte), hex_low(*byte)]);
    }
    if coding != Coding::Identity {
        out.push(b'-');
        out.extend_from_slice(coding.token().as_bytes());
    }
    out.push(b'"');
}
