//! Which pages and modules read the files of a form, judging by their texts.
//!
//! Owns what counts as reading: the text of the page, or of a part or module that it names, has `.files` or `"files"`
//! in it. Files for anybody else would only take room on the disk. Never runs code.

use std::sync::Arc;

use ahash::HashMap;
use memchr::memmem;

use super::page::{Page, PageKind};

/// The names in the texts of a set.
#[derive(Debug, Default)]
pub(super) struct FileReaders {
    /// Of each page.
    mentions: Vec<Mentions>,
    /// The pages by the last component of their names.
    named: HashMap<Box<str>, Vec<usize>>,
}

/// The names in one text.
#[derive(Debug, Default)]
struct Mentions {
    files: bool,
    /// Pages that it includes.
    pages: Names,
    /// Modules that it requires.
    modules: Names,
}

/// Names as they are written in a text.
#[derive(Debug, Default)]
struct Names {
    written: Vec<Box<str>>,
    /// One is made when the code runs, so it may be any.
    any: bool,
}

impl FileReaders {
    pub(super) fn of(pages: &[Arc<Page>]) -> Self {
        let mut readers = Self::default();
        for (index, page) in pages.iter().enumerate() {
            readers.mentions.push(Mentions::of(page.lua.as_deref().unwrap_or_default()));
            let name = last_part(&page.name.full, page.kind);
            readers.named.entry(name.into()).or_default().push(index);
        }
        readers
    }

    /// The pages that these names may mean.
    fn meant<'n>(&'n self, names: &'n Names, kind: PageKind) -> impl Iterator<Item = usize> + 'n {
        let all = if names.any { 0..self.mentions.len() } else { 0..0 };
        let written = names.written.iter();
        let written = written.filter_map(move |name| self.named.get(last_part(name, kind)));
        let written = written.flatten().copied();
        written.chain(all)
    }
}

/// Whether a page of the set with this number, or something that it names, reads files. `sets` are those of pages and
/// of modules.
pub(super) fn takes_files(sets: &[(PageKind, &FileReaders)], set: usize, index: usize) -> bool {
    let unseen = |(_, readers): &(PageKind, &FileReaders)| vec![false; readers.mentions.len()];
    let mut seen: Vec<Vec<bool>> = sets.iter().map(unseen).collect();
    // The sets of which all pages wait already, because one names any of them.
    let mut whole = vec![false; sets.len()];
    let mut waiting = vec![(set, index)];
    while let Some((set, index)) = waiting.pop() {
        let Some((kind, readers)) = sets.get(set) else { continue };
        // A page that was not looked at may read files.
        let Some(mentions) = readers.mentions.get(index) else { return true };
        if mentions.files {
            return true;
        }
        for (other, (other_kind, readers)) in sets.iter().enumerate() {
            let names = match other_kind {
                PageKind::Module => &mentions.modules,
                // A page includes those of its own root; a module may produce any.
                PageKind::Page if other == set || *kind == PageKind::Module => &mentions.pages,
                PageKind::Page => continue,
            };
            if whole[other] {
                continue;
            }
            whole[other] = names.any;
            for meant in readers.meant(names, *other_kind) {
                if !std::mem::replace(&mut seen[other][meant], true) {
                    waiting.push((other, meant));
                }
            }
        }
    }
    false
}

impl Mentions {
    fn of(text: &str) -> Self {
        Self {
            files: mentions_files(text.as_bytes()),
            pages: Names::after(text, &["include", "layout", "render"]),
            modules: Names::after(text, &["require"]),
        }
    }
}

impl Names {
    /// The names that calls of these functions have in a text.
    fn after(text: &str, functions: &[&str]) -> Self {
        let mut names = Self::default();
        for function in functions {
            for at in memmem::find_iter(text.as_bytes(), function) {
                let before = text.as_bytes().get(..at).and_then(<[u8]>::last);
                if !before.is_some_and(is_of_name) {
                    names.add_call(text.get(at + function.len()..).unwrap_or_default());
                }
            }
        }
        names
    }

