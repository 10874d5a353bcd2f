//! Fields behind a head: trailers (RFC 9113, 8.1).
//!
//! Owns the rules for them, and for the form of every field. Never keeps one.

use crate::http::kept::check_form;
use crate::http::refusal::Reason;
use crate::http::response::{InvalidField, check_field};
use crate::limits::{RESPONSE_FIELD_COUNT, RESPONSE_TRAILER_SIZE};

/// Bytes that a field counts beside its text (RFC 9113, 6.5.2).
pub(super) const FIELD_OVERHEAD: usize = 32;

/// Whether a name is that of a pseudo-field.
#[inline(always)]
pub(super) fn is_pseudo(name: &[u8]) -> bool {
    name.first() == Some(&b':')
}

/// Checks a field that is not a pseudo-field, and returns its name.
pub(super) fn check<'v>(name: &'v [u8], value: &[u8]) -> Result<&'v str, Reason> {
    let name = str::from_utf8(name).map_err(|_| Reason::InvalidFieldName)?;
    check_form(name, value)?;
    match check_field(name, value) {
        Ok(()) => Ok(name),
        Err(InvalidField::Name) => Err(Reason::InvalidFieldName),
        Err(InvalidField::Value | InvalidField::Room) => Err(Reason::InvalidFieldValue),
    }
}

/// Reads trailers. Fields that nobody wants are checked all the same.
#[derive(Debug)]
pub struct TrailerFields {
    /// How many may still come.
    count: usize,
    bytes: usize,
    problem: Option<Reason>,
}

impl TrailerFields {
    /// A reader for one block of at most so many trailers, and so many bytes of them, those that each one costs
    /// included.
    pub fn within(count: usize, bytes: usize) -> Self {
        Self { count, bytes, problem: None }
    }

    /// A reader for those of an answer.
    pub fn of_answer() -> Self {
        Self::within(RESPONSE_FIELD_COUNT.into(), RESPONSE_TRAILER_SIZE as usize)
    }

    /// Takes a field, and returns it if all fields so far are valid.
    pub fn note<'v>(&mut self, name: &'v [u8], value: &'v [u8]) -> Option<(&'v str, &'v [u8])> {
        if self.problem.is_some() {
            return None;
        }
        match self.check(name, value) {
            Ok(name) => Some((name, value)),
            Err(problem) => {
                self.problem = Some(problem);
                None
            }
        }
    }

    fn check<'v>(&mut self, name: &'v [u8], value: &[u8]) -> Result<&'v str, Reason> {
        if is_pseudo(name) {
            return Err(Reason::PseudoFieldLate);
        }
        self.count = self.count.checked_sub(1).ok_or(Reason::TooManyFields)?;
        let bytes = name.len() + value.len() + FIELD_OVERHEAD;
        self.bytes = self.bytes.checked_sub(bytes).ok_or(Reason::TrailersTooLarge)?;
        check(name, value)
    }

    /// Ends the trailers.
    ///
    /// # Errors
    /// The rule that they break. A stream whose trailers do ends with the error PROTOCOL_ERROR, whatever the rule.
    pub fn finish(self) -> Result<(), Reason> {
        self.problem.map_or(Ok(()), Err)
    }
}
