//! The rows of a CSV or TSV file.
//!
//! Owns the header line and which column is what. CSV is as RFC 4180 has it. TSV is as its registration at IANA has it:
//! a quotation mark is an ordinary character.

use std::collections::BTreeSet;
use std::io::{BufReader, Read};
use std::path::Path;

use ::store::{LoadedRow, Value, ValueKind};
use serde_json::Map;

use crate::Failure;

/// The rows of a file, or what is wrong with one.
pub(super) type Rows = Box<dyn Iterator<Item = Result<LoadedRow, String>>>;

/// The characters of a format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dialect {
    delimiter: u8,
    quotes: Quoting,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quoting {
    /// A field may be in quotation marks, and then contain delimiters and line ends.
    Possible,
    /// A quotation mark is an ordinary character.
    None,
}

pub(super) const CSV: Dialect = Dialect { delimiter: b',', quotes: Quoting::Possible };
pub(super) const TSV: Dialect = Dialect { delimiter: b'\t', quotes: Quoting::None };

/// Which file is read, and the columns that its command names. Plain data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns<'c> {
    pub(crate) file: &'c Path,
    pub(crate) key: Option<&'c str>,
    pub(crate) value: Option<&'c str>,
}

/// Reads the header, and gives the rows.
pub(super) fn rows(
    source: impl Read + 'static,
    dialect: Dialect,
    columns: Columns<'_>,
) -> Result<Rows, Failure> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(dialect.delimiter)
        .quoting(dialect.quotes == Quoting::Possible)
        .from_reader(BufReader::new(source));
    let wrong = |problem: &dyn std::fmt::Display| {
        Failure::Failed(format!("{}: {problem}", columns.file.display()))
    };
    let header = reader.byte_headers().map_err(|error| wrong(&error))?.clone();
    let names: Vec<String> =
        header.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    if let Some(name) = twice(&names) {
        return Err(wrong(&format!("line 1: two columns are called `{name}`")));
    }
    let place = |column: Option<&str>| {
        let Some(column) = column else { return Ok(None) };
        let place = names.iter().position(|name| name == column);
        place.map(Some).ok_or_else(|| {
            let known = names.join(", ");
            Failure::WrongUse(format!("there is no column `{column}`; known are {known}"))
        })
    };
    let (key, value) = (place(columns.key)?.unwrap_or(0), place(columns.value)?);
    // If there are two columns, the other one is the value.
    let value = value.or((names.len() == 2).then_some(1 - key.min(1)));
    Ok(Box::new(reader.into_byte_records().map(move |record| {
        let record = record.map_err(|error| error.to_string())?;
        let field = |place: usize| record.get(place).unwrap_or_default();
        let value = match value {
            Some(place) => Value::bytes(field(place)),
            None => {
                let others = names.iter().enumerate().filter(|(place, _)| *place != key);
                let text = |place: usize| String::from_utf8_lossy(field(place)).into_owned();
                let object: Map<String, serde_json::Value> =
                    others.map(|(place, name)| (name.clone(), text(place).into())).collect();
                let text = serde_json::Value::Object(object).to_string();
                Value { kind: ValueKind::Table, bytes: text.into_bytes().into() }
            }
        };
        Ok(LoadedRow { key: field(key).into(), value, expiry_ms: None })
    })))
}

/// The first name that an earlier column has, too.
fn twice(names: &[String]) -> Option<&String> {
    let mut seen = BTreeSet::new();
    names.iter().find(|name| !seen.insert(*name))
}
