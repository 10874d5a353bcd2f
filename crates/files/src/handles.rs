//! Descriptors of large files that are requested repeatedly: opened once, not per request.
//!
//! Owns how many are kept and for how long. Each time one is used, it is compared with the lookup
//! result, like a new one. Never opens a file, and never waits for a disk.

use std::rc::Rc;
use std::sync::Arc;

use ahash::HashMap;
use sys::file::FileHandle;

use super::limits::{HANDLE_KEPT_MS, HANDLES_MAX};
use super::representation::Large;
use super::rules::RootIndex;

/// The kept descriptors of one scheduler.
#[derive(Debug, Default)]
pub(crate) struct Handles {
    kept: HashMap<(RootIndex, Arc<str>), Kept>,
    /// None is due before this time.
    due_ms: Option<u64>,
}

#[derive(Debug)]
struct Kept {
    file: Rc<FileHandle>,
    used_ms: u64,
}

impl Handles {
    /// The descriptor of a file, if it is kept and the file is unchanged since the lookup.
    pub(crate) fn get(
        &mut self,
        root: RootIndex,
        large: &Large,
        now_ms: u64,
    ) -> Option<Rc<FileHandle>> {
        let key = (root, Arc::clone(&large.relative));
        let kept = self.kept.get_mut(&key)?;
        if kept.file.stat().is_ok_and(|metadata| metadata == large.metadata) {
            kept.used_ms = now_ms;
            return Some(Rc::clone(&kept.file));
        }
        self.kept.remove(&key);
        None
    }

    /// Keeps the descriptor of a file for the next request, if there is room.
    pub(crate) fn keep(
        &mut self,
        root: RootIndex,
        large: &Large,
        file: &Rc<FileHandle>,
        now_ms: u64,
    ) {
        if self.kept.len() < HANDLES_MAX {
            let kept = Kept { file: Rc::clone(file), used_ms: now_ms };
            self.kept.insert((root, Arc::clone(&large.relative)), kept);
            self.due_ms.get_or_insert(now_ms + HANDLE_KEPT_MS);
        }
    }

    /// Closes descriptors that were not used for a while, so that the blocks of deleted files are freed. Returns when
    /// to call again.
    pub(crate) fn give_up_unused(&mut self, now_ms: u64) -> Option<u64> {
        if self.due_ms? > now_ms {
            return self.due_ms;
        }
        self.kept.retain(|_, kept| kept.used_ms + HANDLE_KEPT_MS > now_ms);
        self.due_ms = self.kept.values().map(|kept| kept.used_ms + HANDLE_KEPT_MS).min();
        self.due_ms
    }
}
