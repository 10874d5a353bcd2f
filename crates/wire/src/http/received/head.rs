//! The head of a response, line by line (RFC 9112, 4 and 5).
//!
//! Owns what must be remembered of the lines that came, which is little: what they say about the end of the
//! body and of the connection. Takes whole lines only; an unfinished one is left to be given again. Never
//! keeps a byte of them: a [`Receiver`] gets each field once.

use super::problem::{ResponseError, ResponsePart, ResponseProblem};
use super::receiver::Receiver;
use super::status_line::{Halt, status_line};
use crate::http::head::meaning::{Connection, is, parse_length};
use crate::http::head::{HeadLimits, HttpVersion, line_end, name_stop, scan, trim};
use crate::http::refusal::Reason;
use crate::limits;

/// The limits for names: a name may be as long as its line, and a line as its head.
const BOUNDS: HeadLimits = HeadLimits {
    head_size: limits::RESPONSE_HEAD_SIZE as usize,
    field_count: limits::RESPONSE_FIELD_COUNT as usize,
    field_size: limits::RESPONSE_HEAD_SIZE as usize,
    field_name_size: limits::RESPONSE_HEAD_SIZE as usize,
    target_size: 0,
};

/// The usual spelling of Content-Length.
const USUAL_LENGTH: &[u8] = b"Content-Length: ";

/// Bytes of a Date line in the one format that is written (RFC 9110, 5.6.7).
const DATE_LINE: usize = 37;

/// The meaning of the lines so far. It shares its memory with the decoder of a body, so every byte counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines {
    /// Content-Length, once it was read.
    length: u64,
    /// Bytes of the lines read.
    size: u16,
    /// Field lines read.
    fields: u8,
    version: HttpVersion,
    declared: Declared,
    connection: Connection,
}

/// The end of the body as the lines so far declare it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Declared {
    Nothing,
    Length,
    Chunked,
}

/// Whether the empty line was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Partial,
    Whole,
}

/// How a body would be delimited, if the response has one (RFC 9112, 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    Length(u64),
    Chunked,
    UntilClose,
}

impl Lines {
    /// Before the first line.
    pub(super) const NONE: Lines = Lines {
        length: 0,
        size: 0,
        fields: 0,
        version: HttpVersion::Http11,
        declared: Declared::Nothing,
        connection: Connection::NONE,
    };

    /// The line that is read next; `status` as in [`Lines::take`].
    pub(super) fn part(&self, status: u16) -> ResponsePart {
        if status == 0 {
            ResponsePart::StatusLine
        } else {
            ResponsePart::Field(u16::from(self.fields) + 1)
        }
    }

    /// How the body is delimited.
    #[inline(always)]
    pub(super) const fn framing(&self) -> Framing {
        match self.declared {
            Declared::Nothing => Framing::UntilClose,
            Declared::Length => Framing::Length(self.length),
            Declared::Chunked => Framing::Chunked,
        }
    }

    /// Whether a body would follow for those who go by the head alone.
    pub(super) const fn announce_a_body(&self) -> bool {
        match self.declared {
            Declared::Nothing => false,
            Declared::Length => self.length > 0,
            Declared::Chunked => true,
        }
    }

    /// Whether the server accepts another request (RFC 9112, 9.3).
    #[inline(always)]
    pub(super) fn are_persistent(&self) -> bool {
        let stays = self.version == HttpVersion::Http11 || self.connection.keep_alive;
        stays && !self.connection.close
    }

    /// Takes all complete lines, up to the empty one, and returns their bytes. The status is zero until
    /// its line was read.
    #[inline(always)]
    pub(super) fn take(
        &mut self,
        status: &mut u16,
        input: &[u8],
        receiver: &mut impl Receiver,
    ) -> Result<(usize, Extent), ResponseError> {
        let room = usize::from(limits::RESPONSE_HEAD_SIZE - self.size);
        // Bytes beyond the limit are never read, so the result does not depend on how many there are.
        let window = input.get(..room).unwrap_or(input);
        let mut at = 0;
        match self.take_all(status, window, &mut at, receiver) {
            Ok(()) => Ok((at, Extent::Whole)),
            Err(Halt::Problem(problem)) => Err(problem.at(self.part(*status))),
            Err(Halt::Partial) if window.len() == room => {
                Err(ResponseProblem::Rule(Reason::HeadTooLarge).at(self.part(*status)))
            }
            Err(Halt::Partial) => {
                // At most the remaining room.
                self.size += at as u16;
                Ok((at, Extent::Partial))
            }
        }
    }

