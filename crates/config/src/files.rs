//! `[files]`, the `files` of a route, and `[mime]`: how files are served.
//!
//! Owns the keys of these tables. Never looks at the disk: a root that is not there is found by the caller.

use std::path::Path;

use super::field::{cache_control, media_type};
use super::section::{Item, Section};
use super::value::{boolean, cannot_be, path, shown, size, word};
use super::{CacheRule, FileCache, FileRules, MediaType, Problems, keys};
use crate::limits::GLOB_SIZE_MAX;

/// Reads `[files]` over the defaults.
pub(super) fn read(
    section: Option<&Section<'_>>,
    root: &Path,
    problems: &mut Problems,
) -> (FileRules, FileCache) {
    let mut rules = FileRules::of_root(root);
    let mut cache = FileCache::default();
    let Some(section) = section else { return (rules, cache) };
    read_common(section, &mut rules, problems);
    section.read_into("cache_size", &mut cache.size, problems, size);
    section.read_into("cache_file_size", &mut cache.file_size, problems, size);
    for rule in section.sections("cache_control", &keys::CACHE_CONTROL, problems) {
        rules.cache_control.extend(cache_rule(&rule, problems));
    }
    (rules, cache)
}

/// Reads the `files` of a route over the rules of its host; says whether it has a root of its own.
pub(super) fn read_of_route(
    section: &Section<'_>,
    host: &FileRules,
    base: &Path,
    problems: &mut Problems,
) -> (FileRules, bool) {
    let mut rules = host.clone();
    read_common(section, &mut rules, problems);
    let root = section.read("root", problems, |item| path(item, base));
    let own_root = root.is_some();
    rules.root = root.unwrap_or(rules.root);
    if let Some(value) = section.read("cache_control", problems, cache_control) {
        rules.cache_control = vec![CacheRule::of_all(value)];
    }
    (rules, own_root)
}

impl CacheRule {
    /// For all files.
    pub(super) fn of_all(value: String) -> Self {
        Self { pattern: "*".to_owned(), value }
    }
}

fn read_common(section: &Section<'_>, rules: &mut FileRules, problems: &mut Problems) {
    for (key, target) in [
        ("listing", &mut rules.listing),
        ("hidden", &mut rules.hidden),
        ("symlinks", &mut rules.symlinks),
        ("precompressed", &mut rules.precompressed),
        ("compress", &mut rules.compress),
    ] {
        section.read_into(key, target, problems, boolean);
    }
    section.read_into("compress_from", &mut rules.compress_from, problems, size);
    if let Some(index) = section.list("index", problems, index_name) {
        rules.index = index;
    }
    if let Some(hide) = section.list("hide", problems, pattern) {
        rules.hide = hide;
    }
}

fn index_name(item: &Item<'_>) -> Result<String, String> {
    let name = word(item)?;
    if name.contains(['/', '\0']) || matches!(name.as_str(), "." | "..") {
        return Err(cannot_be(item, &name, "write the name of a file, without a directory"));
    }
    Ok(name)
}

fn pattern(item: &Item<'_>) -> Result<String, String> {
    let pattern = word(item)?;
    if pattern.len() > GLOB_SIZE_MAX {
        return Err(format!("`{}` must be at most {GLOB_SIZE_MAX} bytes long", item.key));
    }
    if let Some(character) = pattern.chars().find(|character| "?[]{}\\".contains(*character)) {
        let why = format!("`{character}` has no meaning here; only `*` has");
        return Err(cannot_be(item, &pattern, &why));
    }
    Ok(pattern)
}

fn cache_rule(section: &Section<'_>, problems: &mut Problems) -> Option<CacheRule> {
    for key in ["glob", "value"] {
        if !section.has(key) {
            problems.at(section.offset, format!("{} has no `{key}`", section.spoken()));
        }
    }
    let pattern = section.read("glob", problems, pattern);
    let value = section.read("value", problems, cache_control);
    Some(CacheRule { pattern: pattern?, value: value? })
}

/// Reads `[mime]`.
pub(super) fn media_types(top: &Section<'_>, problems: &mut Problems) -> Vec<MediaType> {
    let mut types: Vec<MediaType> = Vec::new();
    for item in top.entries("mime", problems) {
        let extension = item.key.to_ascii_lowercase();
        if let Some(bare) = extension.strip_prefix('.') {
            let message = format!("write the extension without its dot: `{}`", shown(bare));
            problems.at(item.key_offset, message);
            continue;
        }
        if extension.is_empty() || extension.contains(['/', '.', '\0']) {
            let message = format!("`{}` is no extension of a file name", shown(item.key));
            problems.at(item.key_offset, message);
            continue;
        }
        if types.iter().any(|known| known.extension == extension) {
            let message = format!("the extension `{}` is given twice", shown(&extension));
            problems.at(item.key_offset, message);
            continue;
        }
        match media_type(&item) {
            Ok(value) => types.push(MediaType { extension, value }),
            Err(message) => problems.at(item.offset, message),
        }
    }
    types
}
