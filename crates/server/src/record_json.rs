//! Records of the store as JSON: `{"key":"a","value":"1","expires_at_ms":1767225600000}`.
//!
//! Owns the format of lists over HTTP and of exported files. Bytes that are not text are base64,
//! under `key_base64` and `value_base64`. A value is a string if it is text, a number if it is an
//! integer, otherwise a table; a table that is itself a string or a number is under `json`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use store::{Entry, Kind, Row};

/// Formats a record.
#[must_use]
pub fn to_json(key: &[u8], entry: &Entry) -> Value {
    let mut object = Map::new();
    put_bytes("key", key, &mut object);
    let parsed: Option<Value> = match entry.kind {
        Kind::Number | Kind::Table => serde_json::from_slice(&entry.bytes).ok(),
        Kind::Bytes => None,
    };
    match parsed {
        Some(value) if entry.kind == Kind::Table && (value.is_string() || value.is_number()) => {
            object.insert("json".to_owned(), value);
        }
        Some(value) => drop(object.insert("value".to_owned(), value)),
        None => put_bytes("value", &entry.bytes, &mut object),
    }
    if let Some(expiry) = entry.expiry_ms {
        object.insert("expires_at_ms".to_owned(), json!(expiry));
    }
    Value::Object(object)
}

/// Adds bytes under a name: as text if they are UTF-8, otherwise in base64 under `NAME_base64`.
pub fn put_bytes(name: &str, bytes: &[u8], object: &mut Map<String, Value>) {
    match str::from_utf8(bytes) {
        Ok(text) => object.insert(name.to_owned(), json!(text)),
        Err(_) => object.insert(format!("{name}_base64"), json!(STANDARD.encode(bytes))),
    };
}

/// Parses a record as a row to load.
///
/// # Errors
/// The field that is missing or invalid.
pub fn of_json(record: &Map<String, Value>) -> Result<Row, String> {
    let key = bytes_of("key", record)?.ok_or("there is no `key`")?;
    let table = |value: &Value| store::Value {
        kind: Kind::Table,
        bytes: value.to_string().into_bytes().into(),
    };
    let value = match (record.get("value"), record.get("json")) {
        (None, Some(value)) => table(value),
        (Some(Value::Number(number)), _) if number.is_i64() => {
            store::Value { kind: Kind::Number, bytes: number.to_string().into_bytes().into() }
        }
        (Some(value), _) if !value.is_string() => table(value),
        _ => store::Value::bytes(&bytes_of("value", record)?.ok_or("there is no `value`")?),
    };
    let expiry_ms = match record.get("expires_at_ms") {
        None => None,
        Some(time) => Some(time.as_u64().ok_or("`expires_at_ms` is not a time")?),
    };
    Ok(Row { key: key.into(), value, expiry_ms })
}

fn bytes_of(name: &str, record: &Map<String, Value>) -> Result<Option<Vec<u8>>, String> {
    if let Some(value) = record.get(name) {
        let text = value.as_str().ok_or_else(|| format!("`{name}` is not a string"))?;
        return Ok(Some(text.as_bytes().to_vec()));
    }
    let encoded = format!("{name}_base64");
    let Some(value) = record.get(&encoded) else { return Ok(None) };
    let decoded = value.as_str().and_then(|text| STANDARD.decode(text).ok());
    decoded.map(Some).ok_or_else(|| format!("`{encoded}` is not base64"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entries() -> impl Strategy<Value = (Kind, Vec<u8>)> {
        prop_oneof![
            prop::collection::vec(any::<u8>(), 0..20).prop_map(|bytes| (Kind::Bytes, bytes)),
            any::<i64>().prop_map(|number| (Kind::Number, number.to_string().into_bytes())),
            prop::sample::select(vec!["{\"a\":[1,null]}", "\"text\"", "5", "1.5", "true", "[]"])
                .prop_map(|text| (Kind::Table, text.as_bytes().to_vec())),
        ]
    }

    proptest! {
        #[test]
        fn what_is_exported_is_imported_as_it_was(
            key in prop::collection::vec(any::<u8>(), 1..20),
            (kind, bytes) in entries(),
            expiry_ms: Option<u64>,
        ) {
            let entry = Entry { kind, version: 7, expiry_ms, bytes: bytes.clone().into() };
            let line = to_json(&key, &entry).to_string();
            let record: Map<String, Value> = serde_json::from_str(&line).unwrap();
            let value = store::Value { kind, bytes: bytes.into() };
            prop_assert_eq!(of_json(&record).unwrap(), Row { key: key.into(), value, expiry_ms }, "{}", line);
        }
    }
}
