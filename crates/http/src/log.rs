//! Access log lines, formatted on the scheduler and handed over in batches.
//!
//! Owns the format and a scheduler's buffer of lines. Never writes to a file: a writer thread does,
//! and if it cannot keep up, whole batches are dropped and their lines counted. Everything from a
//! client is escaped, so that no line can be forged (see [`wire::escape`]).

use runtime::clock::Now;
use sys::socket::Peer;
use wire::access_log::LogFormat;
use wire::escape::{escape_json, escape_log};
use wire::http::status::Status;

use super::request::Request;
use crate::limits::LOG_REFUSED_BYTES;

/// The content of one line.
///
/// A connection makes one for each answer; [`AccessLog`] writes it.
pub struct AccessLine<'a> {
    peer: Peer,
    now: Now,
    /// The request line as it was sent; empty if there was no request.
    request_line: &'a [u8],
    host: &'a [u8],
    status: Status,
    body_bytes: u64,
    referer: &'a [u8],
    user_agent: &'a [u8],
}

impl<'a> AccessLine<'a> {
    /// The line of an answered request.
    pub(super) fn of(request: &Request<'a>, status: Status, body_bytes: u64, now: Now) -> Self {
        Self {
            peer: request.peer,
            now,
            request_line: request.head.line(),
            host: request.head.host.unwrap_or_default(),
            status,
            body_bytes,
            referer: request.field("referer").unwrap_or_default(),
            user_agent: request.field("user-agent").unwrap_or_default(),
        }
    }

    /// The line for input that was no request, with its first bytes.
    pub(super) fn of_refused(
        peer: Peer,
        seen: &'a [u8],
        status: Status,
        body_bytes: u64,
        now: Now,
    ) -> Self {
        let seen = &seen[..seen.len().min(LOG_REFUSED_BYTES)];
        let line_end = seen.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
        Self {
            peer,
            now,
            request_line: &seen[..line_end.unwrap_or(seen.len())],
            host: &[],
            status,
            body_bytes,
            referer: &[],
            user_agent: &[],
        }
    }
}

/// The lines of one scheduler that wait to be handed over.
///
/// ```
/// use http::{AccessLog, Function, Http, LogFormat, Reply, Request, Settings};
/// use world::Stage;
///
/// let answer = |_request: &Request<'_>, reply: &mut Reply<'_>| reply.text("hello");
/// let log = || Some(AccessLog::new(LogFormat::Combined));
/// let mut stage = Stage::new(1, || Http::new(Function(answer), Settings::default().into(), log()));
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
        match self.format {
            LogFormat::Combined => self.combined(line),
            LogFormat::Json => self.json(line),
        }
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
        out.extend_from_slice(b" - - [");
        out.extend_from_slice(&self.stamp.common);
        out.extend_from_slice(b"] \"");
        escape_log(out, dash_if_empty(line.request_line));
        out.extend_from_slice(b"\" ");
        write_number(out, u64::from(line.status.code()));
        out.push(b' ');
        write_number(out, line.body_bytes);
        out.extend_from_slice(b" \"");
        escape_log(out, dash_if_empty(line.referer));
        out.extend_from_slice(b"\" \"");
        escape_log(out, dash_if_empty(line.user_agent));
        out.push(b'"');
    }

    fn json(&mut self, line: &AccessLine<'_>) {
        let out = &mut self.lines;
        out.extend_from_slice(b"{\"time\":\"");
        out.extend_from_slice(&self.stamp.iso);
        out.extend_from_slice(b"\",\"peer\":\"");
        write_peer(out, line.peer);
        out.extend_from_slice(b"\",\"host\":\"");
        escape_json(out, line.host);
        out.extend_from_slice(b"\",\"request\":\"");
        escape_json(out, line.request_line);
        out.extend_from_slice(b"\",\"status\":");
        write_number(out, u64::from(line.status.code()));
        out.extend_from_slice(b",\"bytes\":");
        write_number(out, line.body_bytes);
        out.extend_from_slice(b",\"referer\":\"");
        escape_json(out, line.referer);
        out.extend_from_slice(b"\",\"user_agent\":\"");
        escape_json(out, line.user_agent);
        out.extend_from_slice(b"\"}");
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

/// The time of the last line, formatted once per second.
#[derive(Debug, Default)]
struct TimeStamp {
    second: Option<u64>,
    /// `21/Nov/2026:11:36:00 +0000`
    common: Vec<u8>,
    /// `2026-11-21T11:36:00Z`
    iso: Vec<u8>,
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

impl TimeStamp {
    fn set(&mut self, unix_seconds: u64) {
        if self.second == Some(unix_seconds) {
            return;
        }
        self.second = Some(unix_seconds);
        let (year, month, day) = civil_date(unix_seconds / 86_400);
        let second = unix_seconds % 86_400;
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let name = MONTHS[usize::from(month) - 1];
        self.common =
            format!("{day:02}/{name}/{year}:{hour:02}:{minute:02}:{second:02} +0000").into_bytes();
        self.iso =
            format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z").into_bytes();
    }
}

/// The Gregorian date of a day since 1970 (the era arithmetic of Howard Hinnant's "chrono-Compatible Low-Level
/// Date Algorithms").
fn civil_date(days: u64) -> (u64, u8, u8) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month as u8, day as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(civil_date(0), (1970, 1, 1));
        assert_eq!(civil_date(11_016), (2000, 2, 29));
        assert_eq!(civil_date(20_778), (2026, 11, 21));
        let mut stamp = TimeStamp::default();
        stamp.set(20_778 * 86_400 + 3661);
        assert_eq!(stamp.common, b"21/Nov/2026:01:01:01 +0000");
        assert_eq!(stamp.iso, b"2026-11-21T01:01:01Z");
    }
}
