//! The body of a message: a length or chunks (RFC 9112, 6 and 7).
//!
//! Owns where a body ends. Lends pieces of the caller's buffer, keeps no data, allocates nothing; what it
//! remembers between two reads is a position in the grammar and four counters. Trailer fields are held to
//! the rules of all fields and dropped: none of them may change what the head said (RFC 9110, 6.5.1).

use super::head::{Fields, Framing, scan};
use super::refusal::{Reason, Refusal};
use crate::limits;

/// Limits of a body, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyLimits {
    /// Data of the whole body; beyond this 413.
    pub body_size: u64,
    /// All chunk extensions together; beyond this 400. Values above [`limits::CHUNK_OVERHEAD_SIZE_MAX`] count as that.
    pub chunk_extension_size: u32,
    /// The trailer section; beyond this 431. Values above [`limits::CHUNK_OVERHEAD_SIZE_MAX`] count as that.
    pub trailer_size: u32,
}

impl Default for BodyLimits {
    fn default() -> BodyLimits {
        BodyLimits {
            body_size: limits::BODY_SIZE,
            chunk_extension_size: limits::CHUNK_EXTENSION_SIZE,
            trailer_size: limits::TRAILER_SIZE,
        }
    }
}

/// The meaning of the next bytes of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyPiece<'b> {
    /// Data, never empty. It is the last part of the consumed bytes.
    Data(&'b [u8]),
    /// All input was consumed and the body is incomplete.
    NeedMore,
    /// The body has ended. Unconsumed bytes are the next request.
    End,
}

/// A position in the grammar of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyState {
    /// `remaining` bytes of a body with a length.
    Counted,
    /// The first digit of a chunk size.
    SizeBegin,
    /// A later digit, or the end of the digits.
    Size,
    /// After the digits, in an extension.
    Extension(Extension),
    SizeLineFeed,
    /// `remaining` bytes of a chunk.
    Chunk,
    ChunkReturn,
    ChunkLineFeed,
    /// A trailer field, or the end.
    TrailerBegin,
    TrailerName,
    TrailerValue,
    TrailerLineFeed,
    LastLineFeed,
    Over,
}

impl BodyState {
    /// Whether the next byte belongs to the trailer section.
    fn is_in_trailers(self) -> bool {
        matches!(
            self,
            Self::TrailerBegin
                | Self::TrailerName
                | Self::TrailerValue
                | Self::TrailerLineFeed
                | Self::LastLineFeed
        )
    }
}

/// A position in `chunk-ext` (RFC 9112 section 7.1.1): `*( BWS ";" BWS name [ BWS "=" BWS value ] )`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extension {
    /// A name must follow.
    NameBegin,
    Name,
    /// Blanks after a name.
    NameEnd,
    /// A value must follow.
    ValueBegin,
    Value,
    /// In a quoted value.
    Quoted,
    /// After a backslash there.
    Escaped,
    /// After a value, before any blank.
    ValueEnd,
    /// Blanks after a value.
    Blank,
}

impl Extension {
    /// Whether the line may end here.
    fn may_end(self) -> bool {
        matches!(self, Self::Name | Self::Value | Self::ValueEnd)
    }

    /// The position after this byte; `None` if the byte is not allowed here.
    fn step(self, byte: u8) -> Option<Extension> {
        let is_blank = matches!(byte, b' ' | b'\t');
        Some(match (self, byte) {
            (Self::Quoted, b'"') => Self::ValueEnd,
            (Self::Quoted, b'\\') => Self::Escaped,
            (Self::Quoted | Self::Escaped, _) if scan::is_value(byte) => Self::Quoted,
            (Self::Quoted | Self::Escaped, _) => return None,
            (Self::Name | Self::NameEnd | Self::Value | Self::ValueEnd | Self::Blank, b';') => {
                Self::NameBegin
            }
            (Self::Name | Self::NameEnd, b'=') => Self::ValueBegin,
            (Self::NameBegin | Self::Name, _) if scan::is_token(byte) => Self::Name,
            (Self::ValueBegin, b'"') => Self::Quoted,
            (Self::ValueBegin | Self::Value, _) if scan::is_token(byte) => Self::Value,
            (Self::NameBegin | Self::ValueBegin, _) if is_blank => self,
            (Self::Name | Self::NameEnd, _) if is_blank => Self::NameEnd,
            (Self::Value | Self::ValueEnd | Self::Blank, _) if is_blank => Self::Blank,
            _ => return None,
        })
    }
}

