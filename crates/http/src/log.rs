//! Access log lines, formatted on the scheduler and handed over in batches.
//!
//! Owns the format and a scheduler's buffer of lines. Never writes to a file: a writer thread does,
//! and if it cannot keep up, whole batches are dropped and their lines counted. Everything from a
//! client is escaped, so that no line can be forged (see [`wire::escape`]).

use runtime::clock::Now;
use runtime::transport::{Agreed, ClientCertificate};
use sys::socket::Peer;
use wire::access_log::{Known, LogField, LogFormat, LogPiece};
use wire::escape::{escape_json, escape_log};
use wire::http::trace_context::TraceId;
use wire::http::url::Scheme;

use super::notes::{Notes, ProxiedNotes};
use super::request::Request;
use super::sent::SentAnswer;
use super::time_stamp::TimeStamp;
use crate::limits::LOG_REFUSED_BYTES;

/// The content of one line.
///
/// A connection makes one for each answer; [`AccessLog`] writes it.
pub struct AccessLine<'a> {
    peer: Peer,
    now: Now,
    /// The request; `None` if the input was none.
    request: Option<&'a Request<'a>>,
    /// The request line as it was sent; empty if there was no request.
    request_line: &'a [u8],
    sent: SentAnswer,
    /// When the first part of the answer was written, on the monotonic clock; `None`: nothing was.
    first_ns: Option<u64>,
    notes: &'a Notes,
}

impl<'a> AccessLine<'a> {
    /// The line of a request. `first_ns` is when the first part of its answer was written; `None`: nothing was.
    pub(super) fn of(
        request: &'a Request<'a>,
        sent: SentAnswer,
        first_ns: Option<u64>,
        now: Now,
        notes: &'a Notes,
    ) -> Self {
        let request_line = request.head.line();
        let peer = request.peer;
        let request = Some(request);
        Self { peer, now, request, request_line, sent, first_ns, notes }
    }

    /// The line for input that was no request, with its first bytes.
    pub(super) fn of_refused(
        peer: Peer,
        seen: &'a [u8],
        sent: SentAnswer,
        now: Now,
        notes: &'a Notes,
    ) -> Self {
        let seen = &seen[..seen.len().min(LOG_REFUSED_BYTES)];
        let line_end = seen.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
        let request_line = &seen[..line_end.unwrap_or(seen.len())];
        let first_ns = Some(now.monotonic_ns);
        Self { peer, now, request: None, request_line, sent, first_ns, notes }
    }

    /// The value of a field of the request.
    fn header(&self, name: &str) -> &'a [u8] {
        self.request.and_then(|request| request.field(name)).unwrap_or_default()
    }

    /// The agreement with the client, if the connection is encrypted.
    fn secured(&self) -> Option<&'a Agreed> {
        self.request.and_then(|request| request.secured).map(|agreed| &**agreed)
    }

    /// Milliseconds since the head of the request was complete.
    fn since_head(&self, until_ns: u64) -> Option<f64> {
        let began_ns = self.request?.begin.began_ns();
        Some(until_ns.saturating_sub(began_ns) as f64 / 1e6)
    }

    /// The value of a field, in one of the forms that a line can show.
    fn value(&self, field: &LogField) -> Value<'a> {
        let known = match field {
            LogField::Header(name) => return Value::Bytes(self.header(name)),
            LogField::Known(known) => *known,
        };
        let head = self.request.map(|request| request.head);
        let text = |text: &'a str| Value::Bytes(text.as_bytes());
        match known {
            Known::Time => Value::Time,
            Known::Peer => Value::Peer(self.peer),
            Known::Proxy => {
                self.request.and_then(|request| request.via).map_or(Value::None, Value::Peer)
            }
            Known::Host => Value::Bytes(head.and_then(|head| head.host).unwrap_or_default()),
            Known::Request => Value::Bytes(self.request_line),
            Known::Method => head.map_or(Value::None, |head| text(head.method.as_str())),
            Known::Path => head.map_or(Value::None, |head| Value::Bytes(head.split_target().0)),
            Known::Query => {
                Value::Bytes(head.and_then(|head| head.split_target().1).unwrap_or_default())
            }
            Known::Scheme => match head.map(|head| head.scheme) {
                Some(Scheme::Https) => text("https"),
                Some(Scheme::Http) => text("http"),
                None => Value::None,
            },
            Known::Status => Value::Number(u64::from(self.sent.status.code())),
            Known::Bytes => Value::Number(self.sent.body_bytes),
            Known::BytesIn => {
                self.request.map_or(Value::None, |request| Value::Number(request.received))
            }
            Known::DurationMs => {
                self.since_head(self.now.monotonic_ns).map_or(Value::None, Value::Milliseconds)
            }
            Known::FirstByteMs => {
                let since = self.first_ns.and_then(|first_ns| self.since_head(first_ns));
                since.map_or(Value::None, Value::Milliseconds)
            }
            Known::RequestId => self.request.map_or(Value::None, Value::Id),
            Known::TraceId => {
                let trace = self.request.and_then(|request| request.trace());
                trace.map_or(Value::None, Value::Trace)
            }
            Known::Route => text(&self.notes.route),
            Known::User => text(&self.notes.user),
            Known::Tls => self.secured().map_or(Value::None, |agreed| text(agreed.version)),
            Known::TlsClientSubject | Known::TlsClientIssuer | Known::TlsClientFingerprint => {
                let client = self.secured().and_then(|agreed| agreed.client.as_ref());
                client.map_or(Value::None, |client| text(shown_by(client, known)))
            }
            Known::Referer => Value::Bytes(self.header("referer")),
            Known::UserAgent => Value::Bytes(self.header("user-agent")),
            Known::Upstream
            | Known::UpstreamAddress
            | Known::UpstreamStatus
            | Known::UpstreamConnectMs
            | Known::UpstreamFirstByteMs
            | Known::UpstreamMs => {
                let passed_on = self.notes.passed_on.as_ref();
                passed_on.and_then(|it| value_of(it, known, self.now)).unwrap_or(Value::None)
            }
        }
    }
}

