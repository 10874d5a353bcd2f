//! Forms with files: `multipart/form-data` (RFC 7578, RFC 2046 section 5.1).
//!
//! Owns where parts begin and end, and what their heads say. Lends pieces of the caller's buffer and keeps no data:
//! between two reads it remembers a place in the grammar and the head of the part that has begun. Never decides what
//! becomes of a part.

mod head;
mod parameters;

use std::fmt;

use memchr::memmem::{self, Finder};

use crate::limits;
use head::Head;
pub use head::PartHead;
pub use parameters::Boundary;

/// Why a body is not a valid form. The sender is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MultipartError {
    /// The media type names no boundary.
    MissingBoundary,
    /// The boundary is longer than 70 characters or contains a character that is not allowed.
    InvalidBoundary,
    /// A delimiter is followed by something other than a line end or two dashes.
    InvalidDelimiter,
    /// The head of a part is larger than [`limits::PART_HEAD_SIZE`].
    PartHeadTooLarge,
    /// The head of a part breaks the rules of fields.
    InvalidPartHead,
    /// The head of a part does not contain exactly one `Content-Disposition: form-data` with a name.
    UnnamedPart,
    /// A name, a file name or a media type is longer than [`limits::PART_NAME_SIZE`].
    NameTooLong,
    /// There are more parts than [`limits::PARTS_MAX`].
    TooManyParts,
}

impl MultipartError {
    /// The rule in a few words, for a log.
    pub const fn text(self) -> &'static str {
        match self {
            Self::MissingBoundary => "the media type names no boundary",
            Self::InvalidBoundary => "the boundary is not one",
            Self::InvalidDelimiter => "a delimiter does not end its line",
            Self::PartHeadTooLarge => "the head of a part is too large",
            Self::InvalidPartHead => "the head of a part is not right",
            Self::UnnamedPart => "a part has no name",
            Self::NameTooLong => "a part's name is too long",
            Self::TooManyParts => "there are too many parts",
        }
    }
}

impl fmt::Display for MultipartError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.text())
    }
}

impl std::error::Error for MultipartError {}

/// The meaning of the next bytes of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MultipartPiece<'b> {
    /// A part begins.
    Part(PartHead<'b>),
    /// Data of the part, never empty. It is in the input, or it is bytes held back as the beginning of a delimiter that
    /// did not follow.
    Data(&'b [u8]),
    /// The part has ended.
    PartEnd,
    /// All input was consumed and the form is incomplete.
    NeedMore,
    /// The form has ended. The rest of the body has no meaning (RFC 2046 section 5.1.1).
    End,
}

/// A position in the grammar of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FormState {
    /// Before the first delimiter: these bytes have no meaning.
    Preamble,
    /// After a delimiter.
    Delimited,
    /// After a delimiter and a dash.
    Dash,
    /// Blanks after a delimiter, which gateways may add.
    Padding,
    /// After the carriage return that ends a delimiter.
    LineFeed,
    /// In the head of a part.
    Head,
    /// In the data of a part.
    Data,
    Over,
}

/// Decodes one form over several reads.
#[derive(Clone, Debug)]
pub struct MultipartDecoder {
    /// Finds CR LF, two dashes and the boundary.
    delimiter: Finder<'static>,
    place: FormState,
    /// How many bytes of the delimiter the input has ended with.
    matched: usize,
    /// How many of those belonged to what came before (a line end): they are part of the delimiter, but not data.
    lent: usize,
    parts: usize,
    head: Head,
}

/// The result of a search for the delimiter.
enum Sought {
    /// `size` bytes are data; `consumed` bytes of the input are done with or held back.
    Data { from: Source, size: usize, consumed: usize },
    /// The delimiter ends here.
    Found(usize),
    /// All of the input may belong to a delimiter.
    Held,
}

/// Where data is.
enum Source {
    Input,
    /// In the delimiter, from this index on.
    Delimiter(usize),
}

impl MultipartDecoder {
    /// Begins a form.
    pub fn new(boundary: &Boundary) -> Self {
        let delimiter = [b"\r\n--", boundary.as_bytes()].concat();
        Self {
            delimiter: Finder::new(&delimiter).into_owned(),
            place: FormState::Preamble,
            // The first delimiter may be at the very beginning, without its line end.
            matched: 2,
            lent: 2,
            parts: 0,
            head: Head::default(),
        }
    }

    /// Whether the form has ended.
    pub fn is_over(&self) -> bool {
        self.place == FormState::Over
    }

