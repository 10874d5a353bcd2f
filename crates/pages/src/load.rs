//! Reads the pages of all roots.
//!
//! Owns what is kept of the previous pages. Waits for the disk; runs on the main thread.

use std::sync::Arc;

use ahash::HashSet;
use config::{NamedModule, PageErrors, PageName};
use files::rules::FileRules;

use super::absent::Present;
use super::engine_settings::engine_settings;
use super::error::PagesError;
use super::modules;
use super::page::PageDefect;
use super::scan::walk;
use super::secret::Secret;
pub use super::set::PageRoot;
use super::set::{Compiler, LastGood, Newest, PageSet};

/// The number of a set of pages. Directories that are served by several rules have one set of pages,
/// so this is not the number of a [`Root`](files::rules::Root).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SetIndex(pub u16);

/// The previous pages by root, and their secret.
#[derive(Clone, Copy, Debug, Default)]
pub struct Before<'a> {
    /// The roots.
    pub roots: &'a [PageRoot],
    /// The pages of each of them.
    pub sets: &'a [Arc<PageSet>],
    /// The secret that signs cookies; `None` at the start.
    pub secret: Option<&'a Secret>,
}

impl<'a> Before<'a> {
    /// The same pages, or at least those of the same directory.
    fn of(self, root: &PageRoot) -> Option<&'a Arc<PageSet>> {
        let same = self.roots.iter().position(|known| known == root);
        let index =
            same.or_else(|| self.roots.iter().position(|known| known.root.path == root.root.path))?;
        self.sets.get(index)
    }
}

/// The places where pages and modules are searched.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// The roots with pages, followed by the directory of app modules if there is one.
    pub roots: &'a [PageRoot],
    /// The rules of each root with pages.
    pub rules: &'a [Arc<FileRules>],
    /// The modules named in the configuration.
    pub named: &'a [NamedModule],
    /// The time, in seconds since 1970.
    pub unix_seconds: u64,
}

/// Reads the pages of each root, in the order of the roots. An unchanged page is kept; if the new text of a page is
/// broken, its last working version is kept, unless its author should see the problem. Where pages are not enabled,
/// nothing is read.
///
/// # Errors
/// If there are pages but no engine can run on this host, or if it is unknown which pages exist.
pub fn load(
    places: Places<'_>,
    before: Before<'_>,
    settings: &config::Pages,
) -> Result<Vec<Arc<PageSet>>, PagesError> {
    let Places { roots, rules, named, unix_seconds } = places;
    if !settings.enabled {
        return Ok(roots.iter().map(|_| Arc::default()).collect());
    }
    let last_good = match settings.errors {
        PageErrors::Hidden => LastGood::Kept,
        PageErrors::Shown => LastGood::Dropped,
    };
    let mut compiler = Compiler::new(engine_settings(settings, 0), last_good);
    let set_of = |(root, rules): (&PageRoot, &Arc<FileRules>)| {
        let mut walked = walk(&root.root, PageName::of)?;
        let before = before.of(root).map(|set| &**set);
        walked.recall(before.into_iter().flat_map(|set| &set.pages).map(|page| &page.name));
        Ok::<_, PagesError>(Arc::new(PageSet::of(root, walked, before, rules, &mut compiler)?))
    };
    let mut sets: Vec<_> = roots.iter().zip(rules).map(set_of).collect::<Result<_, _>>()?;
    if let Some(root) = roots.get(rules.len()) {
        let mut walked = walk(&root.root, PageName::of_module)?;
        let before = before.of(root);
        walked.recall(before.into_iter().flat_map(|set| &set.newest).map(Newest::name));
        sets.push(modules::of_walk(root, walked, before, named, unix_seconds, &mut compiler)?);
    }
    Ok(sets)
}

/// The problem of a page, and how requests for it are answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}; {}", .file, .problem, .served.as_str())]
pub struct PageProblem {
    /// The file.
    pub file: String,
    /// Its problem.
    pub problem: PageDefect,
    /// The version that is served.
    pub served: Served,
}

/// The version that is served for a broken page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// Its last working version.
    LastGood,
    /// Errors, because there was no working version.
    Nothing,
    /// The page: it fails only if it reaches that place.
    TheSame,
    /// For a directory: the pages known in it.
    Known,
}

impl Served {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LastGood => "the version before is served",
            Self::Nothing => "it is answered 500",
            Self::TheSame => "it is served, and fails there",
            Self::Known => "pages and modules that are new in it are not found",
        }
    }
}

/// The problems of the pages, each reported once, however many routes lead to it.
pub fn problems(roots: &[PageRoot], sets: &[Arc<PageSet>]) -> Vec<PageProblem> {
    let mut all = Vec::new();
    let mut known = HashSet::default();
    let mut absent = HashSet::default();
    let present = Present::of(sets.iter().map(|set| &**set));
    for (root, set) in roots.iter().zip(sets) {
        for (directory, problem) in &set.closed {
            let file = root.root.path.join(directory).display().to_string();
            if known.insert(file.clone()) {
                all.push(PageProblem { file, problem: problem.clone(), served: Served::Known });
            }
        }
        for page in set.troubled() {
            let file = root.root.path.join(&*page.name.file).display().to_string();
            if !known.insert(file.clone()) {
                continue;
            }
            let served = match (&page.problem, &page.lua) {
                (None, _) => Served::TheSame,
                (Some(_), Some(_)) => Served::LastGood,
                (Some(_), None) => Served::Nothing,
            };
            let problem_of = |problem: &PageDefect| PageProblem {
                file: file.clone(),
                problem: problem.clone(),
                served,
            };
            all.extend(page.problem.iter().chain(&page.strangers).map(problem_of));
        }
        for page in &set.pages {
            let file = root.root.path.join(&*page.name.file).display().to_string();
            let missing = present.missing(page, set);
            if missing.is_empty() || !absent.insert(file.clone()) {
                continue;
            }
            let served = Served::TheSame;
            let problem_of = |problem| PageProblem { file: file.clone(), problem, served };
            all.extend(missing.into_iter().map(problem_of));
        }
    }
    all
}
