//! The methods this server knows.
//!
//! Owns the list and what a method outside it is answered with. Never looks at the rest of a request.

use super::head::Stop;
use super::head::scan;
use super::refusal::Reason;
use crate::limits::METHOD_SIZE;

/// A method of RFC 9110, 9.3 or RFC 5789 that can be asked of a resource here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// `GET`.
    Get,
    /// `HEAD`.
    Head,
    /// `POST`.
    Post,
    /// `PUT`.
    Put,
    /// `DELETE`.
    Delete,
    /// `OPTIONS`.
    Options,
    /// `PATCH`.
    Patch,
}

impl Method {
    /// All of them, as a field lists methods.
    pub const LIST: &'static str = "GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH";

    /// The method as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Delete => "DELETE",
            Method::Options => "OPTIONS",
            Method::Patch => "PATCH",
        }
    }

    /// Reads a method and the blank after it at the start of `input`; gives the index behind the blank.
    #[inline(always)]
    pub(super) fn read(input: &[u8], at: usize) -> Result<(Method, usize), Stop> {
        let rest = input.get(at..).unwrap_or_default();
        if rest.starts_with(b"GET ") {
            return Ok((Method::Get, at + 4));
        }
        Method::read_any(rest).map(|(method, length)| (method, at + length))
    }

    #[inline(never)]
    fn read_any(input: &[u8]) -> Result<(Method, usize), Stop> {
        let length = scan::token(input, 0);
        if length > METHOD_SIZE {
            return Err(Reason::MethodTooLong.into());
        }
        match input.get(length) {
            None => return Err(Stop::Partial),
            Some(b' ') if length > 0 => {}
            Some(b'\n') => return Err(Reason::BareLineFeed.into()),
            Some(_) => return Err(Reason::InvalidMethod.into()),
        }
        let method = match input.get(..length).unwrap_or_default() {
            b"GET" => Method::Get,
            b"HEAD" => Method::Head,
            b"POST" => Method::Post,
            b"PUT" => Method::Put,
            b"DELETE" => Method::Delete,
            b"OPTIONS" => Method::Options,
            b"PATCH" => Method::Patch,
            b"TRACE" | b"CONNECT" => return Err(Reason::MethodNotAllowed.into()),
            _ => return Err(Reason::MethodUnknown.into()),
        };
        Ok((method, length + 1))
    }
}
