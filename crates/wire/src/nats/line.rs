//! A control line: a word, arguments between blanks, CR LF; after some of them a body of a given size.
//!
//! Owns where a line and a body end. Never knows what an operation means.

use memchr::memchr;

use super::NatsProblem;
use crate::limits::{NATS_LINE_SIZE, NATS_SIZE_DIGITS};

/// A complete control line at the beginning of the input. Plain data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'i> {
    /// Its first word.
    word: &'i [u8],
    /// Everything after the first word and the blanks that follow it.
    pub(crate) rest: &'i [u8],
    /// Bytes of the line, with its end.
    pub(crate) length: usize,
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

impl<'i> Line<'i> {
    /// The first line of the input; `None`: it is not complete.
    pub(super) fn first(input: &'i [u8]) -> Result<Option<Self>, NatsProblem> {
        let within = &input[..input.len().min(NATS_LINE_SIZE)];
        let Some(end) = memchr(b'\n', within) else {
            let is_too_long = input.len() >= NATS_LINE_SIZE;
            return if is_too_long { Err(NatsProblem::LineTooLong) } else { Ok(None) };
        };
        let line = input[..end].strip_suffix(b"\r").ok_or(NatsProblem::Frame)?;
        let word_end = line.iter().position(is_blank).unwrap_or(line.len());
        let (word, rest) = line.split_at(word_end);
        let begin = rest.iter().position(|byte| !is_blank(byte)).unwrap_or(rest.len());
        Ok(Some(Self { word, rest: &rest[begin..], length: end + 1 }))
    }

    /// Whether the line begins with this word, in any case.
    pub(super) fn is(&self, word: &str) -> bool {
        self.word.eq_ignore_ascii_case(word.as_bytes())
    }

    /// The line without arguments.
    pub(super) fn alone<T>(&self, operation: T) -> Result<T, NatsProblem> {
        if self.rest.is_empty() { Ok(operation) } else { Err(NatsProblem::Arguments) }
    }

    /// Its arguments: at most as many as there are places, and how many.
    pub(super) fn arguments<const N: usize>(&self) -> Result<([&'i str; N], usize), NatsProblem> {
        let text = str::from_utf8(self.rest).map_err(|_| NatsProblem::NotUtf8)?;
        let mut found = [""; N];
        let mut count = 0;
        for argument in text.split([' ', '\t']).filter(|argument| !argument.is_empty()) {
            *found.get_mut(count).ok_or(NatsProblem::Arguments)? = argument;
            count += 1;
        }
        Ok((found, count))
    }
}

/// The parts of a message that is complete. Plain data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts<'i> {
    /// Header fields, with their empty line.
    pub(crate) headers: &'i [u8],
    /// The content.
    pub(crate) payload: &'i [u8],
    /// Bytes of all, with the line and the last CR LF.
    pub(crate) length: usize,
}

/// The sizes of the parts of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// Header fields, with their empty line.
    headers: usize,
    /// All.
    whole: usize,
}

impl Sizes {
    /// Without header fields.
    pub(super) fn of_body(text: &str) -> Result<Self, NatsProblem> {
        Ok(Self { headers: 0, whole: number(text)? })
    }

    /// With them.
    pub(super) fn with_headers(headers: &str, whole: &str) -> Result<Self, NatsProblem> {
        let (headers, whole) = (number(headers)?, number(whole)?);
        if headers > whole || headers == 0 {
            return Err(NatsProblem::Size);
        }
        Ok(Self { headers, whole })
    }

    /// The parts of a message whose line has so many bytes; `None`: they are not complete.
    pub(super) fn parts(
        self,
        input: &[u8],
        line: usize,
        most: usize,
    ) -> Result<Option<Parts<'_>>, NatsProblem> {
        if self.whole > most {
            return Err(NatsProblem::TooLarge);
        }
        let end = line + self.whole;
        let after = &input[end.min(input.len())..];
        // Bytes that cannot be the end of the message are told before all of it is there.
        if !b"\r\n".starts_with(&after[..after.len().min(2)]) {
            return Err(NatsProblem::Frame);
        }
        if after.len() < 2 {
            return Ok(None);
        }
        let (headers, payload) = input[line..end].split_at(self.headers);
        Ok(Some(Parts { headers, payload, length: end + 2 }))
    }
}

/// The number of a subscription.
pub(super) fn subscription(text: &str) -> Result<u64, NatsProblem> {
    digits(text, 20).and_then(|text| text.parse().ok()).ok_or(NatsProblem::Arguments)
}

fn number(text: &str) -> Result<usize, NatsProblem> {
    digits(text, NATS_SIZE_DIGITS).and_then(|text| text.parse().ok()).ok_or(NatsProblem::Size)
}

fn digits(text: &str, most: usize) -> Option<&str> {
    let is_number = text.len() <= most && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !text.is_empty()).then_some(text)
}
