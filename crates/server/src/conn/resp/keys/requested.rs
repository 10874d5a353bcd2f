//! A command as a request to the store, and what all its parsers use.
//!
//! Owns the form of integers and Redis' error texts for them.

use store::{Change, Query, Step};

use super::reply::{Shape, text_of};

/// A step, and the format of its reply.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) step: Step,
    pub(super) shape: Shape,
}

pub(super) const SYNTAX: &str = "ERR syntax error";
const NO_INTEGER: &str = "ERR value is not an integer or out of range";

pub(super) fn ask(query: Query, shape: Shape) -> Result<Request, String> {
    Ok(Request { step: Step::Query(query), shape })
}

/// A change whose sizes the store accepts. Others are refused here, before anything reserves space for them.
pub(super) fn change(change: Change, shape: Shape) -> Result<Request, String> {
    change.check().map_err(text_of)?;
    Ok(Request { step: Step::Change(change), shape })
}

/// A 64-bit integer in the form that Redis accepts.
pub(super) fn number(bytes: &[u8]) -> Result<i64, String> {
    let number: Option<i64> = str::from_utf8(bytes).ok().and_then(|text| text.parse().ok());
    number.filter(|number| number.to_string().as_bytes() == bytes).ok_or(NO_INTEGER.to_owned())
}
