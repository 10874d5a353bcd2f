//! The words of a client of NATS.
//!
//! Owns `CONNECT PUB HPUB SUB UNSUB PING PONG` in both directions. Never sends them.

use std::io::Write;

use super::NatsProblem;
use super::line::{Line, Parts, Sizes, subscription};

/// A message that a client publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NatsPublication<'i> {
    /// Its subject.
    pub subject: &'i str,
    /// Where an answer is expected.
    pub reply: Option<&'i str>,
    /// Its header fields, with the first line and the empty one. Empty: it has none.
    pub headers: &'i [u8],
    /// Its content.
    pub payload: &'i [u8],
}

/// The words of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NatsClientSaid<'i> {
    /// Its identity and wishes: JSON.
    Connect(&'i [u8]),
    /// A message.
    Publish(NatsPublication<'i>),
    /// It wants the messages of a subject.
    Subscribe {
        /// The subject, perhaps with wildcards.
        subject: &'i str,
        /// The group, of which one member gets each message.
        queue: Option<&'i str>,
        /// The number of the subscription.
        subscription: u64,
    },
    /// It no longer wants them.
    Unsubscribe {
        /// The number of the subscription.
        subscription: u64,
        /// After so many messages; `None`: at once.
        after: Option<u64>,
    },
    /// It asks whether the server is there.
    Ping,
    /// It answers that.
    Pong,
}

impl<'i> NatsClientSaid<'i> {
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
        let said = if line.is("PUB") || line.is("HPUB") {
            let found = Self::publication(input, line, payload_most)?;
            return Ok(found.map(|(publication, length)| (Self::Publish(publication), length)));
        } else if line.is("PING") {
            line.alone(Self::Ping)?
        } else if line.is("PONG") {
            line.alone(Self::Pong)?
        } else if line.is("CONNECT") {
            Self::Connect(line.rest)
        } else if line.is("SUB") {
            let (queue, number) = match line.arguments::<3>()? {
                ([_, number, _], 2) => (None, number),
                ([_, queue, number], 3) => (Some(queue), number),
                _ => return Err(NatsProblem::Arguments),
            };
            let ([subject, ..], _) = line.arguments::<3>()?;
            Self::Subscribe { subject, queue, subscription: subscription(number)? }
        } else if line.is("UNSUB") {
            let ([number, after], count) = line.arguments::<2>()?;
            let after = if count > 1 { Some(subscription(after)?) } else { None };
            Self::Unsubscribe { subscription: subscription(number)?, after }
        } else {
            return Err(NatsProblem::UnknownOperation);
        };
        Ok(Some((said, line.length)))
    }

    fn publication(
        input: &'i [u8],
        line: Line<'i>,
        payload_most: usize,
    ) -> Result<Option<(NatsPublication<'i>, usize)>, NatsProblem> {
        let (given, count) = line.arguments::<4>()?;
        let (sizes, before) = if line.is("HPUB") {
            let count = count.checked_sub(2).ok_or(NatsProblem::Arguments)?;
            (Sizes::with_headers(given[count], given[count + 1])?, count)
        } else {
            let count = count.checked_sub(1).ok_or(NatsProblem::Arguments)?;
            (Sizes::of_body(given[count])?, count)
        };
        let reply = match before {
            1 => None,
            2 => Some(given[1]),
            _ => return Err(NatsProblem::Arguments),
        };
        let parts = sizes.parts(input, line.length, payload_most)?;
        Ok(parts.map(|Parts { headers, payload, length }| {
            let subject = given[0];
            (NatsPublication { subject, reply, headers, payload }, length)
        }))
    }

    /// Appends it. Subjects have neither blanks nor control characters, and JSON no line ends.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Connect(json) => {
                out.extend_from_slice(b"CONNECT ");
                out.extend_from_slice(json);
                out.extend_from_slice(b"\r\n");
            }
            Self::Publish(publication) => publication.write(out),
            Self::Subscribe { subject, queue, subscription } => {
                let (queue, blank) = queue.map_or(("", ""), |queue| (queue, " "));
                let _infallible = write!(out, "SUB {subject} {queue}{blank}{subscription}\r\n");
            }
            Self::Unsubscribe { subscription, after: None } => {
                let _infallible = write!(out, "UNSUB {subscription}\r\n");
            }
            Self::Unsubscribe { subscription, after: Some(after) } => {
                let _infallible = write!(out, "UNSUB {subscription} {after}\r\n");
            }
            Self::Ping => out.extend_from_slice(b"PING\r\n"),
            Self::Pong => out.extend_from_slice(b"PONG\r\n"),
        }
    }
}

impl NatsPublication<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        let word = if self.headers.is_empty() { "PUB" } else { "HPUB" };
        let _infallible = write!(out, "{word} {}", self.subject);
        write_rest(out, self.reply, self.headers, self.payload);
    }
}

/// The rest of a line of a message, and its content.
pub(super) fn write_rest(out: &mut Vec<u8>, reply: Option<&str>, headers: &[u8], payload: &[u8]) {
    if let Some(reply) = reply {
        let _infallible = write!(out, " {reply}");
    }
    if !headers.is_empty() {
        let _infallible = write!(out, " {}", headers.len());
    }
    let _infallible = write!(out, " {}\r\n", headers.len() + payload.len());
    out.extend_from_slice(headers);
    out.extend_from_slice(payload);
    out.extend_from_slice(b"\r\n");
}