/// The value of a field of a client's certificate.
fn shown_by(client: &ClientCertificate, known: Known) -> &str {
    match known {
        Known::TlsClientSubject => &client.subject,
        Known::TlsClientIssuer => &client.issuer,
        _ => &client.fingerprint,
    }
}

/// The value of a field of a request that was passed on.
fn value_of(passed_on: &ProxiedNotes, known: Known, now: Now) -> Option<Value<'_>> {
    match known {
        Known::Upstream => Some(Value::Bytes(passed_on.upstream.as_bytes())),
        Known::UpstreamAddress if passed_on.addresses.is_empty() => None,
        Known::UpstreamAddress => Some(Value::Bytes(passed_on.addresses.as_bytes())),
        Known::UpstreamStatus => passed_on.status.map(|status| Value::Number(u64::from(status))),
        Known::UpstreamConnectMs => passed_on.connect_ms.map(Value::Milliseconds),
        Known::UpstreamFirstByteMs => passed_on.first_byte_ms.map(Value::Milliseconds),
        _ => {
            let ended_ns = passed_on.ended_ns.unwrap_or(now.monotonic_ns);
            let whole_ns = ended_ns.saturating_sub(passed_on.began_ns);
            Some(Value::Milliseconds(whole_ns as f64 / 1e6))
        }
    }
}

/// The value of a field.
enum Value<'a> {
    /// There is none.
    None,
    /// The time of the line.
    Time,
    Peer(Peer),
    Number(u64),
    Milliseconds(f64),
    Id(&'a Request<'a>),
    Trace(TraceId),
    /// Text from anywhere; empty means that there is none.
    Bytes(&'a [u8]),
}

/// The lines of one scheduler that wait to be handed over.
///
/// ```
/// use http::{AccessLog, Function, Http, LogFormat, Reply, Request, HttpSettings};
/// use world::Stage;
///
/// let answer = |_request: &Request<'_>, reply: &mut Reply<'_>| reply.text("hello");
/// let log = || Some(AccessLog::new(LogFormat::Combined));
/// let mut stage = Stage::new(1, || Http::new(Function(answer), HttpSettings::default().into(), log()));
/// let client = stage.connect();
/// stage.exchange(client, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
///
/// let http = stage.schedulers()[0].service();
/// assert_eq!(http.stats().requests, 1);
/// let (lines, count) = http.log_mut().as_mut().expect("it was given one").take();
/// assert_eq!(count, 1);
/// assert!(String::from_utf8_lossy(&lines).contains("\"GET /a HTTP/1.1\" 200 5"));
/// ```
#[derive(Debug)]
pub struct AccessLog {
    format: LogFormat,
    lines: Vec<u8>,
    count: u64,
    first_ms: u64,
    stamp: TimeStamp,
}

/// Bytes of lines that are handed over before [`BATCH_MS`].
///
/// Limit: at twice this many bytes, if the writer cannot keep up, the batch is dropped and counted.
const BATCH_BYTES: usize = 16 * 1024;

/// Milliseconds that a line waits at most before it is handed over.
const BATCH_MS: u64 = 200;

impl AccessLog {
    /// An empty log.
    pub fn new(format: LogFormat) -> Self {
        Self { format, lines: Vec::new(), count: 0, first_ms: 0, stamp: TimeStamp::default() }
    }

    /// Adds a line.
    pub fn write(&mut self, line: &AccessLine<'_>) {
        if self.lines.is_empty() {
            self.first_ms = line.now.monotonic_ms();
        }
        self.count += 1;
        self.stamp.set(line.now.unix_seconds);
        // Taken, because a clone would write the count that all schedulers share.
        let format = std::mem::replace(&mut self.format, LogFormat::Combined);
        match &format {
            LogFormat::Combined => self.combined(line),
            LogFormat::Json(fields) => self.json(fields, line),
            LogFormat::Text(pieces) => self.text(pieces, line),
        }
        self.format = format;
        self.lines.push(b'\n');
    }

