//! Reads the pages of all roots.
//!
//! Owns what is kept of the previous pages. Waits for the disk; runs on the main thread.

use std::fmt;
use std::sync::Arc;

use ahash::HashSet;
use config::{NamedModule, PageErrors, PageName};
use files::rules::FileRules;

use super::absent::Present;
use super::engine_settings::engine_settings;
use super::error::PagesError;
use super::modules;
use super::scan::walk;
use super::secret::Secret;
pub use super::set::PageRoot;
use super::set::{Compiler, LastGood, Newest, PageSet, Problem};

/// Which of the sets of pages. What is served by other rules from the same directory has the same pages, and so the same
/// set: the number is not the one of its [`Root`](files::rules::Root).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SetIndex(pub u16);

/// The pages that were there before, by root, and their secret.
#[derive(Clone, Copy, Debug, Default)]
pub struct Before<'a> {
    /// The roots.
    pub roots: &'a [PageRoot],
    /// The pages of each of them.
    pub sets: &'a [Arc<PageSet>],
    /// What cookies are signed with; `None` at the start.
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

/// Where pages and modules are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// The roots with pages and, behind them, the directory of the app modules if there is one.
    pub roots: &'a [PageRoot],
    /// The rules of each root with pages.
    pub rules: &'a [Arc<FileRules>],
    /// The modules that the configuration names.
    pub named: &'a [NamedModule],
    /// The time, in seconds since 1970.
    pub unix_seconds: u64,
}

/// The pages of each root, in the order of the roots. A page that did not change is kept as it is; one whose new text is
/// broken keeps its last good one, unless its author is to see what is wrong. Where pages are not enabled, nothing is looked at.
///
/// # Errors
/// When there are pages, and there can be no engine on this host; or when it cannot be said which pages there are.
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
        sets.push(modules::of_walk(root, walked, before, (named, unix_seconds), &mut compiler)?);
    }
    Ok(sets)
}

/// What is wrong with a page, and what becomes of requests for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageProblem {
    /// The file.
    pub file: String,
    /// What is wrong with it.
    pub problem: Problem,
    /// What is served.
    pub served: Served,
}

/// What is served in the place of a broken page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// Its last good version.
    LastGood,
    /// Nothing but errors: there was no good one.
    Nothing,
    /// What is there: it fails only if it comes to that place.
    TheSame,
    /// Of a directory: the pages that were known in it.
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

impl fmt::Display for PageProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}; {}", self.file, self.problem, self.served.as_str())
    }
}

/// What is wrong with the pages, each told once, whatever number of routes leads to it.
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
            let problem_of = |problem: &Problem| PageProblem {
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
