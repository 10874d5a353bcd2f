//! `[files]`, the `files` of a route, and `[mime]`: how files are served.
//!
//! Owns the keys of these tables. Never accesses the disk: the caller finds a missing root.

use std::path::Path;

use crate::field::{cache_control, is_surely_media_type, media_type};
use crate::item::Item;
use crate::key::{ANY_SIZE, ConfigKey, SectionKeys, rows, section};
use crate::limits::{GLOB_SIZE_MAX, TRIES_MAX};
use crate::model::config::Config;
use crate::model::file_settings::{CacheRule, FileSettings};
use crate::model::files::MediaType;
use crate::model::route::{Otherwise, RouteAction};
use crate::page_name::PageName;
use crate::problem::Problems;
use crate::section::Section;
use crate::target::TargetTemplate;
use crate::value::{borrowed_text, cannot_be, path, word};
use crate::wording::shown;

static SHARED: &[ConfigKey] = rows! {
    "listing": boolean(default_host.files.listing), default, Reload,
        "Answers a directory without an index with a list of its files instead of 404.";
    "index": list(default_host.files.index, index_name, "list of names"), default, Reload,
        "Index files of a directory, in order of preference.";
    "hidden": boolean(default_host.files.hidden), default, Reload,
        "Serves files whose name begins with a dot. `/.well-known/` is always served.";
    "hide": list(default_host.files.hide, pattern, "list of patterns"), default, Reload,
        "Files hidden from clients: a name (`\"*.bak\"`) or a whole path (`\"/private/*\"`), where `*` matches any characters. Always hidden: names that begin with `velodrome.toml` (including copies that editors make), the sources of [pages](pages.md), `*.page.*` and `*.page`, and the directory of [app modules](modules.md).";
    "symlinks": boolean(default_host.files.symlinks), default, Reload,
        "Follows symbolic links that stay below the root.";
    "precompressed": boolean(default_host.files.precompressed), default, Reload,
        "Sends `a.css.zst`, `a.css.br` or `a.css.gz` instead of `a.css` to clients that accept it, unless it is older.";
    "compress": boolean(default_host.files.compress), default, Reload,
        "Compresses text files on request and caches the result. For pages and modules use [`[pages] compress`](#pages).";
    "compress_from": size(default_host.files.compress_from, ANY_SIZE), default, Reload,
        "Shorter files are not compressed.";
};

pub(super) static FILES: SectionKeys = section! {
    "[files]", SHARED of "[files]";
    "cache_size": size(file_cache.size, ANY_SIZE), default, Live,
        "Memory for file content, per scheduler; the least recently used files are evicted. `0` turns the cache off.";
    "cache_file_size": size(file_cache.file_size, ANY_SIZE), default, Reload,
        "Longer files are not cached but sent from the kernel's page cache.";
    "cache_control": section("sections `[[files.cache_control]]`"), "none", Reload,
        "The Cache-Control by file; the first match applies.";
};

pub(super) static ROUTE_FILES: SectionKeys = section! {
    "route.files", SHARED of "[files]";
    "root": apart("path of a directory"), "the host's", Reload,
        "The directory of the files. With `root`, the prefix is removed: with `prefix = \"/static/\"` and `root = \"assets\"` the path `/static/a.css` is the file `assets/a.css`. Without `root`, and with `path` or `glob`, the whole path is used.";
    "cache_control": apart("text"), "the rules of `[files]`", Reload,
        "The Cache-Control of all these files.";
    "try": apart("list of paths"), "`[\"$path\"]`", Reload,
        "Paths below the root to try in order: the first with a file or page answers, with its own type, validators and length. `$path` is the path as this route looks for files. `\"$path/\"` is a directory with an index or a listing: a client that asked without the slash is redirected to it. If none is there, the answer is 404, or with `\"next\"` as the last word [that of the routes after this one](#files-before-an-application). A single-page application: `try = [\"$path\", \"/index.html\"]`.";
    "alias": apart("path of a file"), "none", Reload,
        "The one file that answers every path of the route, whatever its name; not beside `root` or `try`. It is served even if `hide` covers it.";
};

pub(super) static CACHE_CONTROL: SectionKeys = section! {
    "[[files.cache_control]]";
    "glob": apart("pattern"), "must be given", Reload,
        "Without a `/` a file name (`\"*.css\"`), with one the whole path below the root (`\"/assets/*\"`). `*` matches any characters, including slashes.";
    "value": apart("text"), "must be given", Reload,
        "The Cache-Control, such as `\"public, max-age=3600\"`.";
};

/// Reads the cache rules of `[files]`.
pub(super) fn cache_rules(section: &Section<'_>, problems: &mut Problems) -> Vec<CacheRule> {
    let sections = section.sections("cache_control", &CACHE_CONTROL, problems);
    sections.iter().filter_map(|rule| cache_rule(rule, problems)).collect()
}

