//! Distinguished names as text for people (RFC 5280 section 4.1.2.4).
//!
//! Owns the form `CN=example.org, O=Example`. The text is for logs: two different names can have the same text.

use super::Malformed;
use super::der::{self, Reader};

/// The attributes that have a short name, by the last byte of 2.5.4.
const ATTRIBUTES: [(u8, &str); 6] =
    [(3, "CN"), (6, "C"), (7, "L"), (8, "ST"), (10, "O"), (11, "OU")];

/// The text of a name. Attributes without a short name are left out; characters that would break a line become `?`.
pub(super) fn text(sequence: &[u8]) -> Result<String, Malformed> {
    let mut text = String::new();
    let mut sets = Reader::new(sequence);
    while !sets.is_empty() {
        let mut set = Reader::new(sets.expect(der::SET)?);
        while !set.is_empty() {
            let mut attribute = Reader::new(set.expect(der::SEQUENCE)?);
            let kind = attribute.expect(der::OBJECT_IDENTIFIER)?;
            let value = attribute.next()?.body;
            let short = ATTRIBUTES.iter().find(|(last, _)| kind == [0x55, 0x04, *last]);
            if let Some((_, short)) = short {
                let separator = if text.is_empty() { "" } else { ", " };
                text.push_str(&format!("{separator}{short}={}", printable(value)));
            }
        }
    }
    Ok(text)
}

fn printable(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    text.chars().map(|character| if character.is_control() { '?' } else { character }).collect()
}
