//! The page that a scheduler runs now, visible to another thread.
//!
//! Owns that one word: the address of the page. The reading thread never follows the address; it
//! compares it with those of the current pages.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::page::Page;

/// The page that one scheduler runs, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct AtWork {
    /// Zero while no page runs.
    page: AtomicUsize,
}

impl AtWork {
    pub(super) fn begin(&self, page: &Arc<Page>) {
        self.page.store(Arc::as_ptr(page).addr(), Relaxed);
    }

    pub(super) fn end(&self) {
        self.page.store(0, Relaxed);
    }

    /// Whether any page runs.
    pub fn is_any(&self) -> bool {
        self.page.load(Relaxed) != 0
    }

    /// Whether it is this one.
    pub fn is(&self, page: &Arc<Page>) -> bool {
        self.page.load(Relaxed) == Arc::as_ptr(page).addr()
    }
}