/// Reads the `files` of a route on top of the rules of its host.
pub(super) fn read_of_route(
    section: &Section<'_>,
    host: &FileSettings,
    base: &Path,
    problems: &mut Problems,
) -> RouteAction {
    // The rows refer to a configuration, of which only the file rules are used.
    let mut config = Config::defaults("", base);
    config.default_host.files = host.clone();
    section.apply(&mut config, base, problems);
    let mut rules = config.default_host.files;
    let root = section.read("root", problems, |item| path(item, base));
    let own_root = root.is_some();
    rules.root = root.unwrap_or(rules.root);
    if let Some(value) = section.read("cache_control", problems, cache_control) {
        rules.cache_control = vec![CacheRule::of_all(value)];
    }
    let (tries, otherwise) = tries(section, problems);
    if let Some(file) = section.read("alias", problems, |item| path(item, base)) {
        alias(section, &file, &mut rules, problems);
    }
    RouteAction::Files { rules, own_root, tries, otherwise }
}

/// The last word of `try` that is no path.
const NEXT: &str = "next";

/// The paths of `try`, and the answer if none has a file.
fn tries(section: &Section<'_>, problems: &mut Problems) -> (Vec<TargetTemplate>, Otherwise) {
    let tries = section.list("try", problems, |item| {
        let text = borrowed_text(item, "a path in quotes such as \"$path.html\"")?;
        if text == NEXT {
            return Ok(None);
        }
        let target = TargetTemplate::rewrite(text, 0).map_err(|why| cannot_be(item, text, &why))?;
        if PageName::is_source(text.rsplit('/').next().unwrap_or(text)) {
            return Err(cannot_be(
                item,
                text,
                "write the address of the page, as in \"/front.html\"",
            ));
        }
        Ok(Some(target))
    });
    let Some(mut tries) = tries else { return (Vec::new(), Otherwise::NotFound) };
    let otherwise = match tries.pop_if(|last| last.is_none()) {
        Some(_) => Otherwise::NextRoute,
        None => Otherwise::NotFound,
    };
    if let Some(item) = section.item("try") {
        if section.is_empty_list("try") {
            problems.at(item.offset, "`try` is empty; leave it out to look for the path itself");
        }
        if tries.len() > TRIES_MAX {
            problems.at(item.offset, format!("`try` has more than {TRIES_MAX} paths"));
        }
        if tries.contains(&None) {
            problems.at(item.offset, "`\"next\"` is the last word of `try`");
        } else if tries.is_empty() && otherwise == Otherwise::NextRoute {
            problems.at(item.offset, "`try` has no path before `\"next\"`, such as \"$path\"");
        }
    }
    (tries.into_iter().flatten().collect(), otherwise)
}

/// Makes the rules those of one file: its directory is the root, and nothing hides it.
fn alias(section: &Section<'_>, file: &Path, rules: &mut FileSettings, problems: &mut Problems) {
    let Some(item) = section.item("alias") else { return };
    for key in ["root", "try", "index", "listing"] {
        if let Some(other) = section.item(key) {
            problems.at(other.key_offset, format!("`{key}` has no effect beside `alias`"));
        }
    }
    let name = file.file_name().and_then(|name| name.to_str());
    let (Some(name), Some(directory)) = (name, file.parent()) else {
        problems.at(item.offset, "`alias` must be the path of a file");
        return;
    };
    if PageName::of(&format!("/{name}")).is_some() {
        problems.at(item.offset, "`alias` cannot be a page; write `rewrite` to its path");
        return;
    }
    rules.root = directory.to_path_buf();
    rules.only = Some(format!("/{name}"));
    rules.hide.clear();
    rules.hidden = true;
    rules.index.clear();
    rules.listing = false;
}

impl CacheRule {
    /// For all files.
    pub(super) fn of_all(value: String) -> Self {
        Self { pattern: "*".to_owned(), value }
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
            problems.at(section.offset(), format!("{} has no `{key}`", section.spoken()));
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
        // There are files of the type `json` and `log`, which are settings too.
        if let Some(why) =
            problems.misplaced("mime", item.key).filter(|_| !is_surely_media_type(&item))
        {
            problems.at(item.key_offset, why);
            continue;
        }
        let extension = item.key.to_ascii_lowercase();
        if let Some(bare) = extension.strip_prefix('.') {
            let message = format!("write the extension without its dot: `{}`", shown(bare));
            problems.at(item.key_offset, message);
            continue;
        }
        if extension.is_empty() || extension.contains(['/', '.', '\0']) {
            let message = format!("`{}` is not a file name extension", shown(item.key));
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
