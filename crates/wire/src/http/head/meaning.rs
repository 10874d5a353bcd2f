//! The fields that decide where a request goes, where it ends and what follows it.
//!
//! Owns Host, Content-Length, Transfer-Encoding, Connection, Expect and Upgrade. Every other field passes
//! unread. Written for a server that nobody must be able to smuggle a request through: whatever two
//! parsers could read differently is refused, or at least ends the connection.

use super::fields::Initials;
use super::request_line::RequestLine;
use super::{FieldLines, Framing, HttpVersion, authority, trim};
use crate::http::method::Method;
use crate::http::refusal::Reason;
use crate::http::url::{Scheme, is_same_authority};
use crate::limits::{CONTENT_LENGTH_DIGITS, CONTENT_LENGTH_MAX};

/// The meaning of the fields read so far.
pub(super) struct Meaning<'b> {
    version: HttpVersion,
    length: Option<u64>,
    coding: Coding,
    connection: Connection,
    expectation: Expectation,
    upgrade: Option<&'b [u8]>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Coding {
    None,
    Chunked,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expectation {
    None,
    Continue,
}

/// The options of Connection that have a meaning here (RFC 9110, 7.6.1). Plain data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Connection {
    pub(crate) close: bool,
    pub(crate) keep_alive: bool,
    upgrade: bool,
}

impl Connection {
    /// No option.
    pub(in crate::http) const NONE: Connection =
        Connection { close: false, keep_alive: false, upgrade: false };

    /// Adds one Connection field.
    #[inline(never)]
    pub(in crate::http) fn note(&mut self, value: &[u8]) {
        for option in value.split(|&byte| byte == b',').map(trim) {
            match option.len() {
                5 if is(option, b"close") => self.close = true,
                7 if is(option, b"upgrade") => self.upgrade = true,
                10 if is(option, b"keep-alive") => self.keep_alive = true,
                _ => {}
            }
        }
    }
}

/// The first letters of the fields other than Host that have a meaning here.
const UNUSUAL: Initials = Initials::of(b"content-length")
    .and(Initials::of(b"connection"))
    .and(Initials::of(b"transfer-encoding"))
    .and(Initials::of(b"expect"))
    .and(Initials::of(b"upgrade"));

/// The meaning of all fields together. Plain data.
pub(crate) struct Conclusion<'b> {
    pub(crate) host: Option<&'b [u8]>,
    pub(crate) framing: Framing,
    pub(crate) persistent: bool,
    pub(crate) expects_continue: bool,
    pub(crate) upgrade: Option<&'b [u8]>,
}

impl<'b> Meaning<'b> {
    #[inline(always)]
    pub(super) fn new(version: HttpVersion) -> Meaning<'b> {
        Meaning {
            version,
            length: None,
            coding: Coding::None,
            connection: Connection::NONE,
            expectation: Expectation::None,
            upgrade: None,
        }
    }

    /// Adds one field that is not Host. The length of the name and its first byte exclude nearly every field.
    #[inline(always)]
    pub(super) fn note(&mut self, name: &[u8], line: &'b [u8]) -> Result<(), Reason> {
        match name.len() {
            6 if is(name, b"expect") => self.note_expect(trim(line)),
            7 if is(name, b"upgrade") => {
                self.upgrade = self.upgrade.or(Some(trim(line)));
                Ok(())
            }
            10 if is(name, b"connection") => {
                self.connection.note(line);
                Ok(())
            }
            14.. if may_resemble(name) => self.note_framing(name, line),
            _ => Ok(()),
        }
    }

    #[inline(never)]
    fn note_framing(&mut self, name: &[u8], line: &'b [u8]) -> Result<(), Reason> {
        if name.eq_ignore_ascii_case(b"content-length") {
            return self.note_length(trim(line));
        }
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            return self.note_coding(line);
        }
        if imitates_framing(name) {
            return Err(Reason::DisguisedFraming);
        }
        Ok(())
    }

    #[inline(never)]
    fn note_expect(&mut self, value: &[u8]) -> Result<(), Reason> {
        if !value.eq_ignore_ascii_case(b"100-continue") {
            return Err(Reason::ExpectationUnknown);
        }
        self.expectation = Expectation::Continue;
        Ok(())
    }

    /// RFC 9112, 6.3. Equal duplicates are refused too: they show that an intermediary merged lines.
    fn note_length(&mut self, value: &[u8]) -> Result<(), Reason> {
        if self.length.is_some() {
            return Err(Reason::DuplicateContentLength);
        }
        if self.coding != Coding::None {
            return Err(Reason::LengthAndCoding);
        }
        self.length = Some(parse_length(value).ok_or(Reason::InvalidContentLength)?);
        Ok(())
    }

    /// RFC 9112, 6.1 and 7: exactly one `chunked`, last, without parameters; no other coding is known.
    fn note_coding(&mut self, value: &[u8]) -> Result<(), Reason> {
        if self.version == HttpVersion::Http10 {
            return Err(Reason::CodingInHttp10);
        }
        if self.length.is_some() {
            return Err(Reason::LengthAndCoding);
        }
        for coding in value.split(|&byte| byte == b',').map(trim) {
            if self.coding == Coding::Chunked || !super::is_token(coding) {
                return Err(Reason::InvalidTransferEncoding);
            }
            if !coding.eq_ignore_ascii_case(b"chunked") {
                return Err(Reason::CodingUnknown);
            }
            self.coding = Coding::Chunked;
        }
        Ok(())
    }

    /// The meaning of all fields together with the request line.
    #[inline(always)]
    pub(super) fn conclude(
        &self,
        scheme: Scheme,
        line: &RequestLine<'b>,
        fields: &FieldLines<'b>,
    ) -> Result<Conclusion<'b>, Reason> {
        let is_http11 = line.version == HttpVersion::Http11;
        if fields.host.is_none() && is_http11 {
            return Err(Reason::MissingHost);
        }
        if let (Some(authority), Some(host)) = (line.authority, fields.host)
            && !is_same_authority(scheme, authority, host)
        {
            return Err(Reason::HostMismatch);
        }
        let usual = Conclusion {
            host: line.authority.or(fields.host),
            framing: Framing::None,
            persistent: is_http11,
            expects_continue: false,
            upgrade: None,
        };
        if fields.initials.may_have(UNUSUAL) {
            return Ok(self.conclude_unusual(line, usual));
        }
        Ok(usual)
    }

    #[inline(never)]
    fn conclude_unusual(&self, line: &RequestLine<'b>, usual: Conclusion<'b>) -> Conclusion<'b> {
        let is_http11 = line.version == HttpVersion::Http11;
        let framing = match (self.coding, self.length) {
            (Coding::Chunked, _) => Framing::Chunked,
            (Coding::None, Some(length)) => Framing::Length(length),
            (Coding::None, None) => Framing::None,
        };
        let has_body = !matches!(framing, Framing::None | Framing::Length(0));
        // RFC 9110, 9.3.1 and 9.3.2: a body of GET or HEAD has no meaning, and one side of a proxy may not
        // see it. It is read, but the connection ends after it, so that nothing in it is taken for a request.
        let is_doubtful = has_body && matches!(line.method, Method::Get | Method::Head);
        let stays = if is_http11 { true } else { self.connection.keep_alive };
        Conclusion {
            framing,
            persistent: stays && !self.connection.close && !is_doubtful,
            // RFC 9110, 10.1.1: ignored in HTTP/1.0. Without a body there is nothing to wait for.
            expects_continue: self.expectation == Expectation::Continue && is_http11 && has_body,
            // RFC 9110, 7.8: ignored in HTTP/1.0 and without the connection option.
            upgrade: self.upgrade.filter(|_| self.connection.upgrade && is_http11 && !has_body),
            ..usual
        }
    }
}

