//! Header fields that the user adds to answers, and their values.
//!
//! Owns what is allowed in a field (RFC 9110 §5) and which fields are the server's own. A checked
//! field cannot split a head.

use wire::http::fields::FRAMING;

use crate::item::Item;
use crate::limits::HEADERS_SIZE_MAX;
use crate::model::header::Header;
use crate::problem::Problems;
use crate::section::Section;
use crate::value::{cannot_be, text, word};
use crate::wording::{nearest, shown};

/// Fields that frame a message or belong to the connection, and what to write instead.
const RESERVED: [(&str, &str); 13] = [
    ("cache-control", "write `cache_control`"),
    ("connection", "the server sets it"),
    ("content-encoding", "the server sets it"),
    ("content-length", "the server sets it"),
    ("content-range", "the server sets it"),
    ("content-type", "write `content_type`, or the extension in [mime]"),
    ("date", "the server sets it"),
    ("keep-alive", "the server sets it"),
    ("location", "write a `redirect`"),
    ("te", "it belongs to requests"),
    ("trailer", "the server sets it"),
    ("transfer-encoding", "the server sets it"),
    ("upgrade", "the server sets it"),
];

/// Reads the table `headers` of a section.
pub(super) fn headers(section: &Section<'_>, problems: &mut Problems) -> Vec<Header> {
    table(section, "headers", problems, check_name)
}

/// Reads a table of fields of messages that pass through.
pub(super) fn passed(
    section: &Section<'_>,
    key: &'static str,
    problems: &mut Problems,
) -> Vec<Header> {
    table(section, key, problems, check_passed)
}

/// The name of a field of messages that pass through, in lower case.
pub(super) fn passed_name(item: &Item<'_>) -> Result<String, String> {
    let name = word(item)?;
    check_passed(&name)?;
    Ok(name.to_ascii_lowercase())
}

fn table(
    section: &Section<'_>,
    key: &'static str,
    problems: &mut Problems,
    check: fn(&str) -> Result<(), String>,
) -> Vec<Header> {
    let mut headers: Vec<Header> = Vec::new();
    for item in section.entries(key, problems) {
        if let Some(why) = problems.misplaced(key, item.key) {
            let mend = format!("{why}; a field of that name is written `{}`", capital(item.key));
            problems.at(item.key_offset, mend);
            continue;
        }
        if let Err(message) = check(item.key) {
            problems.at(item.key_offset, message);
            continue;
        }
        if headers.iter().any(|header| header.name.eq_ignore_ascii_case(item.key)) {
            problems.at(item.key_offset, format!("the field `{}` is given twice", item.key));
            continue;
        }
        match value(&item) {
            Ok(value) => headers.push(Header { name: item.key.to_owned(), value }),
            Err(message) => problems.at(item.offset, message),
        }
    }
    let size: usize = headers.iter().map(|header| header.name.len() + header.value.len() + 4).sum();
    if size > HEADERS_SIZE_MAX {
        let at = section.item(key).map_or(0, |item| item.offset);
        problems.at(at, format!("`{key}` has {size} bytes, more than {HEADERS_SIZE_MAX}"));
    }
    headers
}

/// The name of a field as it is usually written; names of fields have no case.
fn capital(name: &str) -> String {
    let (first, rest) = name.split_at(name.len().min(1));
    first.to_ascii_uppercase() + rest
}

/// Whether a text is the name of a field.
pub(super) fn check_token(name: &str) -> Result<(), String> {
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(format!(
            "`{}` is not a field name; use letters, digits and hyphens",
            shown(name)
        ));
    }
    Ok(())
}

fn check_passed(name: &str) -> Result<(), String> {
    check_token(name)?;
    let mut set_here = FRAMING.iter().chain(&["via"]);
    if set_here.any(|reserved| name.eq_ignore_ascii_case(reserved)) {
        return Err(format!("the field `{name}` cannot be changed; the server sets it"));
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), String> {
    check_token(name)?;
    let lower = name.to_ascii_lowercase();
    match RESERVED.iter().find(|(reserved, _)| *reserved == lower) {
        Some((_, mend)) => Err(format!("the field `{name}` cannot be added here; {mend}")),
        None => Ok(()),
    }
}

/// Whether it can be the name of a field.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(is_token)
}

/// RFC 9110 §5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// The value of a field: visible ASCII, blanks and tabs inside (RFC 9110 §5.5).
pub(super) fn value(item: &Item<'_>) -> Result<String, String> {
    let text = text(item)?;
    let wrong = text.chars().find(|character| !matches!(character, '\t' | ' '..='~'));
    if let Some(character) = wrong {
        let why = format!("`{}` is not allowed in a field", character.escape_default());
        return Err(cannot_be(item, &text, &why));
    }
    if text.trim() != text {
        return Err(cannot_be(item, &text, "a field neither begins nor ends with a blank"));
    }
    Ok(text)
}

/// The value of a field that must not be empty.
pub(super) fn full_value(item: &Item<'_>) -> Result<String, String> {
    word(item)?;
    value(item)
}

/// Whether a value of the file can only be a media type: its first part is one that is registered (RFC 6838 section
/// 4.2), or private.
pub(super) fn is_surely_media_type(item: &Item<'_>) -> bool {
    const KINDS: [&str; 12] = [
        "application",
        "audio",
        "chemical",
        "example",
        "font",
        "haptics",
        "image",
        "message",
        "model",
        "multipart",
        "text",
        "video",
    ];
    let kind = media_type(item)
        .ok()
        .and_then(|text| text.split_once('/').map(|(kind, _)| kind.to_ascii_lowercase()));
    kind.is_some_and(|kind| KINDS.contains(&&*kind) || kind.starts_with("x-"))
}

/// A media type such as `text/plain; charset=utf-8`.
pub(super) fn media_type(item: &Item<'_>) -> Result<String, String> {
    let text = full_value(item)?;
    let essence = text.split(';').next().unwrap_or(&text).trim_end();
    let is_type = essence.split_once('/').is_some_and(|(first, second)| {
        !first.is_empty()
            && !second.is_empty()
            && first.bytes().all(is_token)
            && second.bytes().all(is_token)
    });
    if is_type {
        return Ok(text);
    }
    Err(cannot_be(item, &text, "write a media type such as \"text/plain; charset=utf-8\""))
}

/// The directives of Cache-Control for answers (RFC 9111 §5.2.2, RFC 5861, RFC 8246).
const CACHE_DIRECTIVES: [&str; 13] = [
    "max-age",
    "s-maxage",
    "no-cache",
    "no-store",
    "no-transform",
    "public",
    "private",
    "must-revalidate",
    "proxy-revalidate",
    "must-understand",
    "immutable",
    "stale-while-revalidate",
    "stale-if-error",
];

/// A Cache-Control. Unknown directives are allowed, because caches may know them; a misspelled known one is refused.
pub(super) fn cache_control(item: &Item<'_>) -> Result<String, String> {
    let text = full_value(item)?;
    for directive in text.split(',') {
        let name = directive.split('=').next().unwrap_or_default().trim().to_ascii_lowercase();
        if CACHE_DIRECTIVES.contains(&name.as_str()) {
            continue;
        }
        if let Some(meant) = nearest(&name, &CACHE_DIRECTIVES) {
            return Err(cannot_be(item, &text, &format!("did you mean \"{meant}\"?")));
        }
    }
    Ok(text)
}
