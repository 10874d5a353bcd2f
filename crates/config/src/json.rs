//! A value of the file as JSON text, with keys in the order of the file.
//!
//! Owns the translation, which happens once when the file is read; requests send the finished text.
//! The TOML parser limits how deep values nest.

use serde::ser::{Error, Serialize, SerializeMap as _, SerializeSeq as _, Serializer};
use toml::de::DeValue;

use crate::item::Item;
use crate::problem::Problems;

/// The JSON text of a value.
pub(super) fn text(item: &Item<'_>) -> Result<String, String> {
    serde_json::to_string(&Json(item.value))
        .map_err(|error| format!("`{}` cannot be written as JSON: {error}", item.key))
}

/// Refuses settings of the top level below the header of a table, `[route.json]`, which would only be sent to clients.
/// A value that is written in braces has all of its keys on purpose.
pub(super) fn look_for_settings(item: &Item<'_>, problems: &mut Problems) {
    match item.value {
        DeValue::Table(table) if problems.is_below_header(item.offset) => {
            for (key, value) in table.iter() {
                let name = key.get_ref();
                if let Some(why) = problems.misplaced_of_top("json", name) {
                    let mend = format!("{why}; to send it, write `json = {{ {name} = ... }}`");
                    problems.at(key.span().start, mend);
                }
                look_for_settings(&item.part(value), problems);
            }
        }
        DeValue::Array(parts) => {
            for part in parts {
                look_for_settings(&item.part(part), problems);
            }
        }
        _ => {}
    }
}

struct Json<'v>(&'v DeValue<'v>);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            DeValue::String(text) => out.serialize_str(text),
            DeValue::Boolean(value) => out.serialize_bool(*value),
            DeValue::Datetime(date) => out.collect_str(date),
            DeValue::Integer(integer) => {
                let number = i128::from_str_radix(integer.as_str(), integer.radix());
                let number = number.ok().and_then(|number| i64::try_from(number).ok());
                out.serialize_i64(
                    number.ok_or_else(|| S::Error::custom("a number has more than 64 bits"))?,
                )
            }
            DeValue::Float(float) => match float.as_str().parse::<f64>() {
                Ok(number) if number.is_finite() => out.serialize_f64(number),
                _ => Err(S::Error::custom("JSON has no infinity and no nan")),
            },
            DeValue::Array(parts) => {
                let mut sequence = out.serialize_seq(Some(parts.len()))?;
                for part in parts {
                    sequence.serialize_element(&Json(part.get_ref()))?;
                }
                sequence.end()
            }
            DeValue::Table(table) => {
                let mut entries: Vec<_> = table.iter().collect();
                entries.sort_by_key(|(key, _)| key.span().start);
                let mut map = out.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key.get_ref(), &Json(value.get_ref()))?;
                }
                map.end()
            }
        }
    }
}
