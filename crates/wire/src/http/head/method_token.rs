//! The method of a request line.
//!
//! Owns what a method outside the list is answered with. Never looks at the rest of a request.

use super::{Stop, scan};
use crate::http::method::Method;
use crate::http::refusal::Reason;
use crate::limits::METHOD_SIZE;

/// Reads a method and the blank after it at the start of `input`, and returns the rest.
#[inline(always)]
pub(super) fn read(input: &[u8]) -> Result<(Method, &[u8]), Stop> {
    if let Some(rest) = input.strip_prefix(b"GET ") {
        return Ok((Method::Get, rest));
    }
    let (method, length) = read_any(input)?;
    Ok((method, input.get(length..).unwrap_or_default()))
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
    Ok((named(input.get(..length).unwrap_or_default())?, length + 1))
}

/// The method with this name.
pub(crate) fn named(token: &[u8]) -> Result<Method, Reason> {
    Ok(match token {
        b"GET" => Method::Get,
        b"HEAD" => Method::Head,
        b"POST" => Method::Post,
        b"PUT" => Method::Put,
        b"DELETE" => Method::Delete,
        b"OPTIONS" => Method::Options,
        b"PATCH" => Method::Patch,
        b"TRACE" | b"CONNECT" => return Err(Reason::MethodNotAllowed),
        _ => return Err(Reason::MethodUnknown),
    })
}
