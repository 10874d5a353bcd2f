//! The words of a NATS server.
//!
//! Owns `INFO MSG HMSG PING PONG +OK -ERR` in both directions. Never answers them.

use std::io::Write;

use super::NatsProblem;
use super::line::{Line, Parts, Sizes, subscription};

/// A message for a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NatsMessage<'i> {
    /// Its subject.
    pub subject: &'i str,
    /// The number of the subscription.
    pub subscription: u64,
    /// Where an answer is expected.
    pub reply: Option<&'i str>,
    /// Its header fields as they came: see [`NatsHeaders`](super::NatsHeaders). Empty: it has none.
    pub headers: &'i [u8],
    /// Its content.
    pub payload: &'i [u8],
}

/// The words of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NatsServerSaid<'i> {
    /// Its identity and permissions: JSON.
    Info(&'i [u8]),
    /// A message.
    Message(NatsMessage<'i>),
    /// It asks whether the client is there.
    Ping,
    /// It answers that.
    Pong,
    /// It has done what was asked, if the client is verbose.
    Ok,
    /// Why it refuses something. Mostly it closes the connection then.
    Error(&'i str),
}

impl<'i> NatsServerSaid<'i> {
    /// Reads what is at the beginning of the input, and its length; `None`: it is not complete. A message has at most
    /// `payload_most` bytes, header fields included.
    ///
    /// # Errors
    /// If it is not of this protocol.
    pub fn read(
        input: &'i [u8],
        payload_most: usize,
    ) -> Result<Option<(Self, usize)>, NatsProblem> {
        let Some(line) = Line::first(input)? else { return Ok(None) };
        let said = if line.is("MSG") || line.is("HMSG") {
            let found = Self::message(input, line, payload_most)?;
            return Ok(found.map(|(message, length)| (Self::Message(message), length)));
        } else if line.is("PING") {
            line.alone(Self::Ping)?
        } else if line.is("PONG") {
            line.alone(Self::Pong)?
        } else if line.is("+OK") {
            line.alone(Self::Ok)?
        } else if line.is("INFO") {
            Self::Info(line.rest)
        } else if line.is("-ERR") {
            let text = str::from_utf8(line.rest).map_err(|_| NatsProblem::NotUtf8)?;
            Self::Error(text.trim_matches('\''))
        } else {
            return Err(NatsProblem::UnknownOperation);
        };
        Ok(Some((said, line.length)))
    }

    fn message(
        input: &'i [u8],
        line: Line<'i>,
        payload_most: usize,
    ) -> Result<Option<(NatsMessage<'i>, usize)>, NatsProblem> {
        let (given, count) = line.arguments::<5>()?;
        let (sizes, before) = if line.is("HMSG") {
            let count = count.checked_sub(2).ok_or(NatsProblem::Arguments)?;
            (Sizes::with_headers(given[count], given[count + 1])?, count)
        } else {
            let count = count.checked_sub(1).ok_or(NatsProblem::Arguments)?;
            (Sizes::of_body(given[count])?, count)
        };
        let reply = match before {
            2 => None,
            3 => Some(given[2]),
            _ => return Err(NatsProblem::Arguments),
        };
        let subscription = subscription(given[1])?;
        let parts = sizes.parts(input, line.length, payload_most)?;
        Ok(parts.map(|Parts { headers, payload, length }| {
            let subject = given[0];
            (NatsMessage { subject, subscription, reply, headers, payload }, length)
        }))
    }

    /// Appends it. Subjects have neither blanks nor control characters, other texts no line ends.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Info(json) => {
                out.extend_from_slice(b"INFO ");
                out.extend_from_slice(json);
                out.extend_from_slice(b"\r\n");
            }
            Self::Message(message) => message.write(out),
            Self::Ping => out.extend_from_slice(b"PING\r\n"),
            Self::Pong => out.extend_from_slice(b"PONG\r\n"),
            Self::Ok => out.extend_from_slice(b"+OK\r\n"),
            Self::Error(text) => {
                let _infallible = write!(out, "-ERR '{text}'\r\n");
            }
        }
    }
}

impl NatsMessage<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        let word = if self.headers.is_empty() { "MSG" } else { "HMSG" };
        let _infallible = write!(out, "{word} {} {}", self.subject, self.subscription);
        super::client::write_rest(out, self.reply, self.headers, self.payload);
    }
}