/// Decodes one body over several reads.
#[derive(Clone, Debug)]
pub struct BodyDecoder {
    /// Bytes of data until the end of the counted body or chunk; while the size is read, the size so far.
    remaining: u64,
    /// Bytes of data that the body may still contain.
    allowance: u64,
    extension_allowance: u16,
    trailer_allowance: u16,
    size_digits: u8,
    place: BodyState,
}

impl BodyDecoder {
    /// Begins a body. A length above the limit is refused before any byte is read.
    #[inline]
    pub fn new(framing: Framing, limits: &BodyLimits) -> Result<BodyDecoder, Refusal> {
        let (remaining, place) = match framing {
            Framing::None | Framing::Length(0) => (0, BodyState::Over),
            Framing::Length(length) if length > limits.body_size => {
                return Err(Reason::BodyTooLarge.into());
            }
            Framing::Length(length) => (length, BodyState::Counted),
            Framing::Chunked => (0, BodyState::SizeBegin),
        };
        Ok(BodyDecoder {
            remaining,
            allowance: limits.body_size,
            extension_allowance: narrow(limits.chunk_extension_size),
            trailer_allowance: narrow(limits.trailer_size),
            size_digits: 0,
            place,
        })
    }

    /// Whether the body has ended.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.place == BodyState::Over
    }

    /// Takes the next piece from the front of the input and returns how many bytes were consumed for it. Call it
    /// again with the rest, until [`BodyPiece::NeedMore`] or [`BodyPiece::End`].
    #[inline]
    pub fn next<'b>(&mut self, input: &'b [u8]) -> Result<(usize, BodyPiece<'b>), Refusal> {
        self.next_with(input, |_byte| {})
    }

    /// The same, and passes on each valid byte of the trailer section, with the empty line at its end.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    #[inline]
    pub fn next_with<'b>(
        &mut self,
        input: &'b [u8],
        mut trailer_byte: impl FnMut(u8),
    ) -> Result<(usize, BodyPiece<'b>), Refusal> {
        let mut at = 0;
        loop {
            if matches!(self.place, BodyState::Counted | BodyState::Chunk) {
                let (end, piece) = self.take_data(input, at);
                return Ok((end, piece));
            }
            if self.place == BodyState::Over {
                return Ok((at, BodyPiece::End));
            }
            let Some(&byte) = input.get(at) else { return Ok((at, BodyPiece::NeedMore)) };
            let is_trailer = self.place.is_in_trailers();
            self.place = self.step(byte)?;
            if is_trailer {
                trailer_byte(byte);
            }
            at += 1;
        }
    }

    fn take_data<'b>(&mut self, input: &'b [u8], at: usize) -> (usize, BodyPiece<'b>) {
        let rest = input.get(at..).unwrap_or_default();
        if rest.is_empty() {
            return (at, BodyPiece::NeedMore);
        }
        let size = usize::try_from(self.remaining).map_or(rest.len(), |most| rest.len().min(most));
        self.remaining -= size as u64;
        if self.remaining == 0 {
            self.place = if self.place == BodyState::Chunk {
                BodyState::ChunkReturn
            } else {
                BodyState::Over
            };
        }
        (at + size, BodyPiece::Data(rest.get(..size).unwrap_or_default()))
    }

    /// Takes one byte of framing and returns the position after it.
    fn step(&mut self, byte: u8) -> Result<BodyState, Reason> {
        match self.place {
            BodyState::SizeBegin | BodyState::Size => self.step_size(byte),
            BodyState::Extension(at) => self.step_extension(at, byte),
            BodyState::SizeLineFeed => self.end_size_line(byte),
            BodyState::ChunkReturn if byte == b'\r' => Ok(BodyState::ChunkLineFeed),
            BodyState::ChunkReturn if byte == b'\n' => Err(Reason::BareLineFeed),
            BodyState::ChunkReturn => Err(Reason::InvalidChunkEnd),
            BodyState::ChunkLineFeed => line_feed(byte, BodyState::SizeBegin),
            BodyState::TrailerBegin
            | BodyState::TrailerName
            | BodyState::TrailerValue
            | BodyState::TrailerLineFeed => self.step_trailer(byte),
            BodyState::LastLineFeed => line_feed(byte, BodyState::Over),
            BodyState::Counted | BodyState::Chunk | BodyState::Over => Ok(self.place),
        }
    }

    /// Hexadecimal digits only: no sign, prefix, underscore or blank, which parsers read differently.
    fn step_size(&mut self, byte: u8) -> Result<BodyState, Reason> {
        if let Some(digit) = char::from(byte).to_digit(16) {
            if self.size_digits == limits::CHUNK_SIZE_DIGITS {
                return Err(Reason::ChunkSizeTooLong);
            }
            self.size_digits += 1;
            // Sixteen digits of four bits fit exactly.
            self.remaining = self.remaining << 4 | u64::from(digit);
            return Ok(BodyState::Size);
        }
        match byte {
            b'\n' => Err(Reason::BareLineFeed),
            _ if self.place == BodyState::SizeBegin => Err(Reason::InvalidChunkSize),
            b'\r' => Ok(BodyState::SizeLineFeed),
            b';' => self.step_extension(Extension::ValueEnd, byte),
            _ => Err(Reason::InvalidChunkSize),
        }
    }

    /// Extensions are ignored (RFC 9112, 7.1.1), but their size is limited, and their syntax is checked so that other
    /// parsers agree.
    fn step_extension(&mut self, at: Extension, byte: u8) -> Result<BodyState, Reason> {
        match byte {
            b'\n' => return Err(Reason::BareLineFeed),
            b'\r' if at.may_end() => return Ok(BodyState::SizeLineFeed),
            _ => {}
        }
        let next = at.step(byte).ok_or(Reason::InvalidChunkExtension)?;
        let rest = self.extension_allowance.checked_sub(1);
        self.extension_allowance = rest.ok_or(Reason::ChunkExtensionsTooLarge)?;
        Ok(BodyState::Extension(next))
    }

    fn end_size_line(&mut self, byte: u8) -> Result<BodyState, Reason> {
        let size = self.remaining;
        let place =
            line_feed(byte, if size == 0 { BodyState::TrailerBegin } else { BodyState::Chunk })?;
        self.allowance = self.allowance.checked_sub(size).ok_or(Reason::BodyTooLarge)?;
        self.size_digits = 0;
        Ok(place)
    }

    fn step_trailer(&mut self, byte: u8) -> Result<BodyState, Reason> {
        let rest = self.trailer_allowance.checked_sub(1);
        self.trailer_allowance = rest.ok_or(Reason::TrailersTooLarge)?;
        match (self.place, byte) {
            (BodyState::TrailerBegin, b'\r') => Ok(BodyState::LastLineFeed),
            (BodyState::TrailerLineFeed, _) => line_feed(byte, BodyState::TrailerBegin),
            (_, b'\n') => Err(Reason::BareLineFeed),
            (BodyState::TrailerValue, b'\r') => Ok(BodyState::TrailerLineFeed),
            (BodyState::TrailerValue, _) if scan::is_value(byte) => Ok(BodyState::TrailerValue),
            (BodyState::TrailerValue, _) => Err(Reason::InvalidFieldValue),
            (BodyState::TrailerName, b':') => Ok(BodyState::TrailerValue),
            (BodyState::TrailerBegin, b':') => Err(Reason::EmptyFieldName),
            (BodyState::TrailerBegin, b' ' | b'\t') => Err(Reason::ObsoleteFold),
            (_, b' ' | b'\t') => Err(Reason::BlankInFieldName),
            (_, b'\r') => Err(Reason::FieldWithoutColon),
            _ if scan::is_token(byte) => Ok(BodyState::TrailerName),
            _ => Err(Reason::InvalidFieldName),
        }
    }
}