    /// Takes the next piece from the front of the input and returns how many bytes were consumed for it. Call it again
    /// with the rest, until [`MultipartPiece::NeedMore`] or [`MultipartPiece::End`].
    ///
    /// # Errors
    /// If the body is not a valid form. The decoder must not be used after that.
    pub fn next<'b>(
        &'b mut self,
        input: &'b [u8],
    ) -> Result<(usize, MultipartPiece<'b>), MultipartError> {
        let mut at = 0;
        loop {
            let rest = input.get(at..).unwrap_or_default();
            match self.place {
                FormState::Over => return Ok((at, MultipartPiece::End)),
                _ if rest.is_empty() => return Ok((at, MultipartPiece::NeedMore)),
                FormState::Preamble | FormState::Data => match self.seek(rest) {
                    Sought::Held => return Ok((input.len(), MultipartPiece::NeedMore)),
                    Sought::Found(end) => {
                        at += end;
                        let had_part = self.place == FormState::Data;
                        self.place = FormState::Delimited;
                        if had_part {
                            return Ok((at, MultipartPiece::PartEnd));
                        }
                    }
                    Sought::Data { from, size, consumed } => {
                        at += consumed;
                        if self.place == FormState::Data && size > 0 {
                            let data = match from {
                                Source::Input => rest.get(..size),
                                Source::Delimiter(begin) => {
                                    self.delimiter.needle().get(begin..begin + size)
                                }
                            };
                            return Ok((at, MultipartPiece::Data(data.unwrap_or_default())));
                        }
                    }
                },
                FormState::Head => {
                    let (consumed, is_whole) = self.head.take(rest)?;
                    at += consumed;
                    if is_whole {
                        self.begin_data()?;
                        return Ok((at, MultipartPiece::Part(self.head.read()?)));
                    }
                }
                FormState::Delimited
                | FormState::Dash
                | FormState::Padding
                | FormState::LineFeed => {
                    self.step(rest.first().copied().unwrap_or_default())?;
                    at += 1;
                }
            }
        }
    }

    /// A head is complete: data follows, or immediately a delimiter, whose line end is the one that ended the head (the
    /// grammar of `body-part` in RFC 2046 section 5.1.1).
    fn begin_data(&mut self) -> Result<(), MultipartError> {
        self.parts += 1;
        if self.parts > limits::PARTS_MAX {
            return Err(MultipartError::TooManyParts);
        }
        (self.matched, self.lent) = (2, 2);
        self.place = FormState::Data;
        Ok(())
    }

    /// Takes one byte after a delimiter.
    fn step(&mut self, byte: u8) -> Result<(), MultipartError> {
        self.place = match (self.place, byte) {
            (FormState::Delimited, b'-') => FormState::Dash,
            (FormState::Dash, b'-') => FormState::Over,
            (FormState::Delimited | FormState::Padding, b' ' | b'\t') => FormState::Padding,
            (FormState::Delimited | FormState::Padding, b'\r') => FormState::LineFeed,
            (FormState::LineFeed, b'\n') => {
                self.head.clear();
                FormState::Head
            }
            _ => return Err(MultipartError::InvalidDelimiter),
        };
        Ok(())
    }

    /// Searches for the delimiter at the front of non-empty input.
    fn seek(&mut self, input: &[u8]) -> Sought {
        if self.matched > 0 {
            return self.go_on(input);
        }
        let delimiter = self.delimiter.needle();
        match self.delimiter.find(input) {
            Some(0) => Sought::Found(delimiter.len()),
            Some(at) => Sought::Data { from: Source::Input, size: at, consumed: at },
            None => {
                self.matched = held_back(delimiter, input);
                self.lent = 0;
                match input.len() - self.matched {
                    0 => Sought::Held,
                    size => Sought::Data { from: Source::Input, size, consumed: input.len() },
                }
            }
        }
    }

    /// The previous input ended with the beginning of a delimiter.
    fn go_on(&mut self, input: &[u8]) -> Sought {
        let delimiter = self.delimiter.needle();
        let wanted = delimiter.get(self.matched..).unwrap_or_default();
        let same = wanted.iter().zip(input).take_while(|(one, other)| one == other).count();
        let matched = self.matched + same;
        if matched == delimiter.len() {
            self.matched = 0;
            return Sought::Found(same);
        }
        if same == input.len() {
            self.matched = matched;
            return Sought::Held;
        }
        // It was not a delimiter. A carriage return occurs only at the front of one, so none begins within the held
        // bytes.
        self.matched = 0;
        let (begin, size) = (self.lent, matched.saturating_sub(self.lent));
        Sought::Data { from: Source::Delimiter(begin), size, consumed: same }
    }
}

/// How many bytes at the end of input without a delimiter may be the beginning of one.
fn held_back(delimiter: &[u8], input: &[u8]) -> usize {
    let tail = input.get(input.len().saturating_sub(delimiter.len() - 1)..).unwrap_or_default();
    // A carriage return occurs only at the front of a delimiter, so the last one decides.
    let begin = memchr::memrchr(b'\r', tail).unwrap_or(tail.len());
    let candidate = tail.get(begin..).unwrap_or_default();
    if delimiter.starts_with(candidate) { candidate.len() } else { 0 }
}

/// Finds the empty line that ends a head.
fn find_head_end(bytes: &[u8]) -> Option<usize> {
    memmem::find(bytes, b"\r\n\r\n").map(|at| at + 4)
}
