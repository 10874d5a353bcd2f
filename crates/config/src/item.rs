//! A value of the file with its key and its position.
//!
//! Owns the step from an array to its elements. Never decides what a value means.

use toml::Spanned;
use toml::de::DeValue;

use crate::problem::Problems;
use crate::wording::shown;

/// A value in the file, with its key and position. Plain data.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    /// The key of the value, also for the elements of an array.
    pub(crate) key: &'a str,
    /// The position of the key.
    pub(crate) key_offset: usize,
    /// The position of the value.
    pub(crate) offset: usize,
    pub(crate) value: &'a DeValue<'a>,
}

impl<'a> Item<'a> {
    /// The same key with another value: an element of an array.
    pub(super) fn part(self, part: &'a Spanned<DeValue<'a>>) -> Self {
        Self { offset: part.span().start, value: part.get_ref(), ..self }
    }

    /// The message for a value of the wrong type.
    pub(super) fn wrong_type(&self, wanted: &str) -> String {
        let found = match self.value {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number with a fraction",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "an array",
            DeValue::Table(_) => "a table",
        };
        format!("`{}` must be {wanted}, not {found}", shown(self.key))
    }

    /// The elements of an array, parsed; an invalid element is a problem and left out.
    pub(super) fn list<T>(
        &self,
        problems: &mut Problems,
        mut parse: impl FnMut(&Item<'_>) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let DeValue::Array(parts) = self.value else {
            return Err(self.wrong_type("an array such as [\"…\", \"…\"]"));
        };
        let mut list = Vec::with_capacity(parts.len());
        for part in parts {
            let part = self.part(part);
            match parse(&part) {
                Ok(value) => list.push(value),
                Err(message) => problems.at(part.offset, message),
            }
        }
        Ok(list)
    }

    /// Whether it is an empty array.
    pub(super) fn is_empty_list(&self) -> bool {
        matches!(self.value, DeValue::Array(parts) if parts.is_empty())
    }
}