    /// Adds the name in the text behind a function's own name.
    fn add_call(&mut self, rest: &str) {
        let rest = rest.trim_start();
        let argument = rest.strip_prefix('(').map(str::trim_start);
        let quoted = argument.unwrap_or(rest);
        let Some(mark) = quoted.chars().next().filter(|first| "\"'".contains(*first)) else {
            // Also where the function itself is an argument, as of `pcall`, or the name is in long brackets.
            self.any |= argument.is_some() || rest.starts_with(['[', ',', ')', ';']);
            return;
        };
        match quoted.get(1..).and_then(|inside| inside.split_once(mark)) {
            Some((name, behind)) if !behind.trim_start().starts_with("..") => {
                self.written.push(name.into());
            }
            _ => self.any = true,
        }
    }
}

/// The part of a name by which it is found, whatever it is relative to.
fn last_part(name: &str, kind: PageKind) -> &str {
    match kind {
        PageKind::Page => name.rsplit('/').next().unwrap_or(name),
        PageKind::Module => name.rsplit(['/', '.']).next().unwrap_or(name),
    }
}

fn mentions_files(text: &[u8]) -> bool {
    const WORD: &str = "files";
    memmem::find_iter(text, WORD).any(|at| {
        let before = at.checked_sub(1).and_then(|at| text.get(at));
        let after = text.get(at + WORD.len());
        match before {
            Some(b'.') => !after.is_some_and(is_of_name),
            Some(mark @ (b'"' | b'\'')) => after == Some(mark),
            _ => false,
        }
    })
}

fn is_of_name(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(kind: PageKind, texts: &[(&str, &str)]) -> FileReaders {
        let pages = texts.iter().map(|(file, text)| Arc::new(Page::of_text(kind, file, text)));
        FileReaders::of(&pages.collect::<Vec<_>>())
    }

    #[test]
    fn a_text_reads_files_if_it_names_them() {
        for (text, expected) in [
            ("request.files.a", true),
            ("local all = request.files", true),
            ("request [ 'files' ]", true),
            ("request[\"files\"]", true),
            ("_b:put('the files are here')", false),
            ("x.filesystem", false),
            ("profiles.x", false),
            ("files.save()", false),
            ("", false),
        ] {
            assert_eq!(mentions_files(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn parts_and_modules_count_for_the_pages_that_name_them() {
        let pages = [
            ("a.page.html", "include('_form.html')"),
            ("_form.page.html", "request.files.a"),
            ("b.page.html", "local kept = require(\"lib.keep\")"),
            ("c.page.html", "layout '_plain.html'"),
            ("_plain.page.html", "content() we include no form (really)"),
            ("d.page.html", "require 'lib.names'"),
            ("e.page.html", "include(request.query.part)"),
            ("f.page.html", "include('_' .. name)"),
            ("g.page.html", "pcall(require, 'lib.keep')"),
        ];
        let modules = [
            ("lib/keep.lua", "return function(r) return r.files end"),
            ("lib/names.lua", "return require('lib.circle')"),
            ("lib/circle.lua", "local names = require('lib.names')"),
            ("main.lua", "local keep = require('lib.keep')"),
            ("view.lua", "return function() return render('a.html') end"),
        ];
        let (pages, modules) = (set(PageKind::Page, &pages), set(PageKind::Module, &modules));
        let sets = [(PageKind::Page, &pages), (PageKind::Module, &modules)];
        let taken = |set: usize, count: usize| -> Vec<bool> {
            (0..count).map(|index| takes_files(&sets, set, index)).collect()
        };
        assert_eq!(taken(0, 9), [true, true, true, false, false, false, true, true, true]);
        assert_eq!(taken(1, 5), [true, false, false, true, true]);
        assert!(takes_files(&sets, 0, 99), "a page that was not looked at");
    }
}
