//! The pages and modules that an engine has loaded, by root.
//!
//! Owns which code belongs to which page. Never loads a page, and never runs one.

use std::sync::Arc;

use script::engine::{Fault, Handler, ScriptError};

use super::counts::RowIndex;
use super::page::Page;
use super::set::PageSet;

/// The loaded pages of a root.
pub(super) struct Loaded {
    pub(super) set: Arc<PageSet>,
    /// The number of the root for the engine and the counters. It is never given to another root, even if a reload replaces
    /// this one, because running pages include parts of their root.
    pub(super) site: u16,
    /// The code of each page.
    pub(super) code: Vec<Option<Code>>,
    /// The counters of each page, from its first request on.
    pub(super) rows: Vec<Option<RowIndex>>,
}

/// The loaded code of a page.
pub(super) struct Code {
    /// The page of this code: an earlier version if there was no memory for a newer one.
    pub(super) page: Arc<Page>,
    pub(super) handler: Handler,
}

impl Code {
    pub(super) fn new(page: &Arc<Page>, handler: Handler) -> Self {
        Self { page: Arc::clone(page), handler }
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

    /// Whether it belongs to the same root.
    pub(super) fn is_of(&self, set: &PageSet) -> bool {
        self.set.kind == set.kind && (self.set.is_app() || self.set.place == set.place)
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
