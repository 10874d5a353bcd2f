//! Distinguished names as text (RFC 4514): what rules of access compare and logs show.
//!
//! Owns that two different names have different texts: all attributes are there, and no value looks like another
//! attribute. Matching rules of directories (case, blanks) are not applied.

use std::fmt::Write;

use super::MalformedCertificate;
use super::der::{self, Reader};

/// The attributes that have a short name (RFC 4514 section 3), by the content of their object identifier.
const ATTRIBUTES: [(&[u8], &str); 9] = [
    (&[0x55, 0x04, 3], "CN"),
    (&[0x55, 0x04, 7], "L"),
    (&[0x55, 0x04, 8], "ST"),
    (&[0x55, 0x04, 10], "O"),
    (&[0x55, 0x04, 11], "OU"),
    (&[0x55, 0x04, 6], "C"),
    (&[0x55, 0x04, 9], "STREET"),
    (&[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 0x01, 25], "DC"),
    (&[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 0x01, 1], "UID"),
];

/// The kinds of text that are ASCII or UTF-8: UTF8String, NumericString, PrintableString, IA5String, VisibleString.
const TEXTS: [u8; 5] = [0x0c, 0x12, 0x13, 0x16, 0x1a];

/// The text of a name: the last part first, as `CN=Ada,O=Example`.
pub(super) fn text(sequence: &[u8]) -> Result<String, MalformedCertificate> {
    let mut parts = Vec::new();
    let mut sets = Reader::new(sequence);
    while !sets.is_empty() {
        let mut set = Reader::new(sets.expect(der::SET)?);
        let mut part = String::new();
        while !set.is_empty() {
            if !part.is_empty() {
                part.push('+');
            }
            write_attribute(set.expect(der::SEQUENCE)?, &mut part)?;
        }
        parts.push(part);
    }
    parts.reverse();
    Ok(parts.join(","))
}

fn write_attribute(attribute: &[u8], out: &mut String) -> Result<(), MalformedCertificate> {
    let mut attribute = Reader::new(attribute);
    let kind = attribute.expect(der::OBJECT_IDENTIFIER)?;
    let encoded = attribute.rest();
    let value = attribute.next()?;
    attribute.end()?;
    let short = ATTRIBUTES.iter().find(|(known, _)| *known == kind);
    let text = str::from_utf8(value.body).ok().filter(|_| TEXTS.contains(&value.tag));
    match (short, text) {
        (Some((_, short)), Some(text)) => {
            out.push_str(short);
            out.push('=');
            write_escaped(text, out);
        }
        // RFC 4514 section 2.4: the bytes of the encoded value.
        (short, _) => {
            match short {
                Some((_, short)) => out.push_str(short),
                None => write_identifier(kind, out)?,
            }
            out.push_str("=#");
            encoded.iter().for_each(|byte| write_hex(*byte, out));
        }
    }
    Ok(())
}

/// RFC 4514 section 2.4; control characters as well, so that a log line stays one.
fn write_escaped(text: &str, out: &mut String) {
    let last = text.char_indices().next_back().map_or(0, |(at, _)| at);
    for (at, character) in text.char_indices() {
        let is_edge =
            (at == 0 && matches!(character, ' ' | '#')) || (at == last && character == ' ');
        match character {
            '"' | '+' | ',' | ';' | '<' | '>' | '\\' => out.extend(['\\', character]),
            _ if is_edge => out.extend(['\\', character]),
            _ if character.is_control() => {
                for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                    out.push('\\');
                    write_hex(byte, out);
                }
            }
            _ => out.push(character),
        }
    }
}

fn write_hex(byte: u8, out: &mut String) {
    write!(out, "{byte:02x}").expect("a String takes all");
}

/// An object identifier with dots (X.690 section 8.19).
fn write_identifier(encoded: &[u8], out: &mut String) -> Result<(), MalformedCertificate> {
    let mut number = 0_u64;
    let mut is_first = true;
    for byte in encoded {
        number = number.checked_mul(128).ok_or(MalformedCertificate)? + u64::from(byte & 0x7f);
        if byte & 0x80 != 0 {
            continue;
        }
        if is_first {
            let top = (number / 40).min(2);
            write!(out, "{top}.{}", number - top * 40).expect("a String takes all");
        } else {
            write!(out, ".{number}").expect("a String takes all");
        }
        (number, is_first) = (0, false);
    }
    if is_first { Err(MalformedCertificate) } else { Ok(()) }
}
