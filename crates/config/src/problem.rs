//! Problems of a configuration, with their positions.
//!
//! Owns positions, problems and their one-line text. Never stops at a problem: they are collected.

use std::fmt;
use std::path::Path;

use crate::limits::PROBLEMS_MAX;

/// A place in a file, counted from 1; the column counts characters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextPosition {
    /// The file: 0 is the main one, then those that it includes in their order. [`FileNames`] has the name.
    pub file: u16,
    /// The line.
    pub line: u32,
    /// The character in the line.
    pub column: u32,
}

impl fmt::Display for TextPosition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.line, self.column)
    }
}

/// The names of the files of a configuration, the main one first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileNames(Vec<String>);

impl FileNames {
    pub(crate) fn of_main(name: &str) -> Self {
        Self(vec![name.to_owned()])
    }

    /// A place with the name of its file: `velodrome.toml:3:1`.
    pub fn at(&self, place: TextPosition) -> String {
        format!("{}:{place}", self.name(place))
    }

    /// The line of a place in a sentence; the name of the only file is left out.
    pub(crate) fn line(&self, place: TextPosition) -> String {
        match self.0.len() {
            1 => format!("line {}", place.line),
            _ => format!("line {} of {}", place.line, self.name(place)),
        }
    }

    fn name(&self, place: TextPosition) -> &str {
        self.0.get(usize::from(place.file)).map_or("", String::as_str)
    }
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where; `None` for the command line.
    pub place: Option<TextPosition>,
    /// The problem, and how to fix it.
    pub message: String,
}

/// All problems of a configuration, in file order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors {
    files: FileNames,
    problems: Vec<Problem>,
    left_out: usize,
}

impl ConfigErrors {
    /// The problems; at least one.
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
                write!(out, "{}: ", self.files.at(place))?;
            }
            out.write_str(&problem.message)?;
        }
        if self.left_out > 0 {
            let main = self.files.name(TextPosition::default());
            write!(out, "\n{main}: and {} more problems", self.left_out)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

/// Where a setting belongs.
pub(crate) struct SettingPlace {
    pub(crate) words: String,
    pub(crate) rank: Rank,
}

/// The subject that a setting decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// Something about the whole server: it stands at the top of the file.
    OfTop,
    /// Something in a section, or the section itself.
    OfSection,
}

/// The text of a file, for places in it.
struct FileText {
    /// The position of its first byte: those of the files before it are smaller.
    base: usize,
    text: String,
    line_starts: Vec<usize>,
}

impl FileText {
    fn new(base: usize, text: &str) -> Self {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1);
        let line_starts = std::iter::once(0).chain(ends).collect();
        Self { base, text: text.to_owned(), line_starts }
    }
}

/// Collects problems while a configuration is read, and knows which line an offset is on.
pub(crate) struct Problems {
    names: FileNames,
    texts: Vec<FileText>,
    /// The places of values that nobody may see.
    secret: Vec<TextPosition>,
    list: Vec<Problem>,
    /// Finds where a setting of this name belongs, if there is one. The list of all settings knows all readers, so a
    /// reader cannot know it.
    setting: fn(&str) -> Option<SettingPlace>,
}

impl Problems {
    /// For `text`, the content of the main file; empty if every problem comes with its place.
    pub(crate) fn new(names: FileNames, text: &str) -> Self {
        Self {
            names,
            texts: vec![FileText::new(0, text)],
            secret: Vec::new(),
            list: Vec::new(),
            setting: |_| None,
        }
    }

    /// Adds an included file, named as seen from the main one; returns where the positions of its text begin.
    pub(crate) fn add_file(&mut self, name: &Path, text: &str) -> usize {
        let main = Path::new(self.names.name(TextPosition::default()));
        let name = main.parent().unwrap_or(Path::new("")).join(name);
        self.names.0.push(name.display().to_string());
        // The position behind the last byte of a text is a place of that text.
        let base = self.texts.last().map_or(0, |last| last.base + last.text.len() + 1);
        self.texts.push(FileText::new(base, text));
        base
    }

    /// The names of the files so far.
    pub(crate) fn names(&self) -> &FileNames {
        &self.names
    }

    /// Nobody may see the value at this position: problems of it do not show it.
    pub(crate) fn keep_secret(&mut self, offset: usize) {
        let place = self.place(offset);
        self.secret.push(place);
    }

    /// The same, with the places of settings.
    pub(crate) fn knowing(self, setting: fn(&str) -> Option<SettingPlace>) -> Self {
        Self { setting, ..self }
    }

    /// The message for the name of a setting in a table whose keys the user chooses: everything below the header of
    /// that table belongs to it, so the setting would have no effect.
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

    /// The place of a byte of the texts.
    pub(crate) fn place(&self, offset: usize) -> TextPosition {
        let number = self.number_of(offset);
        let Some(file) = self.texts.get(number) else { return TextPosition::default() };
        let offset = offset.saturating_sub(file.base).min(file.text.len());
        let line = file.line_starts.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|index| file.line_starts.get(index)).copied();
        let before = file.text.as_bytes().get(start.unwrap_or(0)..offset).unwrap_or_default();
        let characters = before.iter().filter(|byte| (**byte & 0xC0) != 0x80).count();
        let file = u16::try_from(number).unwrap_or(u16::MAX);
        TextPosition { file, line: saturate(line), column: saturate(characters + 1) }
    }

    /// The file of a byte.
    fn number_of(&self, offset: usize) -> usize {
        self.texts.partition_point(|file| file.base <= offset).saturating_sub(1)
    }

    /// The line of a byte in a sentence.
    pub(crate) fn line(&self, offset: usize) -> String {
        self.names.line(self.place(offset))
    }

    /// Whether a table that begins at this byte is written with a header, and not in braces.
    pub(crate) fn is_below_header(&self, offset: usize) -> bool {
        let file = self.texts.get(self.number_of(offset));
        file.and_then(|file| file.text.as_bytes().get(offset - file.base)) == Some(&b'[')
    }

    /// Adds a problem at a byte of the text.
    pub(crate) fn at(&mut self, offset: usize, message: impl Into<String>) {
        let place = self.place(offset);
        self.add(Some(place), message);
    }

    /// Adds a problem at a place, or for the command line.
    pub(crate) fn add(&mut self, place: Option<TextPosition>, message: impl Into<String>) {
        let message = match place.filter(|place| self.secret.contains(place)) {
            None => message.into(),
            Some(_) => {
                "the value is not allowed here; it is not shown, because it is from a file of \
                        secrets"
                    .to_owned()
            }
        };
        self.list.push(Problem { place, message });
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
        ConfigErrors { files: self.names, problems: self.list, left_out }
    }
}

/// A number in a place. A text is too short for it not to fit.
fn saturate(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
