//! The log line that says what an edit of pages and modules changed.
//!
//! Owns which files it names, and how. Never reports what is broken: that has its own message with
//! its position.

use std::fmt;
use std::sync::Arc;

use pages::{PageRoot, PageSet};

use crate::limits::EDIT_NAMES_MAX;

/// Files whose code takes effect with an edit, or is removed by it.
pub(super) struct Edit {
    named: Vec<String>,
    /// The number of files that are not named.
    more: usize,
}

impl Edit {
    /// The difference between two versions; `None` if no runnable code changed.
    pub(super) fn between(
        roots: &[PageRoot],
        before: &[Arc<PageSet>],
        after: &[Arc<PageSet>],
    ) -> Option<Self> {
        let mut edit = Self { named: Vec::new(), more: 0 };
        for (root, (before, after)) in roots.iter().zip(before.iter().zip(after)) {
            // The directory shows that a file is a module.
            let directory = root.root.path.file_name().filter(|_| after.is_app());
            let directory =
                directory.map(|name| format!("{}/", name.display())).unwrap_or_default();
            edit.compare(&directory, before, after);
        }
        (!edit.named.is_empty()).then_some(edit)
    }

    fn compare(&mut self, directory: &str, before: &PageSet, after: &PageSet) {
        for (page, text) in after.texts() {
            let file = &page.name.file;
            let known = before.index_of(file).and_then(|index| before.pages.get(index));
            match known {
                None => self.name(format!("{directory}{file} (new)")),
                // With one module all are compiled again: the same code is no edit.
                Some(known) if known.lua.as_ref() == Some(text) => {}
                Some(_) => self.name(format!("{directory}{file}")),
            }
        }
        for (page, _) in before.texts() {
            if after.index_of(&page.name.file).is_none() {
                self.name(format!("{directory}{} (gone)", page.name.file));
            }
        }
    }

    fn name(&mut self, name: String) {
        if self.named.len() < EDIT_NAMES_MAX {
            self.named.push(name);
        } else {
            self.more += 1;
        }
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<&str> = self.named.iter().map(String::as_str).collect();
        let more = format!("{} more", self.more);
        if self.more > 0 {
            words.push(&more);
        }
        match &*words {
            [all @ .., last] if !all.is_empty() => {
                write!(formatter, "edited: {} and {last}", all.join(", "))
            }
            words => write!(formatter, "edited: {}", words.concat()),
        }
    }
}
