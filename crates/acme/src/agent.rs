//! The agent: one blocking HTTP request over TLS, for `instant-acme` and for what it does not ask.
//!
//! Owns the connection of one exchange, its deadline and its bounds. Each exchange has a connection of its own,
//! because an order has some twenty in a minute and then none for weeks. Follows no redirect and asks no proxy.
#![expect(
    clippy::disallowed_types,
    reason = "it runs on the control thread, which shares no descriptor with schedulers"
)]

use std::future::{Future, ready};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body::Body;
use http_types::header::USER_AGENT;
use http_types::{Method as Verb, Request, Response};
use instant_acme::{BodyWrapper, BytesResponse, HttpClient};
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use rustls_pki_types::ServerName;
use wire::http::method::Method;
use wire::http::received::{AfterStep, Receiver as Fields, ResponseError, ResponseReader};

use crate::clock::{self, Deadline};
use crate::ending::Ending;
use crate::limits::{ADDRESSES, ANSWER_BYTES, CONNECT, EXCHANGE, NOTES, SLICE};
use crate::retry_after;

/// The name that this agent gives itself. Requests of `instant-acme` have its name.
const AGENT: &str = concat!("velodrome/", env!("CARGO_PKG_VERSION"));

/// Makes requests. Clones share the configuration.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    tls: Arc<ClientConfig>,
    ending: Ending,
    notes: SyncSender<Note>,
}

/// The facts of an answer that `instant-acme` does not tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) status: u16,
    /// The seconds of `Retry-After`.
    pub(crate) retry_after_s: Option<i64>,
    pub(crate) body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AgentError {
    /// The URL is not one of `https` with a host.
    #[error("{0} is not an https URL")]
    Url(String),
    /// The name of the host is not found.
    #[error("its name is not found: {0}")]
    Name(io::Error),
    /// No address accepts a connection.
    #[error("it does not accept connections: {0}")]
    Connect(io::Error),
    /// The connection broke, or its certificate is not trusted.
    #[error("the connection broke: {0}")]
    Connection(io::Error),
    /// The connection ended before the answer did.
    #[error("it closed the connection before its answer was whole")]
    Cut,
    /// The answer is not HTTP.
    #[error("its answer is not HTTP: {0}")]
    Answer(ResponseError),
    /// The answer has a status that says nothing about what was asked, such as the page of a proxy.
    #[error("it answers with status {0}")]
    Status(u16),
    /// The answer is too long.
    #[error("its answer is longer than {ANSWER_BYTES} bytes")]
    TooLong,
    /// It took too long.
    #[error(
        "it did not answer within {} s",
        EXCHANGE.as_secs()
    )]
    Late,
    /// The server ends.
    #[error("the server ends")]
    Ended,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    fields: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl Answered {
    /// The value of the first field of this name.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let same = |(field, _): &&(Vec<u8>, Vec<u8>)| field.eq_ignore_ascii_case(name.as_bytes());
        str::from_utf8(&self.fields.iter().find(same)?.1).ok()
    }

    /// Whether it is neither what was asked for nor a problem of ACME, which is JSON (RFC 8555 section 6.7).
    fn is_foreign(&self) -> bool {
        self.status >= 300 && !self.body.trim_ascii_start().starts_with(b"{")
    }

    /// The seconds of `Retry-After`.
    pub(crate) fn retry_after_s(&self) -> Option<i64> {
        retry_after::seconds(self.field("retry-after")?, self.field("date"), clock::now())
    }
}

impl Fields for Answered {
    fn begin(&mut self, _version: wire::http::head::HttpVersion, status: u16) {
        self.status = status;
        self.fields.clear();
    }

    fn field(&mut self, name: &[u8], value: &[u8]) {
        self.fields.push((name.to_vec(), value.to_vec()));
    }
}

impl Agent {
    /// An agent, and where it notes what it was answered.
    pub(crate) fn new(tls: Arc<ClientConfig>, ending: Ending) -> (Self, Receiver<Note>) {
        let (notes, noted) = sync_channel(NOTES);
        (Self { tls, ending, notes }, noted)
    }

