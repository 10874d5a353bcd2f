//! The upstreams that routes use.
//!
//! Owns their names: the same lines are the same upstream, and what two places want of one address in different ways is
//! two upstreams. Never makes a route.

use crate::section::Section;
use crate::word::quoted;

/// The upstreams of all sites.
#[derive(Debug, Default)]
pub(crate) struct Upstreams {
    made: Vec<(String, Section)>,
}

impl Upstreams {
    /// The name of an upstream with these lines: the wanted one, perhaps with a number.
    pub(crate) fn add(&mut self, wanted: &str, section: Section) -> String {
        let same = |known: &&(String, Section)| known.1.lines().get(1..) == Some(section.lines());
        if let Some((name, _)) = self.made.iter().find(same) {
            return name.clone();
        }
        let numbered = (2..).map(|number| format!("{wanted}-{number}"));
        let is_free = |name: &String| !self.made.iter().any(|(known, _)| known == name);
        let name = std::iter::once(wanted.to_owned()).chain(numbered).find(is_free);
        let (name, mut section) = (name.unwrap_or_default(), section);
        section.put_first("name", quoted(&name));
        self.made.push((name.clone(), section));
        name
    }

    pub(crate) fn sections(self) -> impl Iterator<Item = Section> {
        self.made.into_iter().map(|(_, section)| section)
    }
}
