//! The upstreams that routes use, with their caches.
//!
//! Owns their names: the same lines are the same upstream, and what two places want of one address in different ways is
//! two upstreams. A place without a cache shares the upstream of one with it. Never makes a route.

use crate::section::Section;
use crate::word::{quoted, table};

/// The upstreams of all sites.
#[derive(Debug, Default)]
pub(crate) struct Upstreams {
    made: Vec<Made>,
}

#[derive(Debug)]
struct Made {
    name: String,
    section: Section,
    cache: Option<Cache>,
}

/// A cache on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cache {
    /// The directory of another program, beside which ours is.
    beside: String,
    /// As printed.
    settings: Vec<(&'static str, String)>,
    notes: Vec<String>,
}

impl Cache {
    pub(crate) fn new(beside: &str) -> Self {
        Self { beside: beside.to_owned(), settings: Vec::new(), notes: Vec::new() }
    }

    /// Sets a key, if there is a value, as printed.
    pub(crate) fn set(&mut self, key: &'static str, value: Option<String>) {
        if let Some(value) = value {
            self.settings.retain(|(known, _)| *known != key);
            self.settings.push((key, value));
        }
    }

    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// The value of the key, for the upstream with this name.
    fn printed(&self, name: &str) -> String {
        // The other program deletes what it finds in a directory of its own.
        let directory = quoted(&format!("{}-{name}", self.beside));
        table([("directory", directory)].into_iter().chain(self.settings.iter().cloned()))
    }
}

impl Upstreams {
    /// The name of an upstream with these lines: the wanted one, perhaps with a number.
    pub(crate) fn add(&mut self, wanted: &str, section: Section, cache: Option<&Cache>) -> String {
        let same = |known: &&mut Made| {
            let is_one = known.cache.is_none() || cache.is_none() || known.cache.as_ref() == cache;
            is_one && known.section.lines().get(1..) == Some(section.lines())
        };
        if let Some(known) = self.made.iter_mut().find(same) {
            known.cache = known.cache.take().or_else(|| cache.cloned());
            return known.name.clone();
        }
        let numbered = (2..).map(|number| format!("{wanted}-{number}"));
        let is_free = |name: &String| !self.made.iter().any(|known| known.name == *name);
        let name = std::iter::once(wanted.to_owned()).chain(numbered).find(is_free);
        let (name, mut section) = (name.unwrap_or_default(), section);
        section.put_first("name", quoted(&name));
        self.made.push(Made { name: name.clone(), section, cache: cache.cloned() });
        name
    }

    /// Whether some place wants a cache of this one.
    pub(crate) fn has_cache(&self, name: &str) -> bool {
        self.made.iter().any(|known| known.name == name && known.cache.is_some())
    }

    pub(crate) fn sections(self) -> impl Iterator<Item = Section> {
        self.made.into_iter().map(|Made { name, mut section, cache }| {
            if let Some(cache) = cache {
                cache.notes.iter().for_each(|note| section.note(note));
                section.set("cache", cache.printed(&name));
            }
            section
        })
    }
}
