//! Owns the pieces of a line in HTTP/2 scripts: the words before the first ` | `, and what a payload or a field block
//! is made of. Knows no frame.

use super::writer::{Literal, write_field};
use crate::facts::Facts;
use crate::template;

/// The words of a line, and the pieces of its payload.
pub(super) fn split(line: &str) -> (Vec<&str>, Vec<&str>) {
    let mut parts = line.split(" | ");
    let words = parts.next().unwrap_or_default().split_whitespace().collect();
    (words, parts.collect())
}

/// A template that must be text.
pub(super) fn text_of(text: &str, facts: &Facts) -> Result<String, String> {
    let bytes = expand(text, facts)?;
    String::from_utf8(bytes).map_err(|_| format!("'{text}' is not text"))
}

/// A payload of bytes: each piece is a template, or `hex` with pairs of digits.
pub(super) fn payload(pieces: &[&str], facts: &Facts) -> Result<Vec<u8>, String> {
    let bytes = pieces.iter().map(|piece| match piece.strip_prefix("hex ") {
        Some(digits) => hex(digits),
        None => expand(piece, facts),
    });
    Ok(bytes.collect::<Result<Vec<_>, _>>()?.concat())
}

/// A field block: each piece is a field, `add` or `never` with a field, `@ METHOD PATH` for the pseudo fields of a
/// plain request, or the bytes themselves: `hex` with pairs of digits, or `raw` with a template.
pub(super) fn block(pieces: &[&str], facts: &Facts) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    for piece in pieces {
        match piece.split_once(' ') {
            Some(("hex", digits)) => out.extend(hex(digits)?),
            Some(("raw", text)) => out.extend(expand(text, facts)?),
            Some(("add", field)) => write(Literal::Added, field, facts, &mut out)?,
            Some(("never", field)) => write(Literal::Never, field, facts, &mut out)?,
            Some(("@", line)) => pseudo_fields(line, facts, &mut out)?,
            _ => write(Literal::Plain, piece, facts, &mut out)?,
        }
    }
    Ok(out)
}

/// RFC 9113 section 8.3.1.
fn pseudo_fields(line: &str, facts: &Facts, out: &mut Vec<u8>) -> Result<(), String> {
    let (method, path) = line.split_once(' ').ok_or("@ METHOD PATH")?;
    let fields =
        [(":method", method), (":scheme", "{scheme}"), (":authority", "{host}"), (":path", path)];
    for (name, value) in fields {
        let value = expand(value, facts)?;
        write_field(Literal::Plain, name.as_bytes(), &value, out);
    }
    Ok(())
}

/// `name: value`; a pseudo field's name begins with a colon.
fn write(literal: Literal, field: &str, facts: &Facts, out: &mut Vec<u8>) -> Result<(), String> {
    let split = field.char_indices().skip(1).find(|(place, character)| {
        *character == ':' && (field[place + 1..].starts_with(' ') || field.len() == place + 1)
    });
    let (place, _) = split.ok_or_else(|| format!("'{field}' is no field"))?;
    let name = expand(&field[..place], facts)?;
    let value = expand(field[place + 1..].strip_prefix(' ').unwrap_or_default(), facts)?;
    write_field(literal, &name, &value, out);
    Ok(())
}

fn expand(text: &str, facts: &Facts) -> Result<Vec<u8>, String> {
    template::expand(text, facts).map_err(|error| error.to_string())
}

fn hex(digits: &str) -> Result<Vec<u8>, String> {
    let pairs = digits.split_whitespace().map(|pair| match pair.len() {
        2 => u8::from_str_radix(pair, 16).ok(),
        _ => None,
    });
    pairs.collect::<Option<_>>().ok_or_else(|| format!("'{digits}' are not pairs of digits"))
}
