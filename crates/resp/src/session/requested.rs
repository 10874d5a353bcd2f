//! A command as a request to the store, and what all its parsers use.
//!
//! Owns the form of integers and Redis' error texts for them.

use runtime::clock::Now;
use store::{DatabaseChange, Query, StoreOperation};
use wire::resp::RespCommand;

use super::reply::{Shape, text_of};

/// A step, and the format of its reply.
#[derive(Debug)]
pub(super) struct Request {
    step: StoreOperation,
    shape: Shape,
}

impl Request {
    pub(super) fn into_parts(self) -> (StoreOperation, Shape) {
        (self.step, self.shape)
    }
}

/// The words of a command whose number is valid.
pub(super) struct Words<'w> {
    command: &'w RespCommand<'w>,
    /// The name of the command, for its error texts.
    name: &'static str,
    now: Now,
}

pub(super) const SYNTAX: &str = "ERR syntax error";
const NO_INTEGER: &str = "ERR value is not an integer or out of range";

impl<'w> Words<'w> {
    pub(super) fn new(command: &'w RespCommand<'w>, name: &'static str, now: Now) -> Self {
        Self { command, name, now }
    }

    pub(super) fn command(&self) -> &'w RespCommand<'w> {
        self.command
    }

    /// The name of the command, for its error texts.
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn now(&self) -> Now {
        self.now
    }

    /// The word with this index; empty if there is none.
    pub(super) fn at(&self, at: usize) -> &[u8] {
        self.command.argument(at)
    }

    /// The word with this index, to be kept.
    pub(super) fn copy(&self, at: usize) -> Box<[u8]> {
        self.at(at).into()
    }

    /// The key of the command: its second word.
    pub(super) fn key(&self) -> Box<[u8]> {
        self.copy(1)
    }

    /// All words behind the name, which are keys.
    pub(super) fn keys(&self) -> Vec<Box<[u8]>> {
        self.command.arguments_from(1).map(Into::into).collect()
    }

    /// The integer in the word with this index.
    pub(super) fn number(&self, at: usize) -> Result<i64, String> {
        number(self.at(at))
    }
}

pub(super) fn ask(query: Query, shape: Shape) -> Result<Request, String> {
    Ok(Request { step: StoreOperation::Query(query), shape })
}

/// A change whose sizes the store accepts. Others are refused here, before anything reserves space for them.
pub(super) fn change(change: DatabaseChange, shape: Shape) -> Result<Request, String> {
    change.check().map_err(text_of)?;
    Ok(Request { step: StoreOperation::Change(change), shape })
}

/// A 64-bit integer in the form that Redis accepts.
pub(super) fn number(bytes: &[u8]) -> Result<i64, String> {
    let number: Option<i64> = str::from_utf8(bytes).ok().and_then(|text| text.parse().ok());
    number.filter(|number| number.to_string().as_bytes() == bytes).ok_or(NO_INTEGER.to_owned())
}
