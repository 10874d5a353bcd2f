//! A profile in pprof format, for `go tool pprof`, Grafana and others.
//!
//! Owns the format: the message `Profile` of github.com/google/pprof, proto/profile.proto,
//! compressed with gzip.

use std::collections::BTreeMap;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::fold::{Folded, Frame, Mode};

/// Numbers of fields of `Profile` and of the messages within it.
mod field {
    pub(super) const SAMPLE_TYPE: u64 = 1;
    pub(super) const SAMPLE: u64 = 2;
    pub(super) const LOCATION: u64 = 4;
    pub(super) const FUNCTION: u64 = 5;
    pub(super) const STRING: u64 = 6;
}

/// Writes the profile; `kind` and `unit` name the counts, as in `samples` and `count`.
///
/// # Errors
/// The writer's errors.
pub fn write_pprof(folded: &Folded, [kind, unit]: [&str; 2], out: impl Write) -> io::Result<()> {
    let mut strings = Strings::default();
    let mut functions: BTreeMap<&Frame, u64> = BTreeMap::new();
    // Values are whole numbers, with a sign.
    let parts = folded.parts();
    let unit = if parts == 1.0 { unit.to_owned() } else { format!("{unit}/{parts}") };
    let mut profile = Message::default();
    profile.message(field::SAMPLE_TYPE, |value| {
        value.number(1, strings.of(kind));
        value.number(2, strings.of(&unit));
    });
    for (stack, count) in &folded.stacks {
        profile.message(field::SAMPLE, |sample| {
            // From the innermost on.
            let places = stack.iter().rev().map(|frame| {
                let next = functions.len() as u64 + 1;
                *functions.entry(frame).or_insert(next)
            });
            sample.numbers(1, &places.collect::<Vec<_>>());
            sample.numbers(2, &[(count * parts).round() as i64 as u64]);
        });
    }
    for (frame, number) in &functions {
        // One location per function: folded stacks have no addresses.
        profile.message(field::LOCATION, |location| {
            location.number(1, *number);
            location.message(4, |line| line.number(1, *number));
        });
        profile.message(field::FUNCTION, |function| {
            function.number(1, *number);
            function.number(2, strings.of(&frame.name));
            let file = if frame.mode == Mode::Kernel { "[kernel]" } else { "" };
            function.number(4, strings.of(file));
        });
    }
    for text in &strings.all {
        profile.bytes(field::STRING, text.as_bytes());
    }
    let mut out = GzEncoder::new(out, Compression::default());
    out.write_all(&profile.0)?;
    out.finish()?.flush()
}

/// All strings, each once; the first one is empty.
struct Strings {
    all: Vec<String>,
    places: BTreeMap<String, u64>,
}

impl Default for Strings {
    fn default() -> Self {
        Self { all: vec![String::new()], places: BTreeMap::from([(String::new(), 0)]) }
    }
}

impl Strings {
    fn of(&mut self, text: &str) -> u64 {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let place = self.all.len() as u64;
        self.all.push(text.to_owned());
        self.places.insert(text.to_owned(), place);
        place
    }
}

/// A message of protocol buffers that is being written (protobuf.dev, "Encoding").
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// Several numbers, packed.
    fn numbers(&mut self, field: u64, values: &[u64]) {
        self.message(field, |packed| values.iter().for_each(|value| packed.varint(*value)));
    }

    fn message(&mut self, field: u64, content: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        content(&mut inner);
        self.bytes(field, &inner.0);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;
    use crate::folded_file::tests::folded;

    #[test]
    fn a_stack_is_written_from_the_innermost_frame_on() {
        let folded = folded("a;b_[k] 300\n");
        let (mut packed, mut bytes) = (Vec::new(), Vec::new());
        let written = write_pprof(&folded, ["samples", "count"], &mut packed);
        let read = GzDecoder::new(&*packed).read_to_end(&mut bytes);
        assert!(written.is_ok() && read.is_ok());
        let begin = [
            // The type of its values: strings 1 and 2.
            10, 4, 8, 1, 16, 2, // A sample: locations b and a, 300 times.
            18, 8, 10, 2, 1, 2, 18, 2, 0xac, 2,
        ];
        assert_eq!(bytes[..begin.len()], begin);
        let end = [&b"2\x00"[..], b"2\x07samples", b"2\x05count"].concat();
        let text = bytes.windows(end.len()).any(|part| part == end);
        assert!(text, "{bytes:?}");
    }
}
