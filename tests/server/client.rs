//! A raw client: sends the given bytes, reads strictly (with the conformance suite's parser), and never waits for ever.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;

use conformance::{ParseResult, ParsedResponse, RequestKind, StreamEnd, parse_response};

use super::patience::PATIENCE;

/// Bytes taken in one read.
const READ_BYTES: usize = 64 * 1024;

/// One connection.
pub(crate) struct Client<S = TcpStream> {
    pub(crate) stream: S,
    received: Vec<u8>,
}

/// How a connection ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The server closed it.
    Closed,
    /// It was reset.
    Reset,
}

impl Client<TcpStream> {
    /// Connects.
    pub(crate) fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, received: Vec::new() })
    }
}

impl Client<UnixStream> {
    /// Connects to a Unix socket.
    pub(crate) fn connect_unix(path: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream, received: Vec::new() })
    }
}

impl<S: Read + Write> Client<S> {
    /// Sends bytes.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// A plain GET and its response.
    pub(crate) fn get(&mut self, path: &str) -> io::Result<ParsedResponse> {
        self.request("GET", path, &[])
    }

    /// A request without a body, and its response.
    pub(crate) fn request(
        &mut self,
        method: &str,
        path: &str,
        fields: &[(&str, &str)],
    ) -> io::Result<ParsedResponse> {
        self.send(head(method, path, fields))?;
        self.response(RequestKind::of_method(Some(method)))
    }

    /// The next final response; interim ones before it are skipped.
    pub(crate) fn response(&mut self, kind: RequestKind) -> io::Result<ParsedResponse> {
        let mut end = StreamEnd::Open;
        loop {
            match parse_response(&self.received, kind, end) {
                Ok(ParseResult::Complete(response, used)) => {
                    self.received.drain(..used);
                    if !response.is_interim() {
                        return Ok(response);
                    }
                }
                Ok(ParseResult::Incomplete) if end == StreamEnd::Open => {
                    if self.receive()? == 0 {
                        end = StreamEnd::Closed;
                    }
                }
                Ok(ParseResult::Incomplete) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) => {
                    let begin = &self.received[..self.received.len().min(400)];
                    let told = format!("{error}: {}", begin.escape_ascii());
                    return Err(io::Error::new(io::ErrorKind::InvalidData, told));
                }
            }
        }
    }

    /// Reads what comes next; 0 at the end.
    pub(crate) fn receive(&mut self) -> io::Result<usize> {
        let mut buffer = [0; READ_BYTES];
        let count = read(&mut self.stream, &mut buffer)?;
        self.received.extend_from_slice(&buffer[..count]);
        Ok(count)
    }

    /// Reads until the connection ends; returns the bytes, and how it ended.
    pub(crate) fn rest(&mut self) -> io::Result<(Vec<u8>, End)> {
        loop {
            let end = match self.receive() {
                Ok(0) => End::Closed,
                Ok(_) => continue,
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => End::Reset,
                Err(error) => return Err(error),
            };
            return Ok((std::mem::take(&mut self.received), end));
        }
    }
}

/// One read. If a socket has a timeout, the read of a process that was stopped and continues (by a debugger or a
/// freezer) is interrupted: the kernel does not restart it.
pub(crate) fn read(stream: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match stream.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

/// The head of a request without a body.
pub(crate) fn head(method: &str, path: &str, fields: &[(&str, &str)]) -> String {
    let has_host = fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("host"));
    let host = if has_host { "" } else { "Host: test\r\n" };
    let fields: String =
        fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("{method} {path} HTTP/1.1\r\n{host}{fields}\r\n")
}

/// The field as text; empty if it is missing.
pub(crate) fn field<'r>(response: &'r ParsedResponse, name: &str) -> &'r str {
    str::from_utf8(response.field(name).unwrap_or_default()).unwrap()
}

/// The body as text.
pub(crate) fn text(response: &ParsedResponse) -> &str {
    str::from_utf8(&response.body).unwrap()
}
