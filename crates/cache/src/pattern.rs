//! The pattern of a purge: a path, or everything that begins with one.
//!
//! Owns how a pattern is written and compared. Paths are compared without their percent-encoding, so that no spelling
//! of a path survives its purge.

use std::fmt;
use std::hash::{DefaultHasher, Hasher};

use crate::key::AnswerKey;
use crate::limits::PATTERN_SIZE;

/// `PATH`, `PREFIX*`, or one of these behind a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgePattern {
    host: Option<Box<str>>,
    path: Box<str>,
    reach: Reach,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// This path with any query, or this path and query.
    One,
    /// Everything that begins so.
    Prefix,
}

/// Why a text is no pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It has no path.
    #[error("it has no path; write /path, /prefix* or host/path")]
    NoPath,
    /// It is too long.
    #[error("it is too long")]
    Length,
    /// It has an asterisk that is not at its end, or a byte that no URI has.
    #[error("write it as in a URL, percent-encoded, and `*` only at its end")]
    Byte,
}

impl fmt::Display for PurgePattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.reach == Reach::Prefix { "*" } else { "" };
        write!(out, "{}{}{end}", self.host.as_deref().unwrap_or_default(), self.path)
    }
}

impl PurgePattern {
    /// Everything.
    pub fn everything() -> Self {
        Self { host: None, path: "/".into(), reach: Reach::Prefix }
    }

    /// Reads one.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        if text.len() > PATTERN_SIZE {
            return Err(PatternError::Length);
        }
        let (text, reach) = match text.strip_suffix('*') {
            Some(prefix) => (prefix, Reach::Prefix),
            None => (text, Reach::One),
        };
        if text.contains('*') || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(PatternError::Byte);
        }
        if text.is_empty() && reach == Reach::Prefix {
            return Ok(Self::everything());
        }
        let at = text.find('/').ok_or(PatternError::NoPath)?;
        let (host, path) = text.split_at(at);
        let host = (!host.is_empty()).then(|| host.to_ascii_lowercase().into_boxed_str());
        Ok(Self { host, path: path.into(), reach })
    }

    /// Whether it includes every key.
    pub(crate) fn is_everything(&self) -> bool {
        *self == Self::everything()
    }

    /// Whether it may include keys whose path has this [mark](path_mark).
    pub(crate) fn may_include(&self, mark: u64) -> bool {
        self.reach == Reach::Prefix || path_mark(&self.path) == mark
    }

    /// Whether it includes this key.
    pub fn includes(&self, key: &AnswerKey) -> bool {
        if self.host.as_deref().is_some_and(|host| host != key.host()) {
            return false;
        }
        let target = key.target();
        match self.reach {
            Reach::Prefix => {
                let mut rest = decoded(target);
                decoded(&self.path).all(|byte| rest.next() == Some(byte))
            }
            Reach::One => {
                let path = target.split('?').next().unwrap_or_default();
                let compared = if self.path.contains('?') { target } else { path };
                decoded(compared).eq(decoded(&self.path))
            }
        }
    }
}

/// A number of the path of a target, the same for all spellings and with any query.
pub(crate) fn path_mark(target: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    decoded(target.split('?').next().unwrap_or_default()).for_each(|byte| hasher.write_u8(byte));
    hasher.finish()
}

/// A text without its percent-encoding.
fn decoded(text: &str) -> impl Iterator<Item = u8> + '_ {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let byte = *bytes.get(at)?;
        let code = (byte == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        let is_code = |code: &&str| code.bytes().all(|byte| byte.is_ascii_hexdigit());
        match code.filter(is_code).and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(code) => {
                at += 3;
                Some(code)
            }
            None => {
                at += 1;
                Some(byte)
            }
        }
    })
}
