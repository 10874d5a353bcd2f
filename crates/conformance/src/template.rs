//! Owns the notation of bytes in cases: line breaks, escapes, placeholders, repetition. Never sends them.
//!
//! A line break is CR LF on the wire. `\n` and `\r` are the bare bytes, `\t \0 \\ \{ \}` and `\xHH` what they
//! look like, a backslash at the end of a line joins it with the next. `{name}` is a fact about the target,
//! `{repeat 100 text}` is the text a hundred times (escapes work in it, placeholders do not).

use crate::case::Need;
use crate::facts::Facts;
use crate::limits::TEMPLATE_BYTES_MAX;
use crate::target::Capability;

/// The needs that come with a placeholder.
pub(crate) const NEEDS: &[(&str, Need)] = &[
    ("{file}", Need::Offers(Capability::File)),
    ("{file-encoded}", Need::Offers(Capability::File)),
    ("{length}", Need::Offers(Capability::File)),
    ("{last}", Need::Offers(Capability::File)),
    ("{empty-file}", Need::Offers(Capability::EmptyFile)),
    ("{directory}", Need::Offers(Capability::Directory)),
    ("{missing}", Need::Offers(Capability::Missing)),
    ("{echo}", Need::Offers(Capability::Echo)),
    ("{redirect}", Need::Offers(Capability::Redirect)),
    ("{dotfile}", Need::Offers(Capability::Dotfile)),
    ("{outside-link}", Need::Offers(Capability::OutsideLink)),
    ("{precompressed}", Need::Offers(Capability::Precompressed)),
    ("{over-body-limit}", Need::Offers(Capability::BodyLimit)),
    ("{dotfile-encoded}", Need::Offers(Capability::Dotfile)),
    ("{last-modified}", Need::LastModified),
    ("{last-modified-rfc850}", Need::LastModified),
    ("{last-modified-asctime}", Need::LastModified),
];

/// An error in a template. Always an error in the data.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TemplateError {
    /// A backslash with something unknown behind it.
    #[error("unknown escape")]
    Escape,
    /// A brace that is never closed.
    #[error("brace without end")]
    OpenBrace,
    /// A name nobody knows, or a fact the target does not have.
    #[error("nothing is known about {{{0}}}")]
    Unknown(String),
    /// A repetition without a number or without a text.
    #[error("'{0}' does not say what to repeat")]
    Repeat(String),
    /// More bytes than a case may send.
    #[error("longer than {TEMPLATE_BYTES_MAX} bytes")]
    TooLong,
}

/// The bytes a template stands for.
pub(crate) fn expand(text: &str, facts: &Facts) -> Result<Vec<u8>, TemplateError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        match character {
            '\n' => bytes.extend_from_slice(b"\r\n"),
            '\\' => rest = escape(rest, &mut bytes)?,
            '{' => {
                let end = rest.find('}').ok_or(TemplateError::OpenBrace)?;
                placeholder(&rest[..end], facts, &mut bytes)?;
                rest = &rest[end + 1..];
            }
            other => bytes.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
        }
        if bytes.len() > TEMPLATE_BYTES_MAX {
            return Err(TemplateError::TooLong);
        }
    }
    Ok(bytes)
}

/// One escape after its backslash; gives back what follows it.
fn escape<'text>(rest: &'text str, bytes: &mut Vec<u8>) -> Result<&'text str, TemplateError> {
    let character = rest.chars().next().ok_or(TemplateError::Escape)?;
    let after = &rest[character.len_utf8()..];
    match character {
        'r' => bytes.push(b'\r'),
        'n' => bytes.push(b'\n'),
        't' => bytes.push(b'\t'),
        '0' => bytes.push(0),
        '\\' | '{' | '}' => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        '\n' => {}
        'x' => {
            let digits = after.get(..2).ok_or(TemplateError::Escape)?;
            bytes.push(u8::from_str_radix(digits, 16).map_err(|_| TemplateError::Escape)?);
            return Ok(&after[2..]);
        }
        _ => return Err(TemplateError::Escape),
    }
    Ok(after)
}

fn placeholder(text: &str, facts: &Facts, bytes: &mut Vec<u8>) -> Result<(), TemplateError> {
    let Some(repeat) = text.strip_prefix("repeat ") else {
        let value = facts.value(text).ok_or_else(|| TemplateError::Unknown(text.to_owned()))?;
        bytes.extend_from_slice(value.as_bytes());
        return Ok(());
    };
    let wrong = || TemplateError::Repeat(text.to_owned());
    let (count, unit) = repeat.split_once(' ').ok_or_else(wrong)?;
    let count: usize = count.parse().map_err(|_| wrong())?;
    let unit = expand(unit, facts)?;
    if unit.is_empty() {
        return Err(wrong());
    }
    if unit.len().saturating_mul(count) > TEMPLATE_BYTES_MAX {
        return Err(TemplateError::TooLong);
    }
    bytes.extend_from_slice(&unit.repeat(count));
    Ok(())
}
