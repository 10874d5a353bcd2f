//! Patterns of paths: `/img/*.png`, `/docs/**`, `/**/*.css`.
//!
//! Owns their syntax and the comparison. `*` matches any characters within a segment, including
//! none. `**` matches whole segments: any number of them, or at least one at the end of a pattern.
//!
//! There is no backtracking: every piece between two wildcards is matched as early as possible,
//! which is correct because the wildcard before the next piece matches whatever follows. A
//! comparison visits each segment of the path at most once per segment of the pattern.

use std::ops::Range;

use crate::limits::{GLOB_SIZE_MAX, WILDCARDS_MAX};
use crate::request_path;

/// A pattern of paths.
#[derive(Debug, Clone, PartialEq)]
pub struct PathGlob {
    text: String,
    /// The segments between the `**`; one group more than there are `**`.
    groups: Vec<Group>,
    wildcards: usize,
}

/// Consecutive segments, and the number of the `**` after them.
#[derive(Debug, Clone, PartialEq, Default)]
struct Group {
    segments: Vec<Segment>,
    capture_after: usize,
}

/// One segment of a pattern: pieces of text with a `*` between every two.
#[derive(Debug, Clone, PartialEq)]
struct Segment {
    pieces: Vec<String>,
    /// The number of its first `*`, from 0.
    capture_first: usize,
}

/// Why a text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GlobError {
    /// It is not a request path; contains the reason, as the rest of a sentence.
    #[error("{0}")]
    NoPath(&'static str),
    /// It is longer than [`GLOB_SIZE_MAX`].
    #[error("it must be at most {GLOB_SIZE_MAX} bytes long")]
    TooLong,
    /// It has more than [`WILDCARDS_MAX`] wildcards.
    #[error("it must have at most {WILDCARDS_MAX} wildcards")]
    TooManyWildcards,
    /// `**` is next to other characters.
    #[error("`**` matches whole segments, as in \"/docs/**\" and \"/**/*.png\"")]
    DoubleStarWithin,
    /// `**` follows `**`.
    #[error("`**/**` means no more than `**`")]
    DoubleStarTwice,
    /// It contains a character that has a meaning in other kinds of patterns.
    #[error("`{0}` has no meaning here; only `*` and `**` have")]
    Meaningless(char),
}

/// The matches of the wildcards of a pattern: ranges of the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captures {
    ranges: [Range<usize>; WILDCARDS_MAX],
}

impl Captures {
    /// For no match: every capture is empty.
    pub fn none() -> Self {
        Self { ranges: std::array::from_fn(|_| 0..0) }
    }

    /// For a prefix: `$1` is the rest of the path.
    pub fn of_rest(rest: Range<usize>) -> Self {
        let mut captures = Self::none();
        captures.set(0, rest);
        captures
    }

    /// The part of `path` that the wildcard with this number, from 1, matched; empty if there is none.
    pub fn part<'p>(&self, number: usize, path: &'p str) -> &'p str {
        number
            .checked_sub(1)
            .and_then(|index| self.ranges.get(index))
            .and_then(|range| path.get(range.clone()))
            .unwrap_or_default()
    }

    fn set(&mut self, index: usize, range: Range<usize>) {
        if let Some(slot) = self.ranges.get_mut(index) {
            *slot = range;
        }
    }
}

impl PathGlob {
    /// Reads a pattern.
    ///
    /// # Errors
    ///
    /// If it is not a pattern.
    pub fn parse(text: &str) -> Result<Self, GlobError> {
        if text.len() > GLOB_SIZE_MAX {
            return Err(GlobError::TooLong);
        }
        if let Some(character) = text.chars().find(|character| "[]{}\\".contains(*character)) {
            return Err(GlobError::Meaningless(character));
        }
        request_path::check(text).map_err(GlobError::NoPath)?;
        let mut groups = Vec::new();
        let mut group = Group::default();
        let mut wildcards = 0;
        for segment in text.split('/').skip(1) {
            if segment == "**" {
                if group.segments.is_empty() && !groups.is_empty() {
                    return Err(GlobError::DoubleStarTwice);
                }
                group.capture_after = wildcards;
                wildcards += 1;
                groups.push(std::mem::take(&mut group));
                continue;
            }
            if segment.contains("**") {
                return Err(GlobError::DoubleStarWithin);
            }
            let pieces: Vec<String> = segment.split('*').map(str::to_owned).collect();
            let capture_first = wildcards;
            wildcards += pieces.len() - 1;
            group.segments.push(Segment { pieces, capture_first });
        }
        groups.push(group);
        if wildcards > WILDCARDS_MAX {
            return Err(GlobError::TooManyWildcards);
        }
        Ok(Self { text: text.to_owned(), groups, wildcards })
    }

