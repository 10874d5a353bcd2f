//! Texts as values and comments of the printed file.
//!
//! Owns the escapes of TOML (the basic strings of TOML 1.0). Never decides what is printed.

use std::fmt::Write as _;

/// A text as a value.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(control));
            }
            plain => out.push(plain),
        }
    }
    out.push('"');
    // A text from elsewhere has no variables of ours.
    out.replace("${", "$${")
}

/// A list of texts as a value.
pub(crate) fn list<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<String> = texts.into_iter().map(|text| quoted(text.as_ref())).collect();
    format!("[{}]", texts.join(", "))
}

/// A table in braces; the names are quoted if they need it.
pub(crate) fn table<'t>(entries: impl IntoIterator<Item = (&'t str, String)>) -> String {
    let entries: Vec<String> =
        entries.into_iter().map(|(name, value)| format!("{} = {value}", key(name))).collect();
    format!("{{ {} }}", entries.join(", "))
}

pub(crate) fn key(name: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let bare = !name.is_empty() && name.bytes().all(is_bare);
    // Keys have no variables.
    if bare { name.to_owned() } else { quoted(name).replace("$${", "${") }
}

/// A text on one line of a comment.
pub(crate) fn comment(text: &str) -> String {
    const CHARACTERS_MAX: usize = 200;
    let plain = |character: char| if character.is_control() { ' ' } else { character };
    text.chars().map(plain).take(CHARACTERS_MAX).collect()
}

/// A duration of nginx or Caddy (`30d`, `1h30m`, `100ms`; a bare number counts seconds) in seconds, if it is one.
pub(crate) fn seconds(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut sum: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest.split_at_checked(digits)?;
        let letters = after.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, after) = after.split_at_checked(letters)?;
        let factor = match unit {
            "" | "s" => 1,
            "m" => 60,
            "h" => 3600,
            "d" => 24 * 3600,
            "w" => 7 * 24 * 3600,
            "M" => 30 * 24 * 3600,
            "y" => 365 * 24 * 3600,
            _ => return None,
        };
        sum = sum.checked_add(number.parse::<u64>().ok()?.checked_mul(factor)?)?;
        rest = after;
    }
    (!text.is_empty()).then_some(sum)
}

/// A size of nginx or Caddy (`10m`, `8k`, `10MB`, `1GiB`) as a value, if it is one.
pub(crate) fn size(text: &str) -> Option<String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let number: u64 = number.parse().ok()?;
    let unit = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => "B",
        "k" | "kib" => "KiB",
        "m" | "mib" => "MiB",
        "g" | "gib" => "GiB",
        "kb" => "kB",
        "mb" => "MB",
        "gb" => "GB",
        _ => return None,
    };
    Some(quoted(&format!("{number} {unit}")))
}

/// Whether a name is one of the words of a table.
pub(crate) fn is_in(words: &str, name: &str) -> bool {
    words.split_ascii_whitespace().any(|word| word == name)
}
