//! Owns one raw connection to the target: the bytes sent and received, and how it ended. Limited in time and bytes.
//! Does not know which protocol is spoken on it.

#![expect(
    clippy::disallowed_types,
    reason = "a blocking test client of its own; nothing here runs on a scheduler"
)]

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::time::Duration;

use crate::clock::Deadline;
use crate::limits::{READ_BYTES, RECEIVED_BYTES_MAX};
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

/// The result of a read with a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    Bytes,
    End,
    Silence,
}

pub(crate) struct RawConnection {
    stream: Box<dyn ServerStream>,
    sent: Vec<u8>,
    received: Vec<u8>,
    end: Option<End>,
    writable: bool,
}

impl RawConnection {
    pub(crate) fn open(target: &TestedServer, options: &Options) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&target.address, options.response_timeout)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(options.response_timeout))?;
        TcpStream::set_read_timeout(&stream, Some(options.response_timeout))?;
        let stream = match &target.over {
            Some(over) => over.begin(stream)?,
            None => Box::new(stream),
        };
        Ok(Self { stream, sent: Vec::new(), received: Vec::new(), end: None, writable: true })
    }

    /// All bytes that were sent.
    pub(crate) fn sent(&self) -> &[u8] {
        &self.sent
    }

    /// All bytes that were received.
    pub(crate) fn received(&self) -> &[u8] {
        &self.received
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

    /// Whether the server sends anything or ends the connection within this time.
    pub(crate) fn reacts_within(&mut self, wait: Duration) -> bool {
        self.end.is_some() || self.fill(Deadline::after(wait)) != Fill::Silence
    }

    /// Reads until the server ends the connection, or the time is over.
    pub(crate) fn drain(&mut self, wait: Duration) {
        let deadline = Deadline::after(wait);
        while self.end.is_none() && self.fill(deadline) != Fill::Silence {}
    }

    /// Reads once.
    pub(crate) fn fill(&mut self, deadline: Deadline) -> Fill {
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
