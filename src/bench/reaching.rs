//! The connections of `bench conformance`: whether the server can be reached, and their encryption.
//!
//! Owns how the suite, which knows no encryption, uses `tls`, which knows no suite.
#![expect(
    clippy::disallowed_types,
    reason = "blocking connections of one thread each, without a scheduler"
)]

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use bench::tally::HandshakeFault;
use conformance::{Over, ServerStream, TestedServer};
use tls::{Connector, StreamError};

use crate::Failure;

/// A server that cannot be reached is an error, not a failed requirement.
pub(crate) fn reach(target: &TestedServer, patience: Duration) -> Result<(), Failure> {
    let address = target.address;
    let connected = TcpStream::connect_timeout(&address, patience).map_err(|error| {
        Failure::Failed(format!(
            "{address}: cannot connect ({error}); see that a server listens there"
        ))
    })?;
    let Some(over) = &target.over else { return Ok(()) };
    let timed = connected
        .set_read_timeout(Some(patience))
        .and_then(|()| connected.set_write_timeout(Some(patience)));
    timed
        .and_then(|()| over.begin(connected))
        .map(drop)
        .map_err(|error| Failure::Failed(format!("{address}: {error}")))
}

/// Connections over TLS.
#[derive(Debug)]
pub(crate) struct Encrypted {
    connector: Connector,
    server_name: String,
}

impl Encrypted {
    /// Connections to the server of this name.
    pub(crate) fn new(connector: Connector, server_name: String) -> Self {
        Self { connector, server_name }
    }
}

impl Over for Encrypted {
    fn begin(&self, connection: TcpStream) -> io::Result<Box<dyn ServerStream>> {
        match tls::TlsStream::connect(&self.connector, &self.server_name, connection) {
            Ok(stream) => Ok(Box::new(EncryptedStream(stream))),
            Err(StreamError::Io(error)) => Err(error),
            Err(StreamError::Refused(why)) => Err(io::Error::other(told(why.into()))),
            Err(error @ StreamError::NotBegun) => Err(io::Error::other(error)),
        }
    }
}

/// Why a handshake failed, and what to do.
fn told(fault: HandshakeFault) -> String {
    match fault.mend() {
        Some(mend) => format!("the TLS handshake failed: {fault}; {mend}"),
        None => format!("the TLS handshake failed: {fault}"),
    }
}

/// One connection over TLS.
struct EncryptedStream(tls::TlsStream<TcpStream>);

impl Read for EncryptedStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for EncryptedStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl ServerStream for EncryptedStream {
    fn set_read_timeout(&self, wait: Duration) -> io::Result<()> {
        self.0.inner().set_read_timeout(Some(wait))
    }

    fn end_output(&mut self) -> io::Result<()> {
        self.0.end()?;
        self.0.inner().shutdown(Shutdown::Write)
    }
}
