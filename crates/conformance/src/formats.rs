//! Owns the forms of field values that cases require. Checks only the value itself.

use crate::case::FieldFormat;
use crate::lines::is_token;

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Whether the value has the form. `host` is the authority a local reference may name.
pub(crate) fn has_form(value: &[u8], format: FieldFormat, host: &str) -> bool {
    match format {
        FieldFormat::HttpDate => is_http_date(value),
        FieldFormat::EntityTag => is_strong_entity_tag(value.strip_prefix(b"W/").unwrap_or(value)),
        FieldFormat::StrongEntityTag => is_strong_entity_tag(value),
        FieldFormat::Methods => is_methods(value),
        FieldFormat::LocalReference => is_local_reference(value, host),
        FieldFormat::MediaType => is_media_type(value),
    }
}

/// RFC 9110 section 8.8.3: quotes around visible bytes without a quote.
pub(crate) fn is_strong_entity_tag(value: &[u8]) -> bool {
    let inner = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    inner.is_some_and(|inner| {
        inner.iter().all(|byte| *byte > b' ' && *byte != 0x7f && *byte != b'"')
    })
}

/// RFC 9110 section 5.6.7, the one form a server may generate: `Sun, 06 Nov 1994 08:49:37 GMT`.
fn is_http_date(value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    if !text.is_ascii() || text.len() != 29 {
        return false;
    }
    let digits = |from: usize, to: usize, most: u16| {
        let part = &text[from..to];
        let number = part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<u16>());
        number.and_then(Result::ok).is_some_and(|number| number <= most)
    };
    DAYS.contains(&&text[..3])
        && &text[3..5] == ", "
        && digits(5, 7, 31)
        && &text[7..8] == " "
        && MONTHS.contains(&&text[8..11])
        && &text[11..12] == " "
        && digits(12, 16, 9999)
        && &text[16..17] == " "
        && digits(17, 19, 23)
        && &text[19..20] == ":"
        && digits(20, 22, 59)
        && &text[22..23] == ":"
        && digits(23, 25, 60)
        && &text[25..] == " GMT"
}

/// The obsolete form with the weekday in full and two digits of the year.
pub(crate) fn to_rfc850(date: &str) -> Option<String> {
    if !is_http_date(date.as_bytes()) {
        return None;
    }
    let weekday = match &date[..3] {
        "Tue" => "Tuesday",
        "Wed" => "Wednesday",
        "Thu" => "Thursday",
        "Sat" => "Saturday",
        "Sun" => "Sunday",
        "Mon" => "Monday",
        _ => "Friday",
    };
    let (day, month, year, time) = (&date[5..7], &date[8..11], &date[14..16], &date[17..25]);
    Some(format!("{weekday}, {day}-{month}-{year} {time} GMT"))
}

/// The obsolete form of asctime, with a blank before a day of one digit.
pub(crate) fn to_asctime(date: &str) -> Option<String> {
    if !is_http_date(date.as_bytes()) {
        return None;
    }
    let day = date[5..7].trim_start_matches('0');
    let (weekday, month, year, time) = (&date[..3], &date[8..11], &date[12..16], &date[17..25]);
    Some(format!("{weekday} {month} {day:>2} {time} {year}"))
}

/// Tokens between commas; an empty list is one too (RFC 9110 section 10.2.1).
fn is_methods(value: &[u8]) -> bool {
    let mut members = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    value.is_empty() || members.all(|member| !member.is_empty() && member.iter().all(is_token))
}

fn is_media_type(value: &[u8]) -> bool {
    let essence = value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let mut parts = essence.split(|byte| *byte == b'/');
    let token = |part: Option<&[u8]>| {
        part.is_some_and(|part| !part.is_empty() && part.iter().all(is_token))
    };
    token(parts.next()) && token(parts.next()) && parts.next().is_none()
}

/// A path, or a URI with http or https of this very authority or host, which no browser takes to another host.
fn is_local_reference(value: &[u8], host: &str) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    if !text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
        return false;
    }
    let path = match text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")) {
        None => text,
        Some(rest) => {
            let (authority, _) = rest.split_once('/').unwrap_or((rest, ""));
            let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
            return authority.rsplit_once(':').map_or(authority, |(name, _)| name) == name;
        }
    };
    path.starts_with('/') && !path.starts_with("//")
}
