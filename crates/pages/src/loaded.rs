//! The pages and modules that an engine has loaded, by root.
//!
//! Owns which code belongs to which page. Never loads a page, and never runs one.

use std::sync::Arc;

use script::engine::{Fault, Handler, ScriptError};

use super::counts::{Counters, RowIndex};
use super::load::SetIndex;
use super::page::Page;
use super::set::PageSet;

/// The roots of a scheduler.
#[derive(Default)]
pub(super) struct Roots {
    all: Vec<Loaded>,
    /// The number of the next one that is new.
    next_site: u16,
}

impl Roots {
    /// The loaded pages of a root.
    pub(super) fn get(&self, set: SetIndex) -> Option<&Loaded> {
        self.all.get(usize::from(set.0))
    }

    /// All sets, in their order.
    pub(super) fn sets(&self) -> impl Iterator<Item = &Arc<PageSet>> {
        self.all.iter().map(|loaded| &loaded.set)
    }

    /// The row with the counters of a page.
    pub(super) fn row_of(
        &mut self,
        set: SetIndex,
        index: usize,
        counters: &mut Counters,
    ) -> Option<RowIndex> {
        self.all.get_mut(usize::from(set.0))?.row(index, counters)
    }

    /// An app module that has code, and its row.
    pub(super) fn module(
        &mut self,
        name: &str,
        counters: &mut Counters,
    ) -> Option<(Arc<Page>, RowIndex)> {
        let loaded = self.all.iter_mut().find(|loaded| loaded.set.is_app())?;
        let is_it = |page: &Arc<Page>| *page.name.full == *name && page.lua.is_some();
        let index = loaded.set.pages.iter().position(is_it)?;
        let page = Arc::clone(&loaded.set.pages[index]);
        Some((page, loaded.row(index, counters)?))
    }

    /// Takes all; they are replaced next.
    pub(super) fn take(&mut self) -> Vec<Loaded> {
        std::mem::take(&mut self.all)
    }

    /// Has these from now on.
    pub(super) fn set(&mut self, all: Vec<Loaded>) {
        self.all = all;
    }

    /// A number that no root has had.
    pub(super) fn new_site(&mut self) -> u16 {
        let site = self.next_site;
        self.next_site = site.wrapping_add(1);
        site
    }

    /// From now on the row of the first page of the first root is missing.
    #[cfg(feature = "testing")]
    pub(super) fn lose_row(&mut self) {
        self.all[0].rows[0] = Some(RowIndex::NONE);
    }
}

/// The loaded pages of a root.
pub(super) struct Loaded {
    set: Arc<PageSet>,
    /// The number of the root for the engine and the counters. It is never given to another root, even if a reload
    /// replaces this one, because running pages include parts of their root.
    site: u16,
    /// The code of each page.
    code: Vec<Option<Code>>,
    /// The counters of each page, from its first request on.
    rows: Vec<Option<RowIndex>>,
}

/// The loaded code of a page.
pub(super) struct Code {
    /// The page of this code: an earlier version if there was no memory for a newer one.
    page: Arc<Page>,
    handler: Handler,
}

impl Code {
    pub(super) fn new(page: &Arc<Page>, handler: Handler) -> Self {
        Self { page: Arc::clone(page), handler }
    }

    pub(super) fn page(&self) -> &Arc<Page> {
        &self.page
    }

    pub(super) fn handler(&self) -> &Handler {
        &self.handler
    }

    pub(super) fn is_of(&self, page: &Page) -> bool {
        let texts = self.page.lua.as_ref().zip(page.lua.as_ref());
        texts.is_some_and(|(one, other)| Arc::ptr_eq(one, other))
    }
}

impl Loaded {
    pub(super) fn new(set: &Arc<PageSet>, site: u16, code: Vec<Option<Code>>) -> Self {
        let rows = vec![None; code.len()];
        Self { set: Arc::clone(set), site, code, rows }
    }

    /// The set of its pages.
    pub(super) fn set(&self) -> &Arc<PageSet> {
        &self.set
    }

    /// The number of the root.
    pub(super) fn site(&self) -> u16 {
        self.site
    }

    /// The code of a page that exists, if it has some.
    pub(super) fn code(&self, index: usize) -> Option<Option<&Code>> {
        self.code.get(index).map(Option::as_ref)
    }

    /// Takes the code of all pages.
    pub(super) fn take_all(&mut self) -> Vec<Option<Code>> {
        std::mem::take(&mut self.code)
    }

    /// Whether it belongs to the same root.
    pub(super) fn is_of(&self, set: &PageSet) -> bool {
        self.set.kind == set.kind && (self.set.is_app() || self.set.place == set.place)
    }

    fn row(&mut self, index: usize, counters: &mut Counters) -> Option<RowIndex> {
        let page = self.set.pages.get(index)?;
        let row = self.rows.get_mut(index)?;
        let set = &self.set;
        Some(
            *row.get_or_insert_with(|| {
                counters.row(self.site, &page.name.file, || set.name_of(page))
            }),
        )
    }

    /// Takes the loaded code of the page with this file.
    pub(super) fn take(&mut self, file: &str) -> Option<Code> {
        self.code.get_mut(self.set.index_of(file)?)?.take()
    }
}

/// The error for requests for a page whose code had no memory.
pub(super) fn no_room(page: &Page) -> Box<ScriptError> {
    Box::new(ScriptError {
        fault: Fault::Memory,
        page: page.name.file.to_string(),
        line: 0,
        message: "there was no memory to load it: it is tried again at the next edit or reload"
            .to_owned(),
        traceback: Vec::new(),
    })
}
