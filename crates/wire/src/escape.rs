//! Making outside bytes harmless where they are shown: log lines, JSON strings, HTML text.
//!
//! Owns the three escapers. Each writes the escaped text only, never the quotes or tags around it,
//! and never decides what is worth showing. What a peer sends cannot end a line, close a quote,
//! open a tag or drive a terminal.

/// The digits of every hexadecimal number that is shown as text.
pub(crate) const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

/// How to treat a byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Treatment {
    Keep,
    Escape,
}

type Treatments = [Treatment; 256];

static LOG: Treatments = treatments(b"\"\\", Treatment::Escape, Treatment::Escape);
/// 0xC2 opens the two-byte form of U+0080 to U+009F, the controls that a terminal may obey.
static JSON: Treatments = treatments(b"\"\\\xC2", Treatment::Escape, Treatment::Keep);
static HTML: Treatments = treatments(b"&<>\"'", Treatment::Keep, Treatment::Keep);

const fn treatments(special: &[u8], control: Treatment, high: Treatment) -> Treatments {
    let mut table = [Treatment::Keep; 256];
    let mut byte = 0;
    while byte < table.len() {
        if byte < 0x20 || byte == 0x7F {
            table[byte] = control;
        } else if byte >= 0x80 {
            table[byte] = high;
        }
        byte += 1;
    }
    let mut at = 0;
    while at < special.len() {
        table[special[at] as usize] = Treatment::Escape;
        at += 1;
    }
    table
}

/// Escapes `raw` for a log line: `"`, `\`, bytes below 0x20, 0x7F, and bytes from 0x80 on become `\xHH`. The rest
/// is unchanged.
///
/// The result is printable ASCII and can be decoded, because every backslash begins an escape.
pub fn escape_log(out: &mut Vec<u8>, raw: &[u8]) {
    write_runs(out, raw, &LOG, |out, rest| {
        if let Some(&byte) = rest.first() {
            out.extend_from_slice(&[b'\\', b'x', hex_high(byte), hex_low(byte)]);
        }
        1
    });
}

/// Writes `raw` as the inside of a JSON string (RFC 8259 section 7), without the quotes.
///
/// The result is always valid UTF-8 and always valid JSON. Each maximal part that is not UTF-8
/// becomes one U+FFFD, as `String::from_utf8_lossy` does. Control characters (U+0000 to U+001F,
/// U+007F to U+009F) become `\u00HH` or their short form; everything else is unchanged.
pub fn escape_json(out: &mut Vec<u8>, raw: &[u8]) {
    for chunk in raw.utf8_chunks() {
        write_runs(out, chunk.valid().as_bytes(), &JSON, escape_json_character);
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{FFFD}".as_bytes());
        }
    }
}

/// Escapes `text` for HTML content and for quoted attribute values.
pub fn escape_html(out: &mut Vec<u8>, text: &str) {
    write_runs(out, text.as_bytes(), &HTML, |out, rest| {
        out.extend_from_slice(match rest.first() {
            Some(b'&') => b"&amp;",
            Some(b'<') => b"&lt;",
            Some(b'>') => b"&gt;",
            Some(b'"') => b"&quot;",
            _ => b"&#39;",
        });
        1
    });
}

/// Copies runs of harmless bytes and passes the rest to `escape`, which returns how many bytes it
/// consumed.
fn write_runs(
    out: &mut Vec<u8>,
    raw: &[u8],
    table: &Treatments,
    escape: impl Fn(&mut Vec<u8>, &[u8]) -> usize,
) {
    out.reserve(raw.len());
    let mut rest = raw;
    while !rest.is_empty() {
        let stays = |byte: &u8| table[usize::from(*byte)] == Treatment::Keep;
        let run = rest.iter().position(|byte| !stays(byte)).unwrap_or(rest.len());
        let (clean, special) = rest.split_at(run);
        out.extend_from_slice(clean);
        rest = special;
        if !rest.is_empty() {
            let taken = escape(out, rest);
            rest = rest.get(taken..).unwrap_or_default();
        }
    }
}

/// `rest` is not empty and starts with a byte that the JSON table marks.
fn escape_json_character(out: &mut Vec<u8>, rest: &[u8]) -> usize {
    match rest {
        [0xC2, second @ 0x80..=0x9F, ..] => {
            write_json_escape(out, *second);
            2
        }
        [0xC2, second, ..] => {
            out.extend_from_slice(&[0xC2, *second]);
            2
        }
        [byte, ..] => {
            match byte {
                b'"' => out.extend_from_slice(b"\\\""),
                b'\\' => out.extend_from_slice(b"\\\\"),
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\r' => out.extend_from_slice(b"\\r"),
                b'\t' => out.extend_from_slice(b"\\t"),
                _ => write_json_escape(out, *byte),
            }
            1
        }
        [] => 0,
    }
}

fn write_json_escape(out: &mut Vec<u8>, character: u8) {
    out.extend_from_slice(&[b'\\', b'u', b'0', b'0', hex_high(character), hex_low(character)]);
}

pub(crate) fn hex_high(byte: u8) -> u8 {
    HEX_DIGITS[usize::from(byte >> 4)]
}

pub(crate) fn hex_low(byte: u8) -> u8 {
    HEX_DIGITS[usize::from(byte & 0x0F)]
}