#[inline(always)]
pub(super) fn is_host(name: &[u8]) -> bool {
    name.len() == 4 && is(name, b"host")
}

/// The value of a Host line; `known` is an earlier one.
#[inline(never)]
pub(super) fn read_host<'b>(line: &'b [u8], known: Option<&'b [u8]>) -> Result<&'b [u8], Reason> {
    let value = trim(line);
    if known.is_some() {
        return Err(Reason::DuplicateHost);
    }
    if !authority::is_valid(value) {
        return Err(Reason::InvalidHost);
    }
    Ok(value)
}

/// Whether a token equals `lower`, ignoring case. Setting bit 5 makes letters lower-case, and makes no other
/// byte of a token equal to a byte of these names.
#[inline(always)]
pub(in crate::http) fn is<const N: usize>(token: &[u8], lower: &[u8; N]) -> bool {
    token.first_chunk::<N>().is_some_and(|bytes| bytes.map(|byte| byte | 0x20) == *lower)
}

/// Parses a Content-Length: digits only, a number of at most 2^63 (RFC 9110, 8.6).
pub(crate) fn parse_length(value: &[u8]) -> Option<u64> {
    if value.is_empty() || value.len() > CONTENT_LENGTH_DIGITS {
        return None;
    }
    let mut length = 0u64;
    for &byte in value {
        if !byte.is_ascii_digit() {
            return None;
        }
        // Nineteen digits fit into 64 bits.
        length = length * 10 + u64::from(byte - b'0');
    }
    (length <= CONTENT_LENGTH_MAX).then_some(length)
}

/// Whether a name is not one of the two that frame a body, but other parsers may take it for one.
pub(in crate::http) fn imitates_framing(name: &[u8]) -> bool {
    let is_one = name.eq_ignore_ascii_case(b"content-length")
        || name.eq_ignore_ascii_case(b"transfer-encoding");
    let is_like =
        resembles(name, b"content", b"length") || resembles(name, b"transfer", b"encoding");
    name.len() >= 14 && is_like && !is_one
}

/// Whether a long name may be one of the two that frame a body, or may imitate one.
#[inline(always)]
pub(in crate::http) fn may_resemble(name: &[u8]) -> bool {
    name.len() >= 14
        && name.first().is_some_and(|&byte| {
            matches!(byte | 0x20, b'c' | b't') || !byte.is_ascii_alphanumeric()
        })
}

/// Whether the letters and digits of a name are those of a two-part name, or the beginning of it, perhaps with
/// another byte for the hyphen: a parser that drops or replaces invalid bytes would read that name.
fn resembles(name: &[u8], front: &[u8], back: &[u8]) -> bool {
    let marks = || name.iter().filter(|byte| byte.is_ascii_alphanumeric());
    let without_middle = marks().take(front.len()).chain(marks().skip(front.len() + 1));
    marks().next().is_some()
        && (are_first(marks(), front, back) || are_first(without_middle, front, back))
}

fn are_first<'a>(mut marks: impl Iterator<Item = &'a u8>, front: &[u8], back: &[u8]) -> bool {
    let mut letters = front.iter().chain(back);
    marks.all(|mark| letters.next() == Some(&mark.to_ascii_lowercase()))
}
