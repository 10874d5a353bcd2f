//! One table of the file, read key by key.
//!
//! Owns the walk over the parsed TOML with positions. Never decides what a value means: the parser
//! of each key does.

use std::path::Path;

use toml::de::{DeTable, DeValue};

use crate::item::Item;
use crate::key::{Reading, SectionKeys};
use crate::model::config::Config;
use crate::problem::Problems;

/// Makes the message for a key that a section does not have.
pub(super) type UnknownKey = fn(&SectionKeys, &str) -> String;

/// A table of the file with known keys.
#[derive(Clone, Copy)]
pub(super) struct Section<'a> {
    keys: &'static SectionKeys,
    table: &'a DeTable<'a>,
    unknown: UnknownKey,
    /// Its position.
    offset: usize,
}

impl<'a> Section<'a> {
    /// Begins to read a table; unknown keys are reported at once.
    pub(super) fn new(
        keys: &'static SectionKeys,
        table: &'a DeTable<'a>,
        offset: usize,
        unknown: UnknownKey,
        problems: &mut Problems,
    ) -> Self {
        for key in table.keys() {
            let name: &str = key.get_ref();
            if !keys.contains(name) {
                problems.at(key.span().start, unknown(keys, name));
            }
        }
        Self { keys, table, offset, unknown }
    }

    /// Its position.
    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    /// The section's name in a sentence.
    pub(super) fn spoken(&self) -> &'static str {
        self.keys.spoken()
    }

    /// Whether the file has this key.
    pub(super) fn has(&self, key: &'static str) -> bool {
        self.item(key).is_some()
    }

    /// The value of a key as written.
    pub(super) fn item(&self, key: &'static str) -> Option<Item<'a>> {
        debug_assert!(self.keys.contains(key), "{key} is not in the list of its section");
        let (name, value) = self.table.get_key_value(key)?;
        let key_offset = name.span().start;
        Some(Item { key, key_offset, offset: value.span().start, value: value.get_ref() })
    }

    /// The parsed value of a key; `None` if it is missing or invalid.
    pub(super) fn read<T>(
        &self,
        key: &'static str,
        problems: &mut Problems,
        parse: impl FnOnce(&Item<'_>) -> Result<T, String>,
    ) -> Option<T> {
        let item = self.item(key)?;
        parse(&item).map_err(|message| problems.at(item.offset, message)).ok()
    }

    /// Like [`read`](Self::read), into a place that contains the default.
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

    /// Reads all keys whose rows say where their values are stored.
    pub(super) fn apply(&self, config: &mut Config, base: &Path, problems: &mut Problems) {
        for key in self.keys.keys() {
            let Some(item) = self.item(key.name) else { continue };
            let read = key.read(config, &item, &mut Reading { base, problems });
            if let Err(message) = read {
                problems.at(item.offset, message);
            }
        }
    }

    /// The parsed elements of an array; invalid ones are left out.
    pub(super) fn list<T>(
        &self,
        key: &'static str,
        problems: &mut Problems,
        parse: impl FnMut(&Item<'_>) -> Result<T, String>,
    ) -> Option<Vec<T>> {
        let item = self.item(key)?;
        item.list(problems, parse).map_err(|message| problems.at(item.offset, message)).ok()
    }

    /// Whether there is an empty array.
    pub(super) fn is_empty_list(&self, key: &'static str) -> bool {
        self.item(key).is_some_and(|item| item.is_empty_list())
    }

    /// The table of a key, to be read with its own keys.
    pub(super) fn section(
        &self,
        key: &'static str,
        keys: &'static SectionKeys,
        problems: &mut Problems,
    ) -> Option<Section<'a>> {
        let item = self.item(key)?;
        let DeValue::Table(table) = item.value else {
            problems.at(item.offset, item.wrong_type("a table"));
            return None;
        };
        Some(Section::new(keys, table, item.key_offset, self.unknown, problems))
    }

    /// The tables of `[[key]]`, each to be read with its own keys.
    pub(super) fn sections(
        &self,
        key: &'static str,
        keys: &'static SectionKeys,
        problems: &mut Problems,
    ) -> Vec<Section<'a>> {
        let Some(item) = self.item(key) else { return Vec::new() };
        let wanted = format!("written as {}", keys.spoken());
        let DeValue::Array(parts) = item.value else {
            problems.at(item.offset, item.wrong_type(&wanted));
            return Vec::new();
        };
        let mut sections = Vec::with_capacity(parts.len());
        for part in parts {
            let part = item.part(part);
            match part.value {
                DeValue::Table(table) => {
                    sections.push(Section::new(keys, table, part.offset, self.unknown, problems));
                }
                _ => problems.at(part.offset, part.wrong_type(&wanted)),
            }
        }
        sections
    }

    /// The entries of a table whose keys the user chooses, in file order.
    pub(super) fn entries(&self, key: &'static str, problems: &mut Problems) -> Vec<Item<'a>> {
        let Some(item) = self.item(key) else { return Vec::new() };
        let DeValue::Table(table) = item.value else {
            problems.at(item.offset, item.wrong_type("a table"));
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
