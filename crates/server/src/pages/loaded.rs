//! The pages and modules that an engine has loaded, by root.
//!
//! Owns which code answers, before and after an edit. Never runs a page.

use std::sync::Arc;

use script::engine::{Handler, Purpose};

use super::counts::RowIndex;
use super::host::{LoadHost, LoadLog};
use super::load::SetIndex;
use super::runner::Runner;
use super::set::{Page, PageSet};

/// The pages of a root, as they are loaded.
pub(super) struct Loaded {
    pub(super) set: Arc<PageSet>,
    pub(super) handlers: Vec<Option<Handler>>,
    /// Where each is counted, from its first request on.
    pub(super) rows: Vec<Option<RowIndex>>,
}

impl Loaded {
    /// The handler of a page that did not change.
    fn take(&mut self, page: &Arc<Page>) -> Option<Handler> {
        let index = self.set.index_of(&page.name.file)?;
        let is_same = Arc::ptr_eq(self.set.pages.get(index)?, page);
        if is_same { self.handlers.get_mut(index)?.take() } else { None }
    }
}

impl Runner {
    /// Loads other pages in the place of those that are there. What is under way goes on with the old ones.
    pub fn load(&mut self, sets: &[Arc<PageSet>]) {
        let mut before = std::mem::take(&mut self.roots);
        for (index, set) in sets.iter().enumerate() {
            if set.is_app() {
                let known = before.iter_mut().find(|known| known.set.is_app());
                let loaded = self.load_modules(set, known);
                self.roots.push(loaded);
                continue;
            }
            let mut known = before.get_mut(index);
            let handlers = set.pages.iter().map(|page| {
                let kept = known.as_mut().and_then(|known| known.take(page));
                kept.or_else(|| self.load_page(index, page))
            });
            let handlers: Vec<_> = handlers.collect();
            let rows = vec![None; handlers.len()];
            self.roots.push(Loaded { set: Arc::clone(set), handlers, rows });
        }
        let has_app = |sets: &[Arc<PageSet>]| sets.iter().any(|set| set.is_app());
        if before.iter().any(|known| known.set.is_app()) && !has_app(sets) {
            // A set of none takes the place of what pages could require.
            let _no_room = self.engine.adopt_modules();
        }
        for (site, known) in (0..).zip(&before).filter(|(_, known)| !known.set.is_app()) {
            let now = sets.get(usize::from(site));
            let is_gone = |file: &str| now.is_none_or(|set| set.index_of(file).is_none());
            for page in known.set.pages.iter().filter(|page| is_gone(&page.name.file)) {
                self.engine.withdraw(site, &page.name.file);
            }
        }
        if !before.is_empty() {
            self.engine.forget_native();
        }
    }

    fn load_page(&mut self, root: usize, page: &Page) -> Option<Handler> {
        // It was compiled once where it was read: what fails here has no room, and is answered with an error.
        let site = u16::try_from(root).ok()?;
        let file = &page.name.file;
        let Some(lua) = &page.lua else {
            if let Some(problem) = &page.problem {
                self.engine.refuse(site, file, &page.refusal(problem));
            }
            return None;
        };
        self.engine.load(site, file, lua).ok()
    }

    /// Modules are loaded together: those of one set find each other. What is in force already stays.
    fn load_modules(&mut self, set: &Arc<PageSet>, before: Option<&mut Loaded>) -> Loaded {
        let mut before = before.filter(|known| known.set.is_same_code(set));
        if before.is_none() {
            for (page, text) in set.texts() {
                // Compiled once where they were read, too.
                let _no_room = self.engine.provide(&page.name.full, &page.name.file, text);
            }
            let _no_room = self.engine.adopt_modules();
        }
        let mut host = LoadHost::new(set.read_at, LoadLog::Dropped);
        let handlers = set.pages.iter().map(|page| {
            page.lua.as_ref()?;
            let (name, file) = (&page.name.full, &page.name.file);
            let purpose = purpose_of(set, name);
            let kept = before.as_mut().and_then(|known| {
                // Routes may lead to it only now, while the same set stays in force.
                let is_for_it = purpose_of(&known.set, name) == purpose;
                let index = known.set.index_of(file).filter(|_| is_for_it)?;
                known.handlers.get_mut(index)?.take()
            });
            kept.or_else(|| self.engine.load_module(name, file, purpose, &mut host).ok())
        });
        let handlers: Vec<_> = handlers.collect();
        let rows = vec![None; handlers.len()];
        Loaded { set: Arc::clone(set), handlers, rows }
    }

    /// The page that answers a path of a root, or the module of that name.
    #[inline]
    pub fn find(&self, set: SetIndex, path: &str) -> Option<usize> {
        self.roots.get(usize::from(set.0))?.set.find(path)
    }

    /// The pages of a root.
    pub fn pages(&self, set: SetIndex) -> Option<&PageSet> {
        Some(&self.roots.get(usize::from(set.0))?.set)
    }

    /// A page by its number.
    pub fn page(&self, set: SetIndex, index: usize) -> Option<&Arc<Page>> {
        self.roots.get(usize::from(set.0))?.set.pages.get(index)
    }
}

/// What a module of a set is loaded for.
fn purpose_of(set: &PageSet, name: &str) -> Purpose {
    if set.find(name).is_some() { Purpose::Answers } else { Purpose::Required }
}
