//! Owns one raw connection to the target: the bytes sent and received, and how it ended. Limited in time and bytes.
//! Does not judge what was received.

#![expect(
    clippy::disallowed_types,
    reason = "a blocking test client of its own; nothing here runs on a scheduler"
)]

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::time::Duration;

use crate::clock::Deadline;
use crate::limits::{INTERIM_RESPONSES_MAX, READ_BYTES, RECEIVED_BYTES_MAX};
use crate::response::{
    ParseResult, ParsedResponse, RequestKind, ResponseViolation, StreamEnd, parse_response,
};
use crate::stream::ServerStream;
use crate::target::{Options, TestedServer};

/// How the server ended the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// An orderly end: everything sent was delivered.
    Finished,
    /// A reset: a client may lose bytes in flight.
    Reset,
}

/// Why there is no next response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Nothing, or not enough, arrived in time.
    Silence(Duration),
    /// The connection ended where a response could have begun.
    Ended(End),
    /// The received bytes are not a response.
    Malformed(ResponseViolation),
    /// Interim responses without end.
    InterimFlood,
}

impl fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silence(wait) => write!(formatter, "no complete response within {wait:?}"),
            Self::Ended(End::Finished) => formatter.write_str("the connection was closed"),
            Self::Ended(End::Reset) => formatter.write_str("the connection was reset"),
            Self::Malformed(error) => write!(formatter, "not a valid response: {error}"),
            Self::InterimFlood => formatter.write_str("interim responses without end"),
        }
    }
}

/// A final response with the interim ones before it.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) interims: Vec<ParsedResponse>,
    pub(crate) response: ParsedResponse,
}

/// The result of a read with a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    Bytes,
    End,
    Silence,
}

/// One connection and its transcript.
pub(crate) struct Connection {
    stream: Box<dyn ServerStream>,
    sent: Vec<u8>,
    received: Vec<u8>,
    consumed: usize,
    interims: Vec<ParsedResponse>,
    end: Option<End>,
    writable: bool,
    response_timeout: Duration,
}

impl Connection {
    pub(crate) fn open(target: &TestedServer, options: &Options) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&target.address, options.response_timeout)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(options.response_timeout))?;
        TcpStream::set_read_timeout(&stream, Some(options.response_timeout))?;
        let stream = match &target.over {
            Some(over) => over.begin(stream)?,
            None => Box::new(stream),
        };
        Ok(Self {
            stream,
            sent: Vec::new(),
            received: Vec::new(),
            consumed: 0,
            interims: Vec::new(),
            end: None,
            writable: true,
            response_timeout: options.response_timeout,
        })
    }

    /// All bytes that were sent.
    pub(crate) fn sent(&self) -> &[u8] {
        &self.sent
    }

    /// All bytes that were received.
    pub(crate) fn received(&self) -> &[u8] {
        &self.received
    }

    /// The bytes received after the last response that was taken.
    pub(crate) fn surplus(&self) -> &[u8] {
        &self.received[self.consumed..]
    }

    /// How the server ended it, if that is known.
    pub(crate) fn end(&self) -> Option<End> {
        self.end
    }

    /// Writes. A server may refuse to read on, so an error only ends the writing: the answer decides.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        if !self.writable {
            return;
        }
        self.sent.extend_from_slice(bytes);
        self.writable = self.stream.write_all(bytes).is_ok();
    }

    /// Ends the client's side.
    pub(crate) fn half_close(&mut self) {
        self.writable = false;
        // It fails if the server has already closed, which is not an error here.
        let _ = self.stream.end_output();
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
                Ok(ParseResult::Incomplete) if self.fill(deadline) == Fill::Bytes => {}
                _ => return,
            }
        }
    }

    /// Whether the server sends anything or ends the connection within this time.
    pub(crate) fn reacts_within(&mut self, wait: Duration) -> bool {
        self.end.is_some() || self.fill(Deadline::after(wait)) != Fill::Silence
    }

    /// The next final response.
    pub(crate) fn next_final(&mut self, request: RequestKind) -> Result<Exchange, Trouble> {
        let deadline = Deadline::after(self.response_timeout);
        loop {
            if let (Some(end), true) = (self.end, self.surplus().is_empty()) {
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
                ParseResult::Incomplete if self.end.is_some() => {
                    return Err(Trouble::Malformed(ResponseViolation::Truncated));
                }
                ParseResult::Incomplete if self.fill(deadline) == Fill::Silence => {
                    return Err(Trouble::Silence(self.response_timeout));
                }
                ParseResult::Incomplete => {}
            }
        }
    }

    /// Reads until the server ends the connection, or the time is over.
    pub(crate) fn drain(&mut self, wait: Duration) {
        let deadline = Deadline::after(wait);
        while self.end.is_none() && self.fill(deadline) != Fill::Silence {}
    }

    fn parse(&self, request: RequestKind) -> Result<ParseResult, ResponseViolation> {
        // Content that ends with the connection is complete only after an orderly end.
        let finished = self.end == Some(End::Finished);
        let end = if finished { StreamEnd::Closed } else { StreamEnd::Open };
        if self.surplus().is_empty() {
            return Ok(ParseResult::Incomplete);
        }
        parse_response(self.surplus(), request, end)
    }

    fn fill(&mut self, deadline: Deadline) -> Fill {
        if self.end.is_some() || self.received.len() >= RECEIVED_BYTES_MAX {
            return Fill::Silence;
        }
        let mut buffer = [0; READ_BYTES];
        let outcome = loop {
            let Some(left) = deadline.left() else { return Fill::Silence };
            let read = match self.stream.set_read_timeout(left) {
                Ok(()) => self.stream.read(&mut buffer),
                Err(error) => Err(error),
            };
            // SIGSTOP and SIGCONT interrupt a read that has a timeout: not the server's doing.
            if read.as_ref().is_err_and(|error| error.kind() == ErrorKind::Interrupted) {
                continue;
            }
            break read;
        };
        match outcome {
            Ok(0) => self.end = Some(End::Finished),
            Ok(count) => {
                self.received.extend_from_slice(&buffer[..count]);
                return Fill::Bytes;
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Fill::Silence;
            }
            Err(_) => self.end = Some(End::Reset),
        }
        Fill::End
    }
}
