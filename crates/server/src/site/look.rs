//! Looks up a file: from the cache at once, or after a helper has read the disk.
//!
//! Owns who waits for which lookup, and why a file is not available now. Never writes a reply.

use std::rc::Rc;
use std::sync::Arc;

use config::FileSettings;
use config::route::RuleId;
use files::cache::PathLookup;
use files::entry::CachedEntry;
use files::representation::Large;
use files::roots::{LargeOpen, OpenWait};
use files::{EntryKey, RootIndex, Warm};
use http::AnswerContext;
use runtime::slots::ProcessId;
use sys::file::FileHandle;
use wire::http::encoding::Accepted;

use super::Site;
use crate::message::Message;

/// Processes that are remembered as warmed or rewritten.
///
/// Limit: beyond it the oldest is forgotten; its request then waits for a helper again.
const REMEMBERED: usize = 1024;

/// Why a file is not available now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotNow {
    /// A helper is reading; the request is asked again.
    Wait,
    /// No helper has room: 503.
    Busy,
}

impl Site {
    /// The root that a rule serves from.
    pub(super) fn root_of(&mut self, rule: RuleId, rules: &FileSettings) -> Option<RootIndex> {
        if let Some((_, root)) = self.root_of_rule.iter().find(|(known, _)| *known == rule) {
            return Some(*root);
        }
        let root = self.data.root_of(rules)?;
        self.root_of_rule.push((rule, root));
        Some(root)
    }

    /// The entry for a path, or whether the request has to wait or cannot be served.
    pub(super) fn look(
        &mut self,
        key: EntryKey<'_>,
        accepted: &Accepted,
        context: &mut AnswerContext<'_, Message>,
    ) -> Result<Rc<CachedEntry>, NotNow> {
        let now_ms = context.now.monotonic_ms();
        let unix_ms = context.now.unix_seconds * 1000;
        match self.cache.look(key, accepted, now_ms) {
            PathLookup::Fresh(entry) => Ok(entry),
            PathLookup::Refresh(entry, errand) => {
                // If it is not sent, the entry is still valid for its second, and the next request tries again.
                let _later = self.send_look_up(key, errand, unix_ms, context.mail);
                Ok(entry)
            }
            PathLookup::Missing(errand) => {
                if !self.send_look_up(key, errand, unix_ms, context.mail) {
                    return Err(NotNow::Busy);
                }
                self.waiting.add(key, context.id);
                Err(NotNow::Wait)
            }
            PathLookup::Pending => {
                self.waiting.add(key, context.id);
                Err(NotNow::Wait)
            }
            PathLookup::Busy => Err(NotNow::Busy),
        }
    }

    /// Opens a file too large for memory, without waiting for the disk.
    pub(super) fn open_large(
        &mut self,
        key: EntryKey<'_>,
        large: &Large,
        context: &mut AnswerContext<'_, Message>,
    ) -> Result<Rc<FileHandle>, NotNow> {
        let patience =
            if forget(&mut self.warmed, context.id) { OpenWait::Warmed } else { OpenWait::None };
        let now_ms = context.now.monotonic_ms();
        match self.roots.open_large(key.root, large, patience, now_ms) {
            LargeOpen::Ready(file) => Ok(file),
            LargeOpen::Written(file) if forget(&mut self.rewritten, context.id) => Ok(file),
            LargeOpen::Written(_) | LargeOpen::Changed => {
                remember(&mut self.rewritten, context.id);
                self.cache.expire(key);
                let accepted = Accepted::default();
                Err(self.look(key, &accepted, context).err().unwrap_or(NotNow::Busy))
            }
            LargeOpen::Cold => {
                let relative = Arc::clone(&large.relative);
                let length = files::limits::WARM_FIRST_SIZE;
                let warm = Warm { root: key.root, relative, offset: 0, length };
                let sent = self.send_warm(context.id, warm, context.mail);
                Err(if sent { NotNow::Wait } else { NotNow::Busy })
            }
            LargeOpen::Failed(_) => Err(NotNow::Busy),
        }
    }
}

/// Adds a process to a list, once: a long download of a cold file is warmed many times.
pub(super) fn remember(list: &mut Vec<ProcessId>, process: ProcessId) {
    if list.contains(&process) {
        return;
    }
    if list.len() >= REMEMBERED {
        list.remove(0);
    }
    list.push(process);
}

/// Removes a process from a list. Returns whether it was in it.
pub(super) fn forget(list: &mut Vec<ProcessId>, process: ProcessId) -> bool {
    match list.iter().position(|known| *known == process) {
        Some(index) => {
            list.swap_remove(index);
            true
        }
        None => false,
    }
}
