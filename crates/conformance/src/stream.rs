//! Owns what a connection needs of the stream that carries it: TCP, or something over TCP that the caller brings, such
//! as encryption. Does not know how the caller's stream works.

#![expect(
    clippy::disallowed_types,
    reason = "a blocking test client of its own; nothing here runs on a scheduler"
)]

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// A stream to the server. If the stream ends without the end that its protocol requires, a read fails.
pub trait ServerStream: Read + Write {
    /// Limits the time of a read. Never zero.
    ///
    /// # Errors
    /// The errors of the socket.
    fn set_read_timeout(&self, wait: Duration) -> io::Result<()>;

    /// Ends the client's side.
    ///
    /// # Errors
    /// If the server has closed already.
    fn end_output(&mut self) -> io::Result<()>;
}

impl ServerStream for TcpStream {
    fn set_read_timeout(&self, wait: Duration) -> io::Result<()> {
        TcpStream::set_read_timeout(self, Some(wait))
    }

    fn end_output(&mut self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

/// Turns a TCP connection into the stream that carries requests and answers.
pub trait Over: fmt::Debug + Send + Sync {
    /// Begins on a new connection, whose timeouts are set.
    ///
    /// # Errors
    /// If the server refuses.
    fn begin(&self, connection: TcpStream) -> io::Result<Box<dyn ServerStream>>;
}