    /// Whether the waiting lines should be handed over now.
    pub fn is_due(&self, now: Now) -> bool {
        self.lines.len() >= BATCH_BYTES
            || (!self.lines.is_empty() && now.monotonic_ms() >= self.first_ms + BATCH_MS)
    }

    /// Milliseconds until the waiting lines are due; `None` if there are none.
    pub fn due_in_ms(&self, now: Now) -> Option<u64> {
        let waited_ms = now.monotonic_ms().saturating_sub(self.first_ms);
        (!self.lines.is_empty()).then(|| BATCH_MS.saturating_sub(waited_ms))
    }

    /// Whether the writer is so far behind that lines have to be dropped.
    pub fn is_overfull(&self) -> bool {
        self.lines.len() >= 2 * BATCH_BYTES
    }

    /// Takes the lines and their count.
    pub fn take(&mut self) -> (Vec<u8>, u64) {
        (std::mem::take(&mut self.lines), std::mem::take(&mut self.count))
    }

    /// Puts back lines that could not be handed over.
    pub fn put_back(&mut self, lines: Vec<u8>, count: u64) {
        debug_assert!(self.lines.is_empty(), "put back at once");
        self.lines = lines;
        self.count = count;
    }

    fn combined(&mut self, line: &AccessLine<'_>) {
        let out = &mut self.lines;
        write_peer(out, line.peer);
        out.extend_from_slice(b" - ");
        escape_log(out, dash_if_empty(line.notes.user.as_bytes()));
        out.extend_from_slice(b" [");
        out.extend_from_slice(self.stamp.common());
        out.extend_from_slice(b"] \"");
        escape_log(out, dash_if_empty(line.request_line));
        out.extend_from_slice(b"\" ");
        write_number(out, u64::from(line.sent.status.code()));
        out.push(b' ');
        write_number(out, line.sent.body_bytes);
        out.extend_from_slice(b" \"");
        escape_log(out, dash_if_empty(line.header("referer")));
        out.extend_from_slice(b"\" \"");
        escape_log(out, dash_if_empty(line.header("user-agent")));
        out.push(b'"');
    }

    fn json(&mut self, fields: &[LogField], line: &AccessLine<'_>) {
        self.lines.push(b'{');
        for (index, field) in fields.iter().enumerate() {
            if index > 0 {
                self.lines.push(b',');
            }
            self.lines.push(b'"');
            match field {
                LogField::Known(known) => self.lines.extend_from_slice(known.name().as_bytes()),
                LogField::Header(_) => escape_json(&mut self.lines, field.name().as_bytes()),
            }
            self.lines.extend_from_slice(b"\":");
            let value = line.value(field);
            let is_quoted = match value {
                Value::None | Value::Bytes(b"") => {
                    self.lines.extend_from_slice(b"null");
                    continue;
                }
                Value::Number(_) | Value::Milliseconds(_) => false,
                Value::Time | Value::Peer(_) | Value::Id(_) | Value::Trace(_) | Value::Bytes(_) => {
                    true
                }
            };
            if is_quoted {
                self.lines.push(b'"');
            }
            self.put(&value, line.now, escape_json);
            if is_quoted {
                self.lines.push(b'"');
            }
        }
        self.lines.push(b'}');
    }

    fn text(&mut self, pieces: &[LogPiece], line: &AccessLine<'_>) {
        for piece in pieces {
            match piece {
                LogPiece::Literal(text) => self.lines.extend_from_slice(text.as_bytes()),
                LogPiece::Field(field) => match line.value(field) {
                    Value::None | Value::Bytes(b"") => self.lines.push(b'-'),
                    value => self.put(&value, line.now, escape_log),
                },
            }
        }
    }

    /// Writes a value; what came from outside is escaped.
    fn put(&mut self, value: &Value<'_>, now: Now, escape: fn(&mut Vec<u8>, &[u8])) {
        use std::io::Write;
        let out = &mut self.lines;
        match value {
            Value::None => {}
            Value::Time => {
                out.extend_from_slice(self.stamp.iso());
                write!(out, ".{:03}Z", now.unix_ms() % 1000).expect("a Vec takes every byte");
            }
            Value::Peer(peer) => write_peer(out, *peer),
            Value::Number(number) => write_number(out, *number),
            Value::Milliseconds(time) => write!(out, "{time:.3}").expect("a Vec takes every byte"),
            Value::Id(request) => escape(out, request.id().as_bytes()),
            Value::Trace(trace) => write!(out, "{trace}").expect("a Vec takes every byte"),
            Value::Bytes(bytes) => escape(out, bytes),
        }
    }
}

fn dash_if_empty(bytes: &[u8]) -> &[u8] {
    if bytes.is_empty() { b"-" } else { bytes }
}

fn write_number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn write_peer(out: &mut Vec<u8>, peer: Peer) {
    use std::io::Write;
    if peer == Peer::LOCAL {
        out.extend_from_slice(b"unix:");
        return;
    }
    write!(out, "{}", peer.address).expect("a Vec takes every byte");
}