    /// Leaves `at` after the last line that was taken.
    #[inline(always)]
    fn take_all(
        &mut self,
        status: &mut u16,
        input: &[u8],
        at: &mut usize,
        receiver: &mut impl Receiver,
    ) -> Result<(), Halt> {
        if *status == 0 {
            (self.version, *status, *at) = status_line(input)?;
            receiver.begin(self.version, *status);
        }
        loop {
            match input.get(*at) {
                Some(b'\r') => {
                    *at = line_end(input, *at)?;
                    return Ok(());
                }
                // RFC 9112, 5.2: it continues the field before it, which has no meaning here: see `take_field`.
                Some(b' ' | b'\t') if self.fields > 0 => {
                    let end = scan::value(input, *at);
                    let next = line_end(input, end)?;
                    receiver.fold(trim(input.get(*at..end).unwrap_or_default()));
                    *at = next;
                }
                _ => {
                    *at = self.take_field(input, *at, receiver)?;
                    self.fields += 1;
                }
            }
        }
    }

    /// Takes the field line at `at` and returns the index after it.
    #[inline(always)]
    fn take_field(
        &mut self,
        input: &[u8],
        at: usize,
        receiver: &mut impl Receiver,
    ) -> Result<usize, Halt> {
        if let Some(size) = self.take_usual_field(input.get(at..).unwrap_or_default(), receiver) {
            return Ok(at + size);
        }
        let colon = scan::token(input, at);
        let is_room = self.fields < limits::RESPONSE_FIELD_COUNT;
        if !is_room || colon == at || input.get(colon) != Some(&b':') {
            return Err(name_stop(input, at, colon, usize::from(self.fields), &BOUNDS).into());
        }
        // From the first byte again, because a name consists of bytes that a value may contain: so the processor need
        // not wait for the end of the name before it searches for the end of the line.
        let end = scan::value(input, at);
        let next = line_end(input, end)?;
        let name = input.get(at..colon).unwrap_or_default();
        let value = input.get(colon + 1..end).unwrap_or_default();
        if !has_meaning(name) {
            receiver.field(name, trim(value));
            return Ok(next);
        }
        match input.get(next) {
            // The next line may continue the value.
            None => return Err(Halt::Partial),
            Some(b' ' | b'\t') => {
                let (unfolded, next) = unfold(value, input, next)?;
                self.note(name, &unfolded)?;
                receiver.field(name, trim(&unfolded));
                return Ok(next);
            }
            Some(_) => self.note(name, value)?,
        }
        receiver.field(name, trim(value));
        Ok(next)
    }

    /// Takes the fields of nearly every response, as nearly every server writes them, and returns the bytes of the
    /// line. Names, and ends that can be predicted, are compared instead of searched: the processor can predict a
    /// comparison, but must wait for the end of a search. Anything unusual takes the path of all fields.
    #[inline(always)]
    fn take_usual_field(&mut self, line: &[u8], receiver: &mut impl Receiver) -> Option<usize> {
        if self.fields == limits::RESPONSE_FIELD_COUNT {
            return None;
        }
        match line.first()? {
            b'D' => {
                let line = line.first_chunk::<DATE_LINE>()?;
                let is_plain = line.starts_with(b"Date: ")
                    && line.ends_with(b"\r\n")
                    && scan::value(line, 0) == DATE_LINE - 2;
                if !is_plain {
                    return None;
                }
                receiver.field(b"Date", &line[b"Date: ".len()..DATE_LINE - 2]);
                Some(DATE_LINE)
            }
            b'C' => match self.declared {
                Declared::Nothing if line.starts_with(USUAL_LENGTH) => {
                    self.take_usual_length(line, receiver)
                }
                _ => pass_usual_field(line, b"Content-Type: ", receiver),
            },
            b'S' => pass_usual_field(line, b"Server: ", receiver),
            _ => None,
        }
    }

    #[inline(always)]
    fn take_usual_length(&mut self, line: &[u8], receiver: &mut impl Receiver) -> Option<usize> {
        let value = line.strip_prefix(USUAL_LENGTH)?;
        let (mut length, mut digits) = (0u64, 0);
        while let Some(byte @ b'0'..=b'9') = value.get(digits) {
            length = length * 10 + u64::from(byte - b'0');
            digits += 1;
            if digits == limits::CONTENT_LENGTH_DIGITS {
                return None;
            }
        }
        let is_usual =
            matches!(value.get(digits..)?, [b'\r', b'\n', next, ..] if !b" \t".contains(next));
        if digits == 0 || !is_usual {
            return None;
        }
        self.length = length;
        self.declared = Declared::Length;
        receiver.field(b"Content-Length", value.get(..digits)?);
        Some(USUAL_LENGTH.len() + digits + 2)
    }

