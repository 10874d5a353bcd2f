//! One table of the file, read key by key.
//!
//! Owns the walk over the parsed TOML with its places. Never decides what a value means: that is the
//! parser each key is read with.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Problems;
use super::keys::SectionKeys;
use super::value;

/// A value of the file with its key and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    /// The key it is the value of, also for the parts of an array.
    pub(super) key: &'a str,
    /// Where the key begins.
    pub(super) key_offset: usize,
    /// Where the value begins.
    pub(super) offset: usize,
    /// The value.
    pub(super) value: &'a DeValue<'a>,
}

impl<'a> Item<'a> {
    /// The same key with another value: a part of an array.
    fn part(self, part: &'a Spanned<DeValue<'a>>) -> Self {
        Self { offset: part.span().start, value: part.get_ref(), ..self }
    }
}

/// A table of the file whose keys are known.
#[derive(Clone, Copy)]
pub(super) struct Section<'a> {
    keys: &'static SectionKeys,
    table: &'a DeTable<'a>,
    /// Where it begins.
    pub(super) offset: usize,
}

impl<'a> Section<'a> {
    /// Begins to read a table; keys it must not have are problems at once.
    pub(super) fn new(
        keys: &'static SectionKeys,
        table: &'a DeTable<'a>,
        offset: usize,
        problems: &mut Problems,
    ) -> Self {
        for key in table.keys() {
            let name: &str = key.get_ref();
            if !keys.keys.contains(&name) {
                problems.at(key.span().start, keys.unknown(name));
            }
        }
        Self { keys, table, offset }
    }

    /// The section's name in a sentence.
    pub(super) fn spoken(&self) -> &'static str {
        self.keys.spoken()
    }

    /// Whether the file has this key.
    pub(super) fn has(&self, key: &'static str) -> bool {
        self.item(key).is_some()
    }

    /// The value of a key as it is written.
    pub(super) fn item(&self, key: &'static str) -> Option<Item<'a>> {
        debug_assert!(self.keys.keys.contains(&key), "{key} is not in the list of its section");
        let (name, value) = self.table.get_key_value(key)?;
        let key_offset = name.span().start;
        Some(Item { key, key_offset, offset: value.span().start, value: value.get_ref() })
    }

    /// The value of a key as it is meant; `None` when it is not there or wrong.
    pub(super) fn read<T>(
        &self,
        key: &'static str,
        problems: &mut Problems,
        parse: impl FnOnce(&Item<'_>) -> Result<T, String>,
    ) -> Option<T> {
        let item = self.item(key)?;
        parse(&item).map_err(|message| problems.at(item.offset, message)).ok()
    }

    /// Like [`read`](Self::read), into a place that holds the default.
    pub(super) fn read_into<T>(
        &self,
        key: &'static str,
        target: &mut T,
        problems: &mut Problems,
        parse: impl FnOnce(&Item<'_>) -> Result<T, String>,
    ) {
        if let Some(value) = self.read(key, problems, parse) {
            *target = value;
        }
    }

    /// The parts of an array as they are meant; parts that are wrong are left out.
    pub(super) fn list<T>(
        &self,
        key: &'static str,
        problems: &mut Problems,
        mut parse: impl FnMut(&Item<'_>) -> Result<T, String>,
    ) -> Option<Vec<T>> {
        let item = self.item(key)?;
        let DeValue::Array(parts) = item.value else {
            problems.at(item.offset, value::wrong_type(&item, "an array such as [\"…\", \"…\"]"));
            return None;
        };
        let mut list = Vec::with_capacity(parts.len());
        for part in parts {
            let part = item.part(part);
            match parse(&part) {
                Ok(value) => list.push(value),
                Err(message) => problems.at(part.offset, message),
            }
        }
        Some(list)
    }

    /// Whether an array is there and has nothing in it.
    pub(super) fn is_empty_list(&self, key: &'static str) -> bool {
        let written = self.item(key).map(|item| item.value);
        matches!(written, Some(DeValue::Array(parts)) if parts.is_empty())
    }

    /// The table a key names, to be read with the keys of its own.
    pub(super) fn section(
        &self,
        key: &'static str,
        keys: &'static SectionKeys,
        problems: &mut Problems,
    ) -> Option<Section<'a>> {
        let item = self.item(key)?;
        let DeValue::Table(table) = item.value else {
            problems.at(item.offset, value::wrong_type(&item, "a table"));
            return None;
        };
        Some(Section::new(keys, table, item.key_offset, problems))
    }

    /// The tables of `[[key]]`, each to be read with the keys of its own.
    pub(super) fn sections(
        &self,
        key: &'static str,
        keys: &'static SectionKeys,
        problems: &mut Problems,
    ) -> Vec<Section<'a>> {
        let Some(item) = self.item(key) else { return Vec::new() };
        let wanted = format!("written as {}", keys.spoken());
        let DeValue::Array(parts) = item.value else {
            problems.at(item.offset, value::wrong_type(&item, &wanted));
            return Vec::new();
        };
        let mut sections = Vec::with_capacity(parts.len());
        for part in parts {
            let part = item.part(part);
            match part.value {
                DeValue::Table(table) => {
                    sections.push(Section::new(keys, table, part.offset, problems));
                }
                _ => problems.at(part.offset, value::wrong_type(&part, &wanted)),
            }
        }
        sections
    }

    /// The entries of a table whose keys the user chooses, in the order of the file.
    pub(super) fn entries(&self, key: &'static str, problems: &mut Problems) -> Vec<Item<'a>> {
        let Some(item) = self.item(key) else { return Vec::new() };
        let DeValue::Table(table) = item.value else {
            problems.at(item.offset, value::wrong_type(&item, "a table"));
            return Vec::new();
        };
        let mut entries: Vec<Item<'a>> = table
            .iter()
            .map(|(key, value)| Item {
                key: key.get_ref(),
                key_offset: key.span().start,
                offset: value.span().start,
                value: value.get_ref(),
            })
            .collect();
        entries.sort_by_key(|entry| entry.key_offset);
        entries
    }
}
