//! Lists with columns: connections, routes, pages, channels and others have one shape.
//!
//! Owns the shape. Whoever draws a table needs to know nothing about what it lists: a column says what its values are.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveTable {
    /// Its subject: one of the names that `?list=` takes.
    pub name: String,
    /// Its columns, in the order in which they are shown; the first is the name of a row.
    pub columns: Vec<Column>,
    /// Its rows, largest first by `sorted_by`.
    pub rows: Vec<TableRow>,
    /// The column by which the rows were chosen.
    pub sorted_by: String,
    /// Rows that there are and that were not chosen.
    pub left_out: u64,
}

/// A column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its key in a row.
    pub key: String,
    /// Its heading: a word or two.
    pub title: String,
    /// The kind of its values.
    pub unit: ColumnUnit,
    /// Whether its values only grow.
    pub counts: ColumnGrowth,
}

/// The kind of the values of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnUnit {
    /// Text.
    #[default]
    Text,
    /// A number of things.
    Count,
    /// Bytes.
    Bytes,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Hundredths of the whole.
    Percent,
}

/// Whether the values of a column only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnGrowth {
    /// They are what is now.
    #[default]
    Now,
    /// They count since the start: the difference of two snapshots says what happened between them.
    Up,
}

/// A row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TableRow {
    /// Its id, for `GET /info?id=` and `POST /kill`. The same thing has the same id in all snapshots.
    pub id: String,
    /// Its values, by the key of their column. A column without a value is absent.
    pub values: BTreeMap<String, CellValue>,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CellValue {
    /// A whole number.
    Number(u64),
    /// A fraction.
    Fraction(f64),
    /// Text.
    Text(String),
}

impl TableRow {
    /// A row without values.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), values: BTreeMap::new() }
    }

    /// With a text.
    #[must_use]
    pub fn text(mut self, key: &str, text: impl Into<String>) -> Self {
        self.values.insert(key.to_owned(), CellValue::Text(text.into()));
        self
    }

    /// With a number.
    #[must_use]
    pub fn number(mut self, key: &str, number: u64) -> Self {
        self.values.insert(key.to_owned(), CellValue::Number(number));
        self
    }

    /// The text in a column.
    pub fn text_in(&self, key: &str) -> Option<&str> {
        match self.values.get(key)? {
            CellValue::Text(text) => Some(text),
            CellValue::Number(_) | CellValue::Fraction(_) => None,
        }
    }

    /// The number in a column; 0 if it has none.
    pub fn number_in(&self, key: &str) -> u64 {
        match self.values.get(key) {
            Some(CellValue::Number(number)) => *number,
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "only compared"
            )]
            Some(CellValue::Fraction(number)) => *number as u64,
            _ => 0,
        }
    }
}

impl Column {
    /// A column.
    pub fn new(key: &str, title: &str, unit: ColumnUnit, counts: ColumnGrowth) -> Self {
        Self { key: key.to_owned(), title: title.to_owned(), unit, counts }
    }
}
