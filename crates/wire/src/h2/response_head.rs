//! The head of a response, from the fields of its block, as a client reads it (RFC 9113, 8.3.2).
//!
//! Owns its pseudo-field, its content-length and its bounds. Never keeps a field: a caller that wants them gets each as
//! it comes.

use super::fields::{FIELD_OVERHEAD, check, is_pseudo};
use crate::http::head::meaning::parse_length;
use crate::http::refusal::Reason;
use crate::limits::{RESPONSE_FIELD_COUNT, RESPONSE_HEAD_SIZE};

/// A response that is malformed: a stream error of the type PROTOCOL_ERROR (RFC 9113, 8.1.1). The server is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedResponse {
    /// It has no `:status`.
    #[error("a response without :status")]
    NoStatus,
    /// Its `:status` is not three digits from 100.
    #[error("a :status that is not a number of three digits")]
    Status,
    /// 101, which HTTP/2 does not have (8.6).
    #[error("status 101, which HTTP/2 does not have")]
    SwitchingProtocols,
    /// A field breaks a rule.
    #[error("a response with a wrong field: {}", .0.text())]
    Field(Reason),
}

/// A head that is in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct H2ResponseHead {
    /// The status, 100 to 999.
    pub status: u16,
    /// Bytes of the content, if the server says how many.
    pub length: Option<u64>,
}

/// Reads the head of one response.
#[derive(Debug, Default)]
pub struct ResponseFields {
    status: Option<u16>,
    length: Option<u64>,
    is_behind_pseudo: bool,
    count: usize,
    bytes: usize,
    problem: Option<MalformedResponse>,
}

impl ResponseFields {
    /// A reader for one head.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a field, and returns it if it is not a pseudo-field and all fields so far are valid.
    pub fn note<'v>(&mut self, name: &'v [u8], value: &'v [u8]) -> Option<(&'v str, &'v [u8])> {
        if self.problem.is_some() {
            return None;
        }
        match self.read(name, value) {
            Ok(name) => name.map(|name| (name, value)),
            Err(problem) => {
                self.problem = Some(problem);
                None
            }
        }
    }

    fn read<'v>(
        &mut self,
        name: &'v [u8],
        value: &[u8],
    ) -> Result<Option<&'v str>, MalformedResponse> {
        if is_pseudo(name) {
            self.read_pseudo(name, value)?;
            return Ok(None);
        }
        self.is_behind_pseudo = true;
        let name = self.check(name, value).map_err(MalformedResponse::Field)?;
        Ok(Some(name))
    }

    fn check<'v>(&mut self, name: &'v [u8], value: &[u8]) -> Result<&'v str, Reason> {
        self.count += 1;
        self.bytes += name.len() + value.len() + FIELD_OVERHEAD;
        if self.count > usize::from(RESPONSE_FIELD_COUNT) {
            return Err(Reason::TooManyFields);
        }
        if self.bytes > usize::from(RESPONSE_HEAD_SIZE) {
            return Err(Reason::HeadTooLarge);
        }
        let name = check(name, value)?;
        if name == "content-length" {
            let length = parse_length(value).ok_or(Reason::InvalidContentLength)?;
            if self.length.replace(length).is_some_and(|known| known != length) {
                return Err(Reason::DuplicateContentLength);
            }
        }
        Ok(name)
    }

    fn read_pseudo(&mut self, name: &[u8], value: &[u8]) -> Result<(), MalformedResponse> {
        let wrong = |reason| Err(MalformedResponse::Field(reason));
        if name != b":status" {
            return wrong(Reason::PseudoFieldUnknown);
        }
        if self.is_behind_pseudo {
            return wrong(Reason::PseudoFieldLate);
        }
        let [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] = value else {
            return Err(MalformedResponse::Status);
        };
        let [a, b, c] = [a, b, c].map(|digit| u16::from(digit - b'0'));
        if self.status.replace(a * 100 + b * 10 + c).is_some() {
            return wrong(Reason::PseudoFieldDuplicate);
        }
        Ok(())
    }

    /// Ends the head.
    ///
    /// # Errors
    /// If it is malformed.
    pub fn finish(self) -> Result<H2ResponseHead, MalformedResponse> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        match self.status {
            None => Err(MalformedResponse::NoStatus),
            Some(101) => Err(MalformedResponse::SwitchingProtocols),
            Some(status) => Ok(H2ResponseHead { status, length: self.length }),
        }
    }
}
