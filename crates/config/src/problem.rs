//! Problems of a configuration, with their positions.
//!
//! Owns positions, problems and their one-line text. Never stops at a problem: they are collected.

use std::fmt;

use crate::limits::PROBLEMS_MAX;

/// A place in the file, counted from 1; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The character in the line.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.line, self.column)
    }
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where; `None` for the command line.
    pub place: Option<Place>,
    /// The problem, and how to fix it.
    pub message: String,
}

/// All problems of a configuration, in file order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors {
    file_name: String,
    problems: Vec<Problem>,
    left_out: usize,
}

impl ConfigErrors {
    /// The problems; at least one.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                out.write_str("\n")?;
            }
            if let Some(place) = problem.place {
                write!(out, "{}:{place}: ", self.file_name)?;
            }
            out.write_str(&problem.message)?;
        }
        if self.left_out > 0 {
            write!(out, "\n{}: and {} more problems", self.file_name, self.left_out)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

/// Where a setting belongs.
pub(crate) struct SettingPlace {
    /// In words.
    pub(crate) words: String,
    pub(crate) rank: Rank,
}

/// What a setting decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// Something about the whole server: it stands at the top of the file.
    OfTop,
    /// Something in a section, or the section itself.
    OfSection,
}

/// Collects problems while a configuration is read, and knows which line an offset is on.
pub(crate) struct Problems {
    file_name: String,
    text: String,
    line_starts: Vec<usize>,
    list: Vec<Problem>,
    /// Finds where a setting of this name belongs, if there is one. The list of all settings knows all readers, so a reader cannot know it.
    setting: fn(&str) -> Option<SettingPlace>,
}

impl Problems {
    /// For `text`, the content of the file; empty if every problem comes with its place.
    pub(crate) fn new(file_name: &str, text: &str) -> Self {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1);
        Self {
            file_name: file_name.to_owned(),
            text: text.to_owned(),
            line_starts: std::iter::once(0).chain(ends).collect(),
            list: Vec::new(),
            setting: |_| None,
        }
    }

    /// The same, with the places of settings.
    pub(crate) fn knowing(self, setting: fn(&str) -> Option<SettingPlace>) -> Self {
        Self { setting, ..self }
    }

    /// The message for the name of a setting in a table whose keys the user chooses: everything below the header of that table
    /// belongs to it, so the setting would have no effect.
    pub(crate) fn misplaced(&self, table: &str, key: &str) -> Option<String> {
        let place = (self.setting)(key)?.words;
        Some(format!(
            "the setting `{key}` is in the table `{table}`, where it has no effect; {place}"
        ))
    }

    /// The same in a table of any values, for the settings that decide what the whole server does.
    pub(crate) fn misplaced_of_top(&self, table: &str, key: &str) -> Option<String> {
        (self.setting)(key).filter(|place| place.rank == Rank::OfTop)?;
        self.misplaced(table, key)
    }

    /// The place of a byte of the text.
    pub(crate) fn place(&self, offset: usize) -> Place {
        let offset = offset.min(self.text.len());
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|index| self.line_starts.get(index)).copied();
        let before = self.text.as_bytes().get(start.unwrap_or(0)..offset).unwrap_or_default();
        let characters = before.iter().filter(|byte| (**byte & 0xC0) != 0x80).count();
        Place { line: saturate(line), column: saturate(characters + 1) }
    }

    /// Whether a table that begins at this byte is written with a header, and not in braces.
    pub(crate) fn is_below_header(&self, offset: usize) -> bool {
        self.text.as_bytes().get(offset) == Some(&b'[')
    }

    /// Adds a problem at a byte of the text.
    pub(crate) fn at(&mut self, offset: usize, message: impl Into<String>) {
        let place = self.place(offset);
        self.add(Some(place), message);
    }

    /// Adds a problem at a place, or for the command line.
    pub(crate) fn add(&mut self, place: Option<Place>, message: impl Into<String>) {
        self.list.push(Problem { place, message: message.into() });
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// `value`, unless there were problems.
    pub(crate) fn finish<T>(self, value: T) -> Result<T, ConfigErrors> {
        if self.is_empty() { Ok(value) } else { Err(self.into_errors()) }
    }

    /// All problems.
    pub(crate) fn into_errors(mut self) -> ConfigErrors {
        self.list.sort_by_key(|problem| problem.place);
        let left_out = self.list.len().saturating_sub(PROBLEMS_MAX);
        self.list.truncate(PROBLEMS_MAX);
        ConfigErrors { file_name: self.file_name, problems: self.list, left_out }
    }
}

/// A number in a place. A text is too short for it not to fit.
fn saturate(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
