//! Owns the responses on one connection to the target, interim and final, in order. Does not judge what was received.

use std::io;
use std::time::Duration;

use crate::clock::Deadline;
use crate::limits::INTERIM_RESPONSES_MAX;
use crate::response::{
    ParseResult, ParsedResponse, RequestKind, ResponseViolation, StreamEnd, parse_response,
};
use crate::socket::{Fill, RawConnection};
use crate::target::{Options, TestedServer};

pub(crate) use crate::socket::End;

/// Why there is no next response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Trouble {
    /// Nothing, or not enough, arrived in time.
    #[error("no complete response within {0:?}")]
    Silence(Duration),
    /// The connection ended where a response could have begun.
    #[error("the connection was {}", if *.0 == End::Reset { "reset" } else { "closed" })]
    Ended(End),
    /// The received bytes are not a response.
    #[error("not a valid response: {0}")]
    Malformed(ResponseViolation),
    /// Interim responses without end.
    #[error("interim responses without end")]
    InterimFlood,
}

/// A final response with the interim ones before it.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) interims: Vec<ParsedResponse>,
    pub(crate) response: ParsedResponse,
}

/// One connection and its responses.
pub(crate) struct Connection {
    raw: RawConnection,
    consumed: usize,
    interims: Vec<ParsedResponse>,
    response_timeout: Duration,
}

impl Connection {
    pub(crate) fn open(target: &TestedServer, options: &Options) -> io::Result<Self> {
        Ok(Self {
            raw: RawConnection::open(target, options)?,
            consumed: 0,
            interims: Vec::new(),
            response_timeout: options.response_timeout,
        })
    }

    /// All bytes that were sent.
    pub(crate) fn sent(&self) -> &[u8] {
        self.raw.sent()
    }

    /// All bytes that were received.
    pub(crate) fn received(&self) -> &[u8] {
        self.raw.received()
    }

    /// The bytes received after the last response that was taken.
    pub(crate) fn surplus(&self) -> &[u8] {
        &self.raw.received()[self.consumed..]
    }

    /// How the server ended it, if that is known.
    pub(crate) fn end(&self) -> Option<End> {
        self.raw.end()
    }

    /// Writes, as far as the server takes it.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.raw.send(bytes);
    }

    /// Ends the client's side.
    pub(crate) fn half_close(&mut self) {
        self.raw.half_close();
    }

    /// Waits until a response of any kind is complete, without taking a final one.
    pub(crate) fn wait_interim(&mut self, request: RequestKind) {
        let deadline = Deadline::after(self.response_timeout);
        let before = self.interims.len();
        while self.interims.len() == before {
            match self.parse(request) {
                Ok(ParseResult::Complete(response, used)) if response.is_interim() => {
                    self.consumed += used;
                    self.interims.push(response);
                }
                Ok(ParseResult::Incomplete) if self.raw.fill(deadline) == Fill::Bytes => {}
                _ => return,
            }
        }
    }

    /// Whether the server sends anything or ends the connection within this time.
    pub(crate) fn reacts_within(&mut self, wait: Duration) -> bool {
        self.raw.reacts_within(wait)
    }

    /// The next final response.
    pub(crate) fn next_final(&mut self, request: RequestKind) -> Result<Exchange, Trouble> {
        let deadline = Deadline::after(self.response_timeout);
        loop {
            if let (Some(end), true) = (self.end(), self.surplus().is_empty()) {
                return Err(Trouble::Ended(end));
            }
            match self.parse(request).map_err(Trouble::Malformed)? {
                ParseResult::Complete(response, used) => {
                    self.consumed += used;
                    if !response.is_interim() {
                        let interims = std::mem::take(&mut self.interims);
                        return Ok(Exchange { interims, response });
                    }
                    self.interims.push(response);
                    if self.interims.len() > INTERIM_RESPONSES_MAX {
                        return Err(Trouble::InterimFlood);
                    }
                }
                ParseResult::Incomplete if self.end().is_some() => {
                    return Err(Trouble::Malformed(ResponseViolation::Truncated));
                }
                ParseResult::Incomplete if self.raw.fill(deadline) == Fill::Silence => {
                    return Err(Trouble::Silence(self.response_timeout));
                }
                ParseResult::Incomplete => {}
            }
        }
    }

    /// Reads until the server ends the connection, or the time is over.
    pub(crate) fn drain(&mut self, wait: Duration) {
        self.raw.drain(wait);
    }

    fn parse(&self, request: RequestKind) -> Result<ParseResult, ResponseViolation> {
        // Content that ends with the connection is complete only after an orderly end.
        let finished = self.end() == Some(End::Finished);
        let end = if finished { StreamEnd::Closed } else { StreamEnd::Open };
        if self.surplus().is_empty() {
            return Ok(ParseResult::Incomplete);
        }
        parse_response(self.surplus(), request, end)
    }
}
