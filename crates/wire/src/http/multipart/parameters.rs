//! Parameters of a field's value, as `Content-Type` and `Content-Disposition` have them, and the boundary.
//!
//! Owns how a quoted name is read: browsers, curl and libraries write it in three ways.

use super::MultipartError;
use crate::http::target::decode_pair;

/// Most characters of a boundary (RFC 2046 section 5.1.1).
const BOUNDARY_SIZE: usize = 70;

/// The text between the parts of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boundary(Vec<u8>);

impl Boundary {
    /// The boundary in a `Content-Type`; `None` if the body is not `multipart/form-data`.
    ///
    /// # Errors
    /// If it is, but its boundary is missing or invalid.
    pub fn of_content_type(value: &[u8]) -> Result<Option<Self>, MultipartError> {
        let (media_type, parameters) = split_value(value);
        if !media_type.eq_ignore_ascii_case(b"multipart/form-data") {
            return Ok(None);
        }
        for parameter in Parameters::of(parameters) {
            let (name, value) = parameter.ok_or(MultipartError::InvalidBoundary)?;
            if name.eq_ignore_ascii_case(b"boundary") {
                let mut boundary = Vec::new();
                unquote(value, &mut boundary);
                return Self::new(boundary).map(Some);
            }
        }
        Err(MultipartError::MissingBoundary)
    }

    fn new(boundary: Vec<u8>) -> Result<Self, MultipartError> {
        let is_valid = (1..=BOUNDARY_SIZE).contains(&boundary.len())
            && boundary.iter().all(|byte| is_boundary_character(*byte))
            && boundary.last() != Some(&b' ');
        if is_valid { Ok(Self(boundary)) } else { Err(MultipartError::InvalidBoundary) }
    }

    /// Its characters.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// `bchars` of RFC 2046 section 5.1.1.
fn is_boundary_character(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(&byte)
}

/// Splits the value of a field into the value and its parameters.
pub(super) fn split_value(value: &[u8]) -> (&[u8], &[u8]) {
    let end = memchr::memchr(b';', value).unwrap_or(value.len());
    let (kind, parameters) = value.split_at(end);
    (kind.trim_ascii(), parameters)
}

/// A parameter's value as it was written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Written<'b> {
    Token(&'b [u8]),
    /// Without its quotation marks.
    Quoted(&'b [u8]),
}

/// Names and values of parameters; `None` for invalid syntax.
pub(super) struct Parameters<'b> {
    rest: &'b [u8],
}

impl<'b> Parameters<'b> {
    /// The parameters in `rest`, each preceded by a semicolon.
    pub(super) fn of(rest: &'b [u8]) -> Self {
        Self { rest }
    }

    fn parameter(&mut self) -> Option<(&'b [u8], Written<'b>)> {
        let equals = memchr::memchr(b'=', self.rest)?;
        let name = self.rest.get(..equals)?.trim_ascii();
        if name.is_empty() || name.iter().any(|byte| b"; \t\"".contains(byte)) {
            return None;
        }
        let value = self.rest.get(equals + 1..)?.trim_ascii_start();
        if let Some(quoted) = value.strip_prefix(b"\"") {
            let end = end_of_quoted(quoted)?;
            self.rest = quoted.get(end + 1..)?.trim_ascii_start();
            return Some((name, Written::Quoted(quoted.get(..end)?)));
        }
        let (token, rest) = split_value(value);
        self.rest = rest;
        let is_token = !token.is_empty() && !token.iter().any(|byte| b" \t\"".contains(byte));
        is_token.then_some((name, Written::Token(token)))
    }
}

impl<'b> Iterator for Parameters<'b> {
    type Item = Option<(&'b [u8], Written<'b>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let is_separated = self.rest.first() == Some(&b';');
        self.rest = self.rest.get(1..).unwrap_or_default().trim_ascii_start();
        if is_separated && self.rest.is_empty() {
            // Some senders write a semicolon at the end.
            return None;
        }
        let parameter = if is_separated { self.parameter() } else { None };
        if parameter.is_none() {
            self.rest = &[];
        }
        Some(parameter)
    }
}

/// The index of the quotation mark that ends a value. A mark after a backslash does not end it, unless it is the last:
/// browsers do not escape a backslash, even at the end of a name.
fn end_of_quoted(text: &[u8]) -> Option<usize> {
    let mut is_escaped = false;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'"' if !is_escaped => return Some(at),
            b'"' if memchr::memchr(b'"', text.get(at + 1..)?).is_none() => return Some(at),
            _ => is_escaped = *byte == b'\\' && !is_escaped,
        }
    }
    None
}

/// Appends a value without its escapes: of a quotation mark and of a backslash, as in RFC 9110 section 5.6.4.
/// A backslash before any other character is kept, because browsers do not escape it.
fn unquote(written: Written<'_>, out: &mut Vec<u8>) {
    let quoted = match written {
        Written::Token(token) => return out.extend_from_slice(token),
        Written::Quoted(quoted) => quoted,
    };
    let mut rest = quoted;
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        match (byte, behind.split_first()) {
            (b'\\', Some((escaped @ (b'"' | b'\\'), behind))) => {
                out.push(*escaped);
                rest = behind;
            }
            _ => out.push(*byte),
        }
    }
}

/// Appends the name in a value: unquoted, and with the three characters decoded that browsers percent-encode
/// (HTML, "multipart/form-data encoding algorithm"). No other `%` has a meaning.
pub(super) fn decode(written: Written<'_>, out: &mut Vec<u8>) {
    let begin = out.len();
    unquote(written, out);
    let escaped = out.split_off(begin);
    let mut rest = escaped.as_slice();
    while let Some((byte, behind)) = rest.split_first() {
        let decoded = match (byte, behind.get(..2)) {
            (b'%', Some(b"22")) => Some(b'"'),
            (b'%', Some(b"0D" | b"0d")) => Some(b'\r'),
            (b'%', Some(b"0A" | b"0a")) => Some(b'\n'),
            _ => None,
        };
        out.push(decoded.unwrap_or(*byte));
        rest = if decoded.is_some() { behind.get(2..).unwrap_or_default() } else { behind };
    }
}

/// Appends an extended value, as in `UTF-8'en'%e2%82%ac.txt` (RFC 8187 section 3.2), in UTF-8. `None` if it is not one.
pub(super) fn decode_extended(written: Written<'_>, out: &mut Vec<u8>) -> Option<()> {
    let (Written::Token(text) | Written::Quoted(text)) = written;
    let mut parts = text.splitn(3, |byte| *byte == b'\'');
    let (charset, _language, value) = (parts.next()?, parts.next()?, parts.next()?);
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        bytes.push(match byte {
            b'%' => {
                let [high, low, after @ ..] = behind else { return None };
                rest = after;
                decode_pair(*high, *low)?
            }
            byte => *byte,
        });
    }
    if charset.eq_ignore_ascii_case(b"iso-8859-1") {
        for byte in bytes {
            out.extend_from_slice(char::from(byte).encode_utf8(&mut [0; 2]).as_bytes());
        }
        return Some(());
    }
    let is_text = charset.eq_ignore_ascii_case(b"utf-8") && str::from_utf8(&bytes).is_ok();
    is_text.then(|| out.extend_from_slice(&bytes))
}