/// The part of a limit that is kept, so that a decoder takes three words: see [`limits::CHUNK_OVERHEAD_SIZE_MAX`].
fn narrow(bound: u32) -> u16 {
    u16::try_from(bound).unwrap_or(limits::CHUNK_OVERHEAD_SIZE_MAX)
}

fn line_feed(byte: u8, next: BodyState) -> Result<BodyState, Reason> {
    if byte == b'\n' { Ok(next) } else { Err(Reason::BareCarriageReturn) }
}

/// Writes one chunk. Writes nothing for empty data, because an empty chunk would end the body.
pub fn write_chunk(out: &mut Vec<u8>, data: &[u8]) {
    if data.is_empty() {
        return;
    }
    let mut digits = [0; 16];
    let mut begin = digits.len();
    let mut rest = data.len();
    while rest > 0 {
        begin -= 1;
        digits[begin] = b"0123456789abcdef"[rest % 16];
        rest /= 16;
    }
    out.extend_from_slice(&digits[begin..]);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(data);
    out.extend_from_slice(b"\r\n");
}

/// Writes the end of a chunked body, with a trailer section of these fields.
pub fn write_last_chunk(out: &mut Vec<u8>, trailers: Fields<'_, '_>) {
    out.extend_from_slice(b"0\r\n");
    out.extend_from_slice(trailers.lines());
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::fields::FieldList;

    const LIMITS: BodyLimits =
        BodyLimits { body_size: 1000, chunk_extension_size: 20, trailer_size: 64 };

    /// The data and the number of bytes consumed, or the error; `None` if the body is incomplete.
    fn decode(framing: Framing, input: &[u8]) -> Result<Option<(Vec<u8>, usize)>, Reason> {
        let mut decoder = BodyDecoder::new(framing, &LIMITS).map_err(Refusal::reason)?;
        let (mut data, mut at) = (Vec::new(), 0);
        loop {
            let (consumed, piece) = decoder.next(&input[at..]).map_err(Refusal::reason)?;
            at += consumed;
            match piece {
                BodyPiece::Data(piece) => data.extend_from_slice(piece),
                BodyPiece::NeedMore => {
                    assert_eq!(at, input.len(), "all of the input is consumed");
                    return Ok(None);
                }
                BodyPiece::End => return Ok(Some((data, at))),
            }
        }
    }

    #[track_caller]
    fn whole(input: &str, data: &str) {
        let followed = format!("{input}GET /");
        let expected = Ok(Some((data.as_bytes().to_vec(), input.len())));
        assert_eq!(decode(Framing::Chunked, followed.as_bytes()), expected);
    }

    #[track_caller]
    fn refused(input: &str, reason: Reason) {
        assert_eq!(decode(Framing::Chunked, input.as_bytes()), Err(reason), "{input:?}");
    }

    #[test]
    fn the_state_of_a_body_is_small() {
        assert!(size_of::<BodyDecoder>() <= 24, "{}", size_of::<BodyDecoder>());
    }

    #[test]
    fn a_counted_body_ends_after_its_length() {
        assert_eq!(decode(Framing::Length(3), b"abcGET"), Ok(Some((b"abc".to_vec(), 3))));
        assert_eq!(decode(Framing::Length(3), b"ab"), Ok(None));
        assert_eq!(decode(Framing::Length(0), b"GET"), Ok(Some((vec![], 0))));
        assert_eq!(decode(Framing::None, b"GET"), Ok(Some((vec![], 0))));
        assert_eq!(decode(Framing::Length(1001), b""), Err(Reason::BodyTooLarge));
    }

    #[test]
    fn chunks_are_put_together() {
        whole("0\r\n\r\n", "");
        whole("3\r\nabc\r\n0\r\n\r\n", "abc");
        whole("3\r\nabc\r\n00A\r\n0123456789\r\n000\r\n\r\n", "abc0123456789");
        whole("1;name=value\r\na\r\n1;x\r\nb\r\n0;y\r\n\r\n", "ab");
        whole("0\r\nContent-Length: 5\r\nX:\t\u{e9}\r\n\r\n", "");
        whole("0000000000000001\r\na\r\n0\r\n\r\n", "a");
    }

    #[test]
    fn chunk_sizes_are_hexadecimal_digits_alone() {
        let sizes = [
            "", "+1", "-1", "0x1", "1_0", " 1", "1 ", "1\t", "g", "1 ;x", ";x", "\r", "1,", "\u{0}",
        ];
        for size in sizes {
            refused(&format!("{size}\r\na"), Reason::InvalidChunkSize);
        }
        refused("00000000000000001\r\n", Reason::ChunkSizeTooLong);
        refused("ffffffffffffffff\r\n", Reason::BodyTooLarge);
    }

    #[test]
    fn line_ends_are_both_bytes() {
        refused("1\na\r\n", Reason::BareLineFeed);
        refused("\n", Reason::BareLineFeed);
        refused("1\ra", Reason::BareCarriageReturn);
        refused("1;x\na", Reason::BareLineFeed);
        refused("1;x\ra", Reason::BareCarriageReturn);
        refused("1;x=\"\n", Reason::BareLineFeed);
        refused("1\r\na\n", Reason::BareLineFeed);
        refused("1\r\na\rb", Reason::BareCarriageReturn);
        refused("1\r\nab\r\n", Reason::InvalidChunkEnd);
        refused("0\r\n\n", Reason::BareLineFeed);
        refused("0\r\n\rx", Reason::BareCarriageReturn);
        refused("0\r\nA: b\n", Reason::BareLineFeed);
        refused("0\r\nA: b\rx", Reason::BareCarriageReturn);
    }

    #[test]
    fn the_data_of_all_chunks_is_bounded() {
        let chunk = format!("1f4\r\n{}\r\n", "x".repeat(500));
        whole(&format!("{chunk}{chunk}0\r\n\r\n"), &"x".repeat(1000));
        refused(&format!("{chunk}{chunk}1\r\n"), Reason::BodyTooLarge);
        refused("3e9\r\n", Reason::BodyTooLarge);
    }

    #[test]
    fn extensions_are_bounded_over_all_chunks() {
        whole(&format!("0;{}\r\n\r\n", "x".repeat(19)), "");
        refused(&format!("0;{}\r\n\r\n", "x".repeat(20)), Reason::ChunkExtensionsTooLarge);
        refused(
            &format!("{}0\r\n", "1;234567\r\na\r\n".repeat(3)),
            Reason::ChunkExtensionsTooLarge,
        );
        refused("1;\u{1}\r\n", Reason::InvalidChunkExtension);
    }

    #[test]
    fn extensions_are_those_of_the_grammar() {
        for extension in [
            ";x",
            ";x=1",
            ";x;y",
            "; x = 1 ;y",
            ";x=\"\"",
            ";x=\"a;=b\\\"c\u{e9}\"",
            ";x=\"a\" ;y",
            ";!#=~",
        ] {
            whole(&format!("1{extension}\r\na\r\n0\r\n\r\n"), "a");
        }
        for extension in [
            ";",
            "; ",
            ";=",
            ";a=",
            ";a= ",
            ";a b",
            ";a=b c",
            ";;",
            ";a=;b",
            ";a=\"",
            ";a=\"b",
            ";a=\"b\\\"",
            ";a=\"b\"c",
            ";a=b\"",
            ";\u{e9}",
            ";a=\u{e9}",
            ";a=b ",
            ";a ",
            ";a=\"\u{7f}\"",
            ";\"a\"",
            ";a==b",
            ";a,b",
        ] {
            refused(&format!("1{extension}\r\na\r\n"), Reason::InvalidChunkExtension);
        }
    }

    #[test]
    fn trailers_obey_the_rules_of_fields() {
        refused("0\r\n: b\r\n", Reason::EmptyFieldName);
        refused("0\r\n A: b\r\n", Reason::ObsoleteFold);
        refused("0\r\nA : b\r\n", Reason::BlankInFieldName);
        refused("0\r\nA\r\n", Reason::FieldWithoutColon);
        refused("0\r\nA(: b\r\n", Reason::InvalidFieldName);
        refused("0\r\nA: \u{0}\r\n", Reason::InvalidFieldValue);
        whole(&format!("0\r\nA: {}\r\n\r\n", "b".repeat(57)), "");
        refused(&format!("0\r\nA: {}\r\n\r\n", "b".repeat(62)), Reason::TrailersTooLarge);
    }

    #[test]
    fn written_body_reads_back() {
        let mut out = Vec::new();
        let data = "0123456789".repeat(40);
        write_chunk(&mut out, data.as_bytes());
        write_chunk(&mut out, b"");
        write_chunk(&mut out, b"end");
        write_last_chunk(&mut out, FieldList::of(&[("digest", "abc")]).fields());
        assert!(out.starts_with(b"190\r\n0123"));
        assert!(out.ends_with(b"3\r\nend\r\n0\r\nDigest: abc\r\n\r\n"));
        let expected = Ok(Some((format!("{data}end").into_bytes(), out.len())));
        assert_eq!(decode(Framing::Chunked, &out), expected);
    }
}
