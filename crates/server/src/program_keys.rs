//! Keys of programs: secrets of a file, with which a program may do everything.
//!
//! Owns the comparison, which takes the same time for every wrong key. Reads no file.

use std::fmt;

use ctutils::CtEq as _;
use http::Request;

/// The keys of programs. By default there are none.
#[derive(Clone, Default)]
pub(crate) struct ProgramKeys(Vec<Box<[u8]>>);

impl fmt::Debug for ProgramKeys {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ProgramKeys({})", self.0.len())
    }
}

impl ProgramKeys {
    /// These secrets.
    pub(crate) fn of(secrets: &[&str]) -> Self {
        Self(secrets.iter().map(|key| key.as_bytes().into()).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this is one of them.
    pub(crate) fn have(&self, shown: &[u8]) -> bool {
        // All keys are compared, each in constant time.
        self.0.iter().fold(false, |is, key| is | bool::from(shown.ct_eq(key)))
    }
}

/// The credential that a request shows with `Authorization: Bearer` (RFC 6750 section 2.1).
pub(crate) fn bearer_of<'r>(request: &Request<'r>) -> Option<&'r [u8]> {
    let field = request.field("authorization")?;
    let space = field.iter().position(|byte| *byte == b' ')?;
    let is_bearer = field[..space].eq_ignore_ascii_case(b"bearer");
    is_bearer.then(|| field[space..].trim_ascii())
}
