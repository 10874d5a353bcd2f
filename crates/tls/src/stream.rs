//! TLS over a blocking stream, for programs without a scheduler: test clients and test servers.
//!
//! Owns the plain bytes that were decoded and not read yet. Never opens a socket, and sets no timeout: those of the
//! stream below hold.

use std::io::{self, ErrorKind, Read, Write};
use std::rc::Rc;

use runtime::transport::{Agreed, Transport, Violation};

use crate::limits::RECORD_BYTES;
use crate::{Acceptor, Connector};

/// A blocking stream over TLS. Its end without the announcement of TLS is an error, `UnexpectedEof`: it may have been
/// cut.
pub struct TlsStream<S> {
    inner: S,
    transport: Box<dyn Transport>,
    plain: Vec<u8>,
    taken: usize,
}

/// Why there is no stream.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The text is not the name of a server, or the system gives no random bytes.
    #[error("the handshake cannot begin")]
    NotBegun,
    /// The handshake failed.
    #[error("the handshake failed: {0:?}")]
    Refused(Violation),
    /// The stream below failed.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl<S: Read + Write> TlsStream<S> {
    /// Shakes hands with the server of this name on a connection that was just made.
    ///
    /// # Errors
    /// If the handshake fails.
    pub fn connect(connector: &Connector, server: &str, inner: S) -> Result<Self, StreamError> {
        let transport = connector.connect(server).ok_or(StreamError::NotBegun)?;
        let mut stream = Self { inner, transport, plain: Vec::new(), taken: 0 };
        stream.open(&mut [])??;
        stream.shake_hands()
    }

    /// Shakes hands with a client on a connection that was just accepted.
    ///
    /// # Errors
    /// If the handshake fails.
    pub fn accept(acceptor: &Acceptor, inner: S) -> Result<Self, StreamError> {
        let transport = acceptor.accept();
        Self { inner, transport, plain: Vec::new(), taken: 0 }.shake_hands()
    }

    /// The agreed terms.
    pub fn agreed(&self) -> Option<&Rc<Agreed>> {
        self.transport.agreed()
    }

    /// The stream below.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// Announces the end of this side.
    ///
    /// # Errors
    /// Those of the stream below.
    pub fn end(&mut self) -> io::Result<()> {
        let mut wire = Vec::new();
        self.transport.end(&mut wire);
        self.inner.write_all(&wire)
    }

    fn shake_hands(mut self) -> Result<Self, StreamError> {
        while self.transport.agreed().is_none() {
            if self.receive()? == 0 {
                return Err(StreamError::Refused(Violation::Cut));
            }
        }
        Ok(self)
    }

    /// Receives once, and decodes; zero at the end of the stream below.
    fn receive(&mut self) -> Result<usize, StreamError> {
        let mut buffer = [0; RECORD_BYTES];
        let count = self.inner.read(&mut buffer)?;
        self.open(&mut buffer[..count])??;
        Ok(count)
    }

    /// Decodes, and sends the answer of the protocol: an alert too.
    fn open(&mut self, bytes: &mut [u8]) -> io::Result<Result<(), StreamError>> {
        let mut wire = Vec::new();
        let opened = self.transport.open(bytes, &mut self.plain, &mut wire);
        let sent = self.inner.write_all(&wire);
        // The reason counts, not that the peer no longer reads it.
        match opened {
            Err(violation) => Ok(Err(StreamError::Refused(violation))),
            Ok(()) => sent.map(Ok),
        }
    }
}

impl<S: Read + Write> Read for TlsStream<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.plain.len() {
            (self.plain, self.taken) = (Vec::new(), 0);
            if self.transport.has_ended() {
                return Ok(0);
            }
            match self.receive() {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(StreamError::Io(error)) => return Err(error),
                Err(error) => {
                    return Err(io::Error::new(ErrorKind::InvalidData, error.to_string()));
                }
            }
        }
        let count = buffer.len().min(self.plain.len() - self.taken);
        buffer[..count].copy_from_slice(&self.plain[self.taken..self.taken + count]);
        self.taken += count;
        Ok(count)
    }
}

impl<S: Read + Write> Write for TlsStream<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut wire = Vec::new();
        let sealed = self.transport.seal(bytes, &mut wire);
        sealed.map_err(|_| io::Error::from(ErrorKind::InvalidData))?;
        self.inner.write_all(&wire)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
