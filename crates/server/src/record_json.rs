//! Records of the store as JSON: `{"key":"a","value":"1","expires_at_ms":1767225600000}`.
//!
//! Owns the format of lists over HTTP and of exported files. Bytes that are not text are base64,
//! under `key_base64` and `value_base64`. A value is a string if it is text, a number if it is an
//! integer, otherwise a table; a table that is itself a string or a number is under `json`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;
use store::{LoadedRow, Record, ValueKind};
use wire::json;

/// The fields of a record, each with its JSON text.
pub type RecordFields<'r> = BTreeMap<Cow<'r, str>, &'r RawValue>;

/// Formats a record without its value, which is too long for a list.
pub(crate) fn to_json_without_value(key: &[u8], record: &Record<'_>) -> String {
    let mut text = "{".to_owned();
    put_bytes("key", key, &mut text);
    text.push_str(&format!(",\"length\":{}", record.bytes.len()));
    put_expiry(record, &mut text);
    text
}

/// Formats a record.
pub fn to_json(key: &[u8], entry: &Record<'_>) -> String {
    let mut text = "{".to_owned();
    put_bytes("key", key, &mut text);
    text.push(',');
    let value = match entry.kind {
        ValueKind::Number | ValueKind::Table => json::check_of_page(entry.bytes).ok(),
        ValueKind::Bytes => None,
    };
    match value {
        Some(value) if entry.kind == ValueKind::Table && is_string_or_number(value) => {
            text.push_str("\"json\":");
            text.push_str(value);
        }
        Some(value) => {
            text.push_str("\"value\":");
            text.push_str(value);
        }
        None => put_bytes("value", entry.bytes, &mut text),
    }
    put_expiry(entry, &mut text);
    text
}

/// Adds the expiry, and ends the object.
fn put_expiry(record: &Record<'_>, text: &mut String) {
    if let Some(expiry) = record.expiry_ms {
        text.push_str(&format!(",\"expires_at_ms\":{expiry}"));
    }
    text.push('}');
}

fn is_string_or_number(value: &str) -> bool {
    value.starts_with(|first: char| matches!(first, '"' | '-') || first.is_ascii_digit())
}

/// Adds bytes under a name: as text if they are UTF-8, otherwise in base64 under `NAME_base64`.
pub fn put_bytes(name: &str, bytes: &[u8], text: &mut String) {
    let (suffix, content) = match str::from_utf8(bytes) {
        Ok(content) => ("", Cow::from(content)),
        Err(_) => ("_base64", Cow::from(STANDARD.encode(bytes))),
    };
    let content = serde_json::to_string(&content).expect("every string is JSON");
    text.push_str(&format!("\"{name}{suffix}\":"));
    text.push_str(&content);
}

/// Parses a record as a row to load. Its text has passed [`json::check_around`] with one level.
///
/// # Errors
/// The field that is missing or invalid.
pub fn of_json(record: &RecordFields<'_>) -> Result<LoadedRow, String> {
    let key = bytes_of("key", record)?.ok_or("there is no `key`")?;
    let of = |kind, text: &str| store::Value { kind, bytes: text.as_bytes().into() };
    let value = match (record.get("value").map(|value| value.get()), record.get("json")) {
        (None, Some(value)) => of(ValueKind::Table, value.get()),
        (Some(value), _) if is_integer(value) => of(ValueKind::Number, value),
        (Some(value), _) if !value.starts_with('"') => of(ValueKind::Table, value),
        _ => store::Value::bytes(&bytes_of("value", record)?.ok_or("there is no `value`")?),
    };
    let expiry_ms = match record.get("expires_at_ms") {
        None => None,
        Some(time) => Some(time.get().parse().map_err(|_| "`expires_at_ms` is not a time")?),
    };
    Ok(LoadedRow { key: key.into(), value, expiry_ms })
}

/// Whether a JSON text is a number as the store counts with.
fn is_integer(text: &str) -> bool {
    text.parse::<i64>().is_ok_and(|number| number.to_string() == text)
}

fn bytes_of(name: &str, record: &RecordFields<'_>) -> Result<Option<Vec<u8>>, String> {
    let text_of =
        |value: &RawValue| value.get().starts_with('"').then(|| json::string(value.get()));
    if let Some(value) = record.get(name) {
        let text = text_of(value).ok_or_else(|| format!("`{name}` is not a string"))?;
        return Ok(Some(text.into_bytes()));
    }
    let encoded = format!("{name}_base64");
    let Some(value) = record.get(&*encoded) else { return Ok(None) };
    let decoded = text_of(value).and_then(|text| STANDARD.decode(text).ok());
    decoded.map(Some).ok_or_else(|| format!("`{encoded}` is not base64"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use store::StoredEntry;

    use super::*;

    fn entries() -> impl Strategy<Value = (ValueKind, Vec<u8>)> {
        prop_oneof![
            prop::collection::vec(any::<u8>(), 0..20).prop_map(|bytes| (ValueKind::Bytes, bytes)),
            any::<i64>().prop_map(|number| (ValueKind::Number, number.to_string().into_bytes())),
            prop::sample::select(vec![
                "{\"a\":[1,null]}",
                "\"text\"",
                "5",
                "1.5",
                "true",
                "[]",
                "1e300",
                "-0",
                "{\"a\":0.10000000000000000000001}",
                "\"\\ud800\""
            ])
            .prop_map(|text| (ValueKind::Table, text.as_bytes().to_vec())),
        ]
    }

    proptest! {
        #[test]
        fn exported_record_imports_unchanged(
            key in prop::collection::vec(any::<u8>(), 1..20),
            (kind, bytes) in entries(),
            expiry_ms: Option<u64>,
        ) {
            let entry = StoredEntry { kind, version: 7, expiry_ms, bytes: bytes.clone().into() };
            let line = to_json(&key, &entry.as_record());
            prop_assert!(json::check_around(line.as_bytes(), 1).is_ok(), "{}", line);
            let record: RecordFields<'_> = serde_json::from_str(&line).unwrap();
            let value = store::Value { kind, bytes: bytes.into() };
            prop_assert_eq!(of_json(&record).unwrap(), LoadedRow { key: key.into(), value, expiry_ms }, "{}", line);
        }
    }
}
