//! The pages and modules that an engine has loaded, by root.
//!
//! Owns which code belongs to which page. Never loads a page, and never runs one.

use std::sync::Arc;

use script::engine::{Fault, Handler, ScriptError};

use super::counts::RowIndex;
use super::set::{Page, PageSet};

/// The pages of a root, as they are loaded.
pub(super) struct Loaded {
    pub(super) set: Arc<PageSet>,
    /// The number by which the engine and the counters know the root. It is no other root's after that, whatever a reload
    /// puts in its place: what is under way includes parts of the root that it is of.
    pub(super) site: u16,
    /// What each of them runs.
    pub(super) code: Vec<Option<Code>>,
    /// Where each is counted, from its first request on.
    pub(super) rows: Vec<Option<RowIndex>>,
}

/// What is loaded of a page.
pub(super) struct Code {
    /// The page it is of: one before, where there was no memory for another.
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

    /// Whether it is of the same root.
    pub(super) fn is_of(&self, set: &PageSet) -> bool {
        self.set.kind == set.kind && (self.set.is_app() || self.set.place == set.place)
    }

    /// What is loaded of the page that this file was.
    pub(super) fn take(&mut self, file: &str) -> Option<Code> {
        self.code.get_mut(self.set.index_of(file)?)?.take()
    }
}

/// What whoever asks for a page is told when there was no memory for its code.
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
