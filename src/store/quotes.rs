//! Finds a quotation mark that is never closed.
//!
//! Owns where a quoted field of CSV begins and ends (RFC 4180 section 2). The reader of the fields takes such a field
//! to the end of the file, and all rows behind the quotation mark would be missing without a word.

use std::io::{self, Read};

/// A CSV file on its way to the reader of its fields. Its end is an error if a field is open.
#[derive(Debug)]
pub(super) struct Quotes<R> {
    source: R,
    state: State,
    line: u64,
    /// The bytes of a byte order mark that may still come.
    mark: &'static [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    FieldBegins,
    Plain,
    /// Within a quoted field, which began in this line.
    Quoted(u64),
    /// Behind a quotation mark within a quoted field: its end, or the first of two that stand for one.
    MayEnd(u64),
}

impl<R: Read> Quotes<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, state: State::FieldBegins, line: 1, mark: b"\xef\xbb\xbf" }
    }

    fn follow(&mut self, byte: u8) {
        if let Some((first, rest)) = self.mark.split_first() {
            self.mark = if byte == *first { rest } else { b"" };
            if byte == *first {
                return;
            }
        }
        self.state = match (self.state, byte) {
            (State::FieldBegins, b'"') => State::Quoted(self.line),
            (State::Quoted(line), b'"') => State::MayEnd(line),
            (State::MayEnd(line), b'"') => State::Quoted(line),
            (State::Quoted(line), _) => State::Quoted(line),
            (_, b',' | b'\n' | b'\r') => State::FieldBegins,
            _ => State::Plain,
        };
        self.line += u64::from(byte == b'\n');
    }
}

impl<R: Read> Read for Quotes<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        for byte in &buffer[..count] {
            self.follow(*byte);
        }
        match self.state {
            State::Quoted(line) if count == 0 && !buffer.is_empty() => {
                let text = format!("line {line}: the quotation mark is never closed");
                Err(io::Error::new(io::ErrorKind::InvalidData, text))
            }
            _ => Ok(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end_of(text: &[u8]) -> Result<u64, String> {
        let mut quotes = Quotes::new(text);
        io::copy(&mut quotes, &mut io::sink()).map_err(|error| error.to_string())
    }

    #[test]
    fn only_an_open_quote_is_an_error() {
        for text in [
            "",
            "a,b\n",
            "\"a\",\"b\nc\"\n",
            "\"a\"\"b\"\n",
            "5\" nail,x\n",
            "\"\"",
            "\u{feff}\"a\"\r\n",
        ] {
            assert_eq!(end_of(text.as_bytes()), Ok(text.len() as u64), "{text:?}");
        }
        let open = |line: u64| Err(format!("line {line}: the quotation mark is never closed"));
        assert_eq!(end_of(b"key,value\na,\"x\nb,2\nc,3\n"), open(2));
        assert_eq!(end_of("\u{feff}\"a".as_bytes()), open(1));
        assert_eq!(end_of(b"a,b\nc,\"d\"\"\n"), open(2));
    }
}
