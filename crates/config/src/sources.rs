//! The files of a configuration: the main one and those that it includes, as one table.
//!
//! Owns which files are read, in which order, and how they become one: sections that may be there several times follow
//! each other, the main file's first; anything else is in one file only. Never decides what a key means.

use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::expand::expand;
use crate::limits::{CONFIG_SIZE_MAX, INCLUDED_SIZE_MAX, INCLUDES_MAX};
use crate::outside::Outside;
use crate::problem::Problems;
use crate::wildcard;
use crate::wording::shown;

/// The key of the main file that names others.
const INCLUDE: &str = "include";

/// A file whose text has become part of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartFile {
    /// Its kind, for messages.
    pub what: &'static str,
    /// Its path.
    pub path: PathBuf,
}

/// A text with its name for messages.
struct Source {
    text: String,
    /// Where its bytes begin in the positions of problems.
    base: usize,
}

/// The files that a configuration is read from.
pub(super) struct Sources<'o> {
    directory: &'o Path,
    outside: &'o dyn Outside,
    /// The included files.
    included: Vec<Source>,
    /// The files that have become part of the configuration, besides the main file.
    parts: Vec<PartFile>,
}

impl<'o> Sources<'o> {
    pub(super) fn new(directory: &'o Path, outside: &'o dyn Outside) -> Self {
        Self { directory, outside, included: Vec::new(), parts: Vec::new() }
    }

    /// Reads the files that the main file includes.
    pub(super) fn read_included(&mut self, main: &DeTable<'_>, problems: &mut Problems) {
        let Some(value) = main.get(INCLUDE) else { return };
        let patterns: Vec<&Spanned<DeValue<'_>>> = match value.get_ref() {
            DeValue::Array(list) => list.iter().collect(),
            _ => vec![value],
        };
        for pattern in patterns {
            let at = pattern.span().start;
            let DeValue::String(text) = pattern.get_ref() else {
                problems.at(at, "`include` must be a text, or an array of them");
                continue;
            };
            let expanded = match expand(text, self.directory, self.outside) {
                Ok(Some(expanded)) if expanded.secrets.is_empty() => expanded.text,
                Ok(None) => text.to_string(),
                Ok(Some(_)) => {
                    problems.at(at, "the path of an included file is no secret");
                    continue;
                }
                Err(why) => {
                    problems.at(at, why);
                    continue;
                }
            };
            match self.matching(&expanded) {
                Ok(paths) => paths.into_iter().for_each(|path| self.include(path, at, problems)),
                Err(why) => {
                    problems.at(at, format!("`include` cannot be \"{}\": {why}", shown(text)));
                }
            }
        }
    }

    /// The files of a pattern, by name.
    fn matching(&self, pattern: &str) -> Result<Vec<PathBuf>, String> {
        let (directory, name) = pattern.rsplit_once('/').unwrap_or((".", pattern));
        if name.is_empty() || pattern.contains('\0') {
            return Err("write the path of a file".to_owned());
        }
        if directory.contains('*') {
            return Err("`*` has a meaning in the name of the file only".to_owned());
        }
        let root = if pattern.starts_with('/') && directory.is_empty() { "/" } else { directory };
        let directory = match root {
            "." => self.directory.to_path_buf(),
            root => self.directory.join(root),
        };
        if !name.contains('*') {
            return Ok(vec![directory.join(name)]);
        }
        let mut paths = self.outside.names(&directory)?;
        paths.retain(|path| {
            let found = path.file_name().and_then(|name| name.to_str());
            found.is_some_and(|found| {
                !found.starts_with('.') && wildcard::fits(name, found.as_bytes())
            })
        });
        paths.sort();
        Ok(paths)
    }

    fn include(&mut self, path: PathBuf, at: usize, problems: &mut Problems) {
        let name = path.display();
        if self.parts.iter().any(|part| part.path == path) {
            return problems.at(at, format!("`{name}` is included twice"));
        }
        if self.included.len() == INCLUDES_MAX {
            return problems.at(at, format!("more than {INCLUDES_MAX} files are included"));
        }
        let size: usize = self.included.iter().map(|source| source.text.len()).sum();
        let most = CONFIG_SIZE_MAX.min(INCLUDED_SIZE_MAX.saturating_sub(size));
        let text = match self.outside.text(&path, most) {
            Ok(text) => text,
            Err(why) => return problems.at(at, format!("cannot include `{name}`: {why}")),
        };
        let inner = path.strip_prefix(self.directory).unwrap_or(&path).to_path_buf();
        let base = problems.add_file(&inner, &text);
        self.included.push(Source { text, base });
        self.parts.push(PartFile { what: "included file", path });
    }

    /// The files that have become part of the configuration, besides the main file.
    pub(super) fn parts(&self) -> &[PartFile] {
        &self.parts
    }

    /// The texts of the included files, each with where its positions begin.
    pub(super) fn included(&self) -> impl Iterator<Item = (&str, usize)> {
        self.included.iter().map(|source| (source.text.as_str(), source.base))
    }
}

/// Adds the table of an included file.
pub(super) fn add<'t>(into: &mut DeTable<'t>, mut from: DeTable<'t>, problems: &mut Problems) {
    if let Some((key, _)) = from.remove_entry(INCLUDE) {
        let why = "`include` is for the main file; files that are included include none";
        problems.at(key.span().start, why);
    }
    merge(into, from, problems);
}

/// Sections that may be there several times follow each other; of other keys each is in one file.
fn merge<'t>(into: &mut DeTable<'t>, from: DeTable<'t>, problems: &mut Problems) {
    for (key, value) in from {
        let name: &str = key.get_ref();
        let Some((first, _)) = into.get_key_value(name) else {
            into.insert(key, value);
            continue;
        };
        let at = first.span().start;
        let message = format!("the key `{}` is in {} already", shown(name), problems.line(at));
        let span = key.span();
        let Some(known) = into.get_mut(name) else { continue };
        match (known.get_mut(), value.into_inner()) {
            (DeValue::Table(known), DeValue::Table(more)) => merge(known, more, problems),
            (DeValue::Array(known), DeValue::Array(more))
                if is_sections(known) && is_sections(&more) =>
            {
                for section in more {
                    known.push(section);
                }
            }
            _ => problems.at(span.start, message),
        }
    }
}

/// Whether an array is written as sections, `[[...]]`.
fn is_sections(list: &toml::de::DeArray<'_>) -> bool {
    list.iter().all(|value| matches!(value.get_ref(), DeValue::Table(_)))
}
