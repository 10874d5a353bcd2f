//! Parts and modules that code names literally but that do not exist.
//!
//! Owns how such a name is looked up, and the text of the problem. Never looks at names computed at
//! run time.

use ahash::HashSet;
use script::template::{NamedCall, named};

use super::limits::PAGE_STRANGERS_MAX;
use super::mark::column_of;
use super::page::{Page, PageDefect, PageKind};
use super::set::PageSet;

/// The functions that take the name of a part or a module.
const FUNCTIONS: [&str; 4] = ["include", "layout", "render", "require"];

/// The parts and modules that exist.
pub(super) struct Present<'s> {
    modules: HashSet<&'s str>,
    /// The parts of the first site, which modules render.
    rendered: HashSet<&'s str>,
}

impl<'s> Present<'s> {
    pub(super) fn of(sets: impl Iterator<Item = &'s PageSet> + Clone) -> Self {
        let modules = sets.clone().flat_map(|set| &set.pages);
        let modules = modules.filter(|page| page.kind == PageKind::Module);
        Self {
            modules: modules.map(|module| &*module.name.full).collect(),
            rendered: sets.take(1).flat_map(parts).collect(),
        }
    }

    /// The problems of a page in this set: parts and modules that it names but that do not exist.
    pub(super) fn missing(&self, page: &Page, set: &PageSet) -> Vec<PageDefect> {
        let Some(lua) = page.lua.as_deref().filter(|_| page.problem.is_none()) else {
            return Vec::new();
        };
        let names = named(lua, &FUNCTIONS);
        if names.is_empty() {
            return Vec::new();
        }
        let own: HashSet<&str> = parts(set).collect();
        let problem = |named: &NamedCall<'_>| {
            let what = match (named.function, page.kind) {
                ("require", _) => self.missing_module(named.name)?,
                ("render", PageKind::Module) => missing_part(&self.rendered, "", named.name)?,
                ("include" | "layout", PageKind::Page) => {
                    let directory = page.name.file.rsplit_once('/').map_or("", |(path, _)| path);
                    missing_part(&own, directory, named.name)?
                }
                _ => return None,
            };
            let column = column_of(&page.source, named.line, named.name);
            Some(PageDefect { line: named.line, column, what })
        };
        names.iter().filter_map(problem).take(PAGE_STRANGERS_MAX).collect()
    }

    fn missing_module(&self, name: &str) -> Option<String> {
        let file = || format!("{}.lua", name.replace('.', "/"));
        (!self.modules.contains(name))
            .then(|| format!("there is no module '{name}' (file {})", file()))
    }
}

fn parts(set: &PageSet) -> impl Iterator<Item = &str> {
    let pages = set.pages.iter().filter(|page| page.kind == PageKind::Page);
    pages.map(|page| &*page.name.full)
}

/// Resolves a name as `parts.lua` does, with the same error text. A name that leads out of the root is left to run
/// time.
fn missing_part(known: &HashSet<&str>, directory: &str, target: &str) -> Option<String> {
    let mut names: Vec<&str> = match target.starts_with('/') {
        true => Vec::new(),
        false => directory.split('/').filter(|name| !name.is_empty()).collect(),
    };
    for name in target.split('/').filter(|name| !matches!(*name, "" | ".")) {
        if name == ".." {
            names.pop()?;
        } else {
            names.push(name);
        }
    }
    let name = names.join("/");
    let file = name.rsplit_once('.').map_or_else(
        || format!("{name}.page.html"),
        |(stem, extension)| format!("{stem}.page.{extension}"),
    );
    (!known.contains(name.as_str())).then(|| format!("there is no part '{name}' (file {file})"))
}