    /// Adds one field. The length of the name excludes nearly every other field.
    #[inline(always)]
    fn note(&mut self, name: &[u8], value: &[u8]) -> Result<(), ResponseProblem> {
        match name.len() {
            14 if is(name, b"content-length") => self.note_length(trim(value)),
            10 if is(name, b"connection") => {
                self.connection.note(value);
                Ok(())
            }
            17 if is(name, b"transfer-encoding") => self.note_coding(value),
            _ => Ok(()),
        }
    }

    #[inline(always)]
    fn note_length(&mut self, value: &[u8]) -> Result<(), ResponseProblem> {
        let length = match parse_length(value) {
            Some(length) => length,
            None => equal_lengths(value)?,
        };
        self.declared = match self.declared {
            Declared::Nothing => Declared::Length,
            // Two parsers may find different ends of such a body (RFC 9112, 6.3).
            Declared::Chunked => return Err(Reason::LengthAndCoding.into()),
            declared if self.length == length => declared,
            _ => return Err(ResponseProblem::DifferentLengths),
        };
        self.length = length;
        Ok(())
    }

    /// RFC 9112, 6.1: a client that sends no TE accepts only the coding `chunked`, and only once.
    #[inline(never)]
    fn note_coding(&mut self, value: &[u8]) -> Result<(), ResponseProblem> {
        if self.version == HttpVersion::Http10 {
            return Err(Reason::CodingInHttp10.into());
        }
        for coding in value.split(|&byte| byte == b',').map(trim) {
            if !coding.eq_ignore_ascii_case(b"chunked") {
                let is_token = !coding.is_empty() && scan::token(coding, 0) == coding.len();
                let unknown = Reason::CodingUnknown;
                return Err(if is_token { unknown } else { Reason::InvalidTransferEncoding }.into());
            }
            self.declared = match self.declared {
                Declared::Nothing => Declared::Chunked,
                Declared::Length => return Err(Reason::LengthAndCoding.into()),
                Declared::Chunked => return Err(Reason::InvalidTransferEncoding.into()),
            };
        }
        Ok(())
    }
}

/// Whether the field says something about the end of the response.
#[inline(always)]
fn has_meaning(name: &[u8]) -> bool {
    match name.len() {
        10 => is(name, b"connection"),
        14 => is(name, b"content-length"),
        17 => is(name, b"transfer-encoding"),
        _ => false,
    }
}

/// Takes a field without meaning here, whose name is known to be valid.
#[inline(always)]
fn pass_usual_field(line: &[u8], begin: &[u8], receiver: &mut impl Receiver) -> Option<usize> {
    line.strip_prefix(begin)?;
    let end = scan::value(line, begin.len());
    line.get(end..)?.starts_with(b"\r\n").then_some(())?;
    receiver.field(begin.get(..begin.len() - 2)?, trim(line.get(begin.len()..end)?));
    Some(end + 2)
}

/// Joins a value that goes on in the line at `at` with the lines that continue it, and returns the index after the last
/// one. A fold means a space (RFC 9112, 5.2).
#[cold]
fn unfold(value: &[u8], input: &[u8], mut at: usize) -> Result<(Vec<u8>, usize), Halt> {
    let mut unfolded = trim(value).to_vec();
    loop {
        match input.get(at) {
            None => return Err(Halt::Partial),
            Some(b' ' | b'\t') => {
                let end = scan::value(input, at);
                unfolded.push(b' ');
                unfolded.extend_from_slice(trim(input.get(at..end).unwrap_or_default()));
                at = line_end(input, end)?;
            }
            Some(_) => return Ok((unfolded, at)),
        }
    }
}

/// A list of equal numbers counts as that number: an intermediary merged lines (RFC 9112, 6.3).
#[cold]
fn equal_lengths(value: &[u8]) -> Result<u64, ResponseProblem> {
    let mut lengths = value.split(|&byte| byte == b',').map(|item| parse_length(trim(item)));
    let invalid = ResponseProblem::Rule(Reason::InvalidContentLength);
    let first = lengths.next().flatten().ok_or(invalid)?;
    for length in lengths {
        if length.ok_or(invalid)? != first {
            return Err(ResponseProblem::DifferentLengths);
        }
    }
    Ok(first)
}
