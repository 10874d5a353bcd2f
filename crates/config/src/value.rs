//! Typed values of the file: each parser turns one [`Item`] into a value, or returns what is wrong.
//!
//! Owns the wording of wrong types and ranges. Never adds a problem itself: the section does, with
//! the position.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::de::DeValue;

use crate::item::Item;
use crate::quantity::{parse_duration, parse_size, spoken_duration, spoken_size};
use crate::wording::shown;

pub(super) fn text(item: &Item<'_>) -> Result<String, String> {
    borrowed_text(item, "a text in quotes").map(str::to_owned)
}

/// A text that is not empty.
pub(super) fn word(item: &Item<'_>) -> Result<String, String> {
    let text = text(item)?;
    if text.is_empty() {
        return Err(format!("`{}` must not be empty", shown(item.key)));
    }
    Ok(text)
}

/// A text, or an error that says `wanted`.
pub(super) fn borrowed_text<'a>(item: &Item<'a>, wanted: &str) -> Result<&'a str, String> {
    item.value.as_str().ok_or_else(|| item.wrong_type(wanted))
}

/// `true` or `false`.
pub(super) fn boolean(item: &Item<'_>) -> Result<bool, String> {
    item.value.as_bool().ok_or_else(|| item.wrong_type("true or false"))
}

/// An integer within `range`.
pub(super) fn whole(item: &Item<'_>, range: RangeInclusive<u64>) -> Result<u64, String> {
    let DeValue::Integer(integer) = item.value else {
        return Err(item.wrong_type("a whole number"));
    };
    i128::from_str_radix(integer.as_str(), integer.radix())
        .ok()
        .and_then(|number| u64::try_from(number).ok())
        .filter(|number| range.contains(number))
        .ok_or_else(|| {
            format!("`{}` must be from {} to {}", shown(item.key), range.start(), range.end())
        })
}

/// A duration such as `"10s"`.
pub(super) fn duration(item: &Item<'_>) -> Result<Duration, String> {
    let text = borrowed_text(item, "a duration in quotes such as \"10s\"")?;
    parse_duration(text).map_err(|error| cannot_be(item, text, &error.to_string()))
}

/// A duration above zero, for deadlines that would otherwise refuse everything.
pub(super) fn deadline(item: &Item<'_>) -> Result<Duration, String> {
    let duration = duration(item)?;
    if duration.is_zero() {
        return Err(format!("`{}` must be more than zero", shown(item.key)));
    }
    Ok(duration)
}

/// A duration within `range`.
pub(super) fn duration_within(
    item: &Item<'_>,
    range: RangeInclusive<Duration>,
) -> Result<Duration, String> {
    let duration = duration(item)?;
    if range.contains(&duration) {
        return Ok(duration);
    }
    let (least, most) = (spoken_duration(*range.start()), spoken_duration(*range.end()));
    Err(format!("`{}` must be from {least} to {most}", shown(item.key)))
}

pub(super) fn deadline_or(item: &Item<'_>, none: &str) -> Result<Option<Duration>, String> {
    if item.value.as_str() == Some(none) {
        return Ok(None);
    }
    deadline(item).map(Some)
}

/// A number from 1, or `"unlimited"`.
pub(super) fn count_or_unlimited(item: &Item<'_>) -> Result<Option<u64>, String> {
    match item.value {
        DeValue::String(text) if text == "unlimited" => Ok(None),
        DeValue::Integer(_) => whole(item, 1..=i64::MAX.unsigned_abs()).map(Some),
        _ => Err(item.wrong_type("a whole number or \"unlimited\"")),
    }
}

/// A size such as `"16 KiB"`, or a number of bytes.
pub(super) fn size(item: &Item<'_>) -> Result<u64, String> {
    quantity_of_bytes(item, "a size in quotes such as \"16 KiB\", or a number of bytes", "")
}

/// Bytes per second: a size, perhaps followed by `/s`.
pub(super) fn rate(item: &Item<'_>) -> Result<u64, String> {
    quantity_of_bytes(item, "a rate in quotes such as \"512 B/s\", or bytes a second", "/s")
}

fn quantity_of_bytes(item: &Item<'_>, wanted: &str, suffix: &str) -> Result<u64, String> {
    match item.value {
        DeValue::Integer(_) => whole(item, 0..=i64::MAX.unsigned_abs()),
        DeValue::String(text) => parse_size(text.strip_suffix(suffix).unwrap_or(text))
            .map_err(|error| cannot_be(item, text, &error.to_string())),
        _ => Err(item.wrong_type(wanted)),
    }
}

pub(super) fn size_within(item: &Item<'_>, range: RangeInclusive<u64>) -> Result<u64, String> {
    let size = size(item)?;
    if range.contains(&size) {
        return Ok(size);
    }
    let (least, most) = (spoken_size(*range.start()), spoken_size(*range.end()));
    Err(format!("`{}` must be from {least} to {most}", shown(item.key)))
}

/// A path; relative ones refer to `base`.
pub(super) fn path(item: &Item<'_>, base: &Path) -> Result<PathBuf, String> {
    let text = word(item)?;
    if text.contains('\0') {
        return Err(format!("`{}` must not contain a NUL byte", shown(item.key)));
    }
    Ok(base.join(text))
}

/// The name of an app module.
pub(super) fn module_name(item: &Item<'_>) -> Result<String, String> {
    let name = word(item)?;
    let is_piece = |piece: &str| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        !piece.is_empty() && piece.bytes().all(known)
    };
    if name.split('.').all(is_piece) {
        return Ok(name);
    }
    let why = "a module is named without `.lua`, with dots for directories: \"shop.basket\"";
    Err(cannot_be(item, &name, why))
}

/// The message for a value of the right type that is still invalid.
pub(super) fn cannot_be(item: &Item<'_>, text: &str, why: &str) -> String {
    format!("`{}` cannot be \"{}\": {why}", shown(item.key), shown(text))
}