    /// The text of the pattern.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The number of wildcards.
    pub fn wildcards(&self) -> usize {
        self.wildcards
    }

    /// Whether the pattern matches this path.
    pub fn is_match(&self, path: &str) -> bool {
        self.captures(path).is_some()
    }

    /// The matches of the wildcards in this path; `None` if the pattern does not match.
    pub fn captures(&self, path: &str) -> Option<Captures> {
        let mut captures = Captures::none();
        let mut rest = Rest::of(path)?;
        let (first, after_first) = self.groups.split_first()?;
        first.take_front(&mut rest, &mut captures)?;
        let Some((last, middle)) = after_first.split_last() else {
            return rest.segments.is_none().then_some(captures);
        };
        last.take_back(&mut rest, &mut captures)?;
        let mut before = first;
        for group in middle {
            let skipped = group.find(&mut rest, &mut captures)?;
            captures.set(before.capture_after, skipped);
            before = group;
        }
        if last.segments.is_empty() && rest.segments.is_none() {
            return None;
        }
        captures.set(before.capture_after, rest.segments.unwrap_or(0..0));
        Some(captures)
    }
}

impl Group {
    /// Matches the group at the front.
    fn take_front(&self, rest: &mut Rest<'_>, captures: &mut Captures) -> Option<()> {
        for segment in &self.segments {
            let range = rest.take_first()?;
            segment.compare(rest.path, range, captures)?;
        }
        Some(())
    }

    /// Matches the group at the back.
    fn take_back(&self, rest: &mut Rest<'_>, captures: &mut Captures) -> Option<()> {
        for segment in self.segments.iter().rev() {
            let range = rest.take_last()?;
            segment.compare(rest.path, range, captures)?;
        }
        Some(())
    }

    /// Matches the group where it is first found; returns what was skipped.
    fn find(&self, rest: &mut Rest<'_>, captures: &mut Captures) -> Option<Range<usize>> {
        let start = rest.segments.as_ref()?.start;
        let mut skipped = start..start;
        loop {
            let mut after = rest.clone();
            if self.take_front(&mut after, captures).is_some() {
                *rest = after;
                return Some(skipped);
            }
            skipped.end = rest.take_first()?.end;
        }
    }
}

impl Segment {
    /// Compares a segment of the path, and records the ranges of its stars.
    fn compare(&self, path: &str, range: Range<usize>, captures: &mut Captures) -> Option<()> {
        let text = path.get(range.clone())?;
        let (first, after_first) = self.pieces.split_first()?;
        let Some((last, middle)) = after_first.split_last() else {
            return (text == first).then_some(());
        };
        let text = text.strip_prefix(first.as_str())?.strip_suffix(last.as_str())?;
        let base = range.start + first.len();
        let mut cursor = 0;
        let mut number = self.capture_first;
        for piece in middle {
            let at = cursor + text.get(cursor..)?.find(piece.as_str())?;
            captures.set(number, base + cursor..base + at);
            number += 1;
            cursor = at + piece.len();
        }
        captures.set(number, base + cursor..base + text.len());
        Some(())
    }
}

/// The segments of a path that are not matched yet.
#[derive(Clone)]
struct Rest<'p> {
    path: &'p str,
    /// Their range, including slashes between them; `None` if there are none left.
    segments: Option<Range<usize>>,
}

impl<'p> Rest<'p> {
    fn of(path: &'p str) -> Option<Self> {
        path.starts_with('/').then_some(Self { path, segments: Some(1..path.len()) })
    }

    fn take_first(&mut self) -> Option<Range<usize>> {
        let all = self.segments.take()?;
        let text = self.path.as_bytes().get(all.clone())?;
        let Some(slash) = memchr::memchr(b'/', text) else { return Some(all) };
        let slash = all.start + slash;
        self.segments = Some(slash + 1..all.end);
        Some(all.start..slash)
    }

    fn take_last(&mut self) -> Option<Range<usize>> {
        let all = self.segments.take()?;
        let text = self.path.as_bytes().get(all.clone())?;
        let Some(slash) = memchr::memrchr(b'/', text) else { return Some(all) };
        let slash = all.start + slash;
        self.segments = Some(all.start..slash);
        Some(slash + 1..all.end)
    }
}