    /// Gets a resource without an account, such as a directory. RFC 8555 section 6.1 wants a user agent.
    pub(crate) fn get(&self, url: &str) -> Result<Answered, AgentError> {
        let request = Request::get(url).header(USER_AGENT, AGENT).body(BodyWrapper::default());
        let request = request.map_err(|_| AgentError::Url(url.to_owned()))?;
        self.exchange(request)
    }

    fn exchange(&self, request: Request<BodyWrapper<Bytes>>) -> Result<Answered, AgentError> {
        let deadline = Deadline::after(EXCHANGE);
        let target = Target::of(&request)?;
        let method = match *request.method() {
            Verb::HEAD => Method::Head,
            Verb::POST => Method::Post,
            _ => Method::Get,
        };
        let bytes = request_bytes(request, &target.authority);
        let socket = self.connect(&target, deadline)?;
        let connection = ClientConnection::new(Arc::clone(&self.tls), target.server_name)
            .map_err(|error| AgentError::Connection(io::Error::other(error)))?;
        let socket = Timed { socket, agent: self, deadline };
        let mut stream = StreamOwned::new(connection, socket);
        self.send(&mut stream, &bytes, deadline)?;
        self.receive(&mut stream, method, deadline)
    }

    fn connect(&self, target: &Target, deadline: Deadline) -> Result<TcpStream, AgentError> {
        let mut last = io::Error::from(ErrorKind::NotFound);
        let host = (target.host.as_str(), target.port);
        let addresses = host.to_socket_addrs().map_err(AgentError::Name)?.take(ADDRESSES);
        for address in addresses.collect::<Vec<SocketAddr>>() {
            let left = self.left(deadline)?.min(CONNECT);
            let connected = TcpStream::connect_timeout(&address, left).and_then(|socket| {
                socket.set_read_timeout(Some(SLICE))?;
                socket.set_write_timeout(Some(SLICE))?;
                socket.set_nodelay(true)?;
                Ok(socket)
            });
            match connected {
                Ok(socket) => return Ok(socket),
                Err(error) => last = error,
            }
        }
        Err(AgentError::Connect(last))
    }

    fn send(
        &self,
        stream: &mut impl Write,
        mut bytes: &[u8],
        deadline: Deadline,
    ) -> Result<(), AgentError> {
        while !bytes.is_empty() {
            let sent = self.in_slices(deadline, || stream.write(bytes))?;
            bytes = bytes.get(sent..).unwrap_or_default();
        }
        self.in_slices(deadline, || stream.flush())
    }

    fn receive(
        &self,
        stream: &mut impl Read,
        method: Method,
        deadline: Deadline,
    ) -> Result<Answered, AgentError> {
        let mut answered = Answered::default();
        let mut reader = ResponseReader::new(method);
        let (mut unread, mut received) = (Vec::new(), 0);
        let mut buffer = vec![0; 16 << 10];
        loop {
            let count = self.in_slices(deadline, || stream.read(&mut buffer))?;
            if count == 0 {
                reader.close(unread.len()).map_err(AgentError::Answer)?;
                return Ok(answered);
            }
            received += count;
            if received > ANSWER_BYTES {
                return Err(AgentError::TooLong);
            }
            unread.extend_from_slice(buffer.get(..count).unwrap_or_default());
            if take(&mut reader, &mut unread, &mut answered)? {
                return Ok(answered);
            }
        }
    }

    /// Repeats a call that gives up after a slice of time, until it succeeds, the deadline passes or the server ends.
    fn in_slices<T>(
        &self,
        deadline: Deadline,
        mut call: impl FnMut() -> io::Result<T>,
    ) -> Result<T, AgentError> {
        loop {
            match call() {
                Ok(done) => return Ok(done),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {
                        self.left(deadline)?;
                    }
                    // The text of rustls points to its documents.
                    ErrorKind::UnexpectedEof => return Err(AgentError::Cut),
                    _ => return Err(AgentError::Connection(error)),
                },
            }
        }
    }

    fn left(&self, deadline: Deadline) -> Result<std::time::Duration, AgentError> {
        self.ending.check().map_err(|_| AgentError::Ended)?;
        deadline.left().ok_or(AgentError::Late)
    }

    /// Keeps what an order may want to know of an answer. Answers that refuse a nonce are left out, because there can
    /// be many. If the control thread reads no notes, the oldest stay.
    fn note(&self, answered: &Answered) {
        if answered.status == 400 && answered.field("retry-after").is_none() {
            return;
        }
        let note = Note {
            status: answered.status,
            retry_after_s: answered.retry_after_s(),
            body: answered.body.clone(),
        };
        let _ = self.notes.try_send(note);
    }
}

/// The socket of an exchange. It looks at the time before each call: an authority that sends a byte now and then lets
/// no slice pass, and rustls returns from a handshake only when it is over.
struct Timed<'a> {
    socket: TcpStream,
    agent: &'a Agent,
    deadline: Deadline,
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.agent.left(self.deadline).map_err(|_| ErrorKind::TimedOut)?;
        self.socket.read(buffer)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.agent.left(self.deadline).map_err(|_| ErrorKind::TimedOut)?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// Reads what has arrived; whether the answer is whole.
fn take(
    reader: &mut ResponseReader,
    unread: &mut Vec<u8>,
    answered: &mut Answered,
) -> Result<bool, AgentError> {
    loop {
        let reading = reader.read_to(unread, answered).map_err(AgentError::Answer)?;
        let (consumed, then) = (reading.consumed, reading.then);
        let body = reading.body.to_vec();
        answered.body.extend_from_slice(&body);
        unread.drain(..consumed);
        match then {
            AfterStep::ReadRest => {}
            AfterStep::Wait => return Ok(false),
            AfterStep::Finish => return Ok(true),
        }
    }
}

/// Where a request goes.
#[derive(Debug)]
struct Target {
    server_name: ServerName<'static>,
    host: String,
    port: u16,
    authority: String,
}

impl Target {
    fn of<B>(request: &Request<B>) -> Result<Self, AgentError> {
        let url = request.uri();
        let wrong = || AgentError::Url(url.to_string());
        if url.scheme_str() != Some("https") {
            return Err(wrong());
        }
        let host = url.host().ok_or_else(wrong)?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let server_name = ServerName::try_from(host.to_owned()).map_err(|_| wrong())?;
        let authority = url.authority().map_or(host, |authority| authority.as_str());
        let port = url.port_u16().unwrap_or(wire::http::url::HTTPS_PORT);
        Ok(Self { server_name, host: host.to_owned(), port, authority: authority.to_owned() })
    }
}

fn request_bytes(request: Request<BodyWrapper<Bytes>>, authority: &str) -> Vec<u8> {
    let (head, body) = request.into_parts();
    let body = whole_body(body);
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let mut bytes =
        format!("{} {path} HTTP/1.1\r\nHost: {authority}\r\n", head.method).into_bytes();
    for (name, value) in &head.headers {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    if head.method == Verb::POST {
        bytes.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
    }
    bytes.extend_from_slice(b"Connection: close\r\n\r\n");
    bytes.extend_from_slice(&body);
    bytes
}

/// The body of a request. It is in memory, so it is ready when it is first polled.
fn whole_body(body: BodyWrapper<Bytes>) -> Bytes {
    let mut body = pin!(body);
    let mut context = Context::from_waker(Waker::noop());
    match body.as_mut().poll_frame(&mut context) {
        Poll::Ready(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
        Poll::Ready(None | Some(Err(_))) | Poll::Pending => Bytes::new(),
    }
}

impl HttpClient for Agent {
    /// The exchange is over when this returns, so a future of `instant-acme` never waits.
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, instant_acme::Error>> + Send>> {
        let failed = |error: AgentError| instant_acme::Error::Other(Box::new(error));
        let result = self.exchange(request).map_err(failed).and_then(|answered| {
            self.note(&answered);
            if answered.is_foreign() {
                return Err(failed(AgentError::Status(answered.status)));
            }
            let mut response = Response::builder().status(answered.status);
            for (name, value) in &answered.fields {
                response = response.header(name.as_slice(), value.as_slice());
            }
            let (parts, ()) = response.body(())?.into_parts();
            Ok(BytesResponse { parts, body: Box::new(Bytes::from(answered.body)) })
        });
        Box::pin(ready(result))
    }
}
