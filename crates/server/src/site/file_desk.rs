//! The files that one scheduler serves: what it knows of them, and who waits for them.
//!
//! Owns the cache, the opened roots, which lookup a request waits for, why a file is not available now, and the choice
//! of a helper. Never writes a reply.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use config::FileSettings;
use config::route::RuleId;
use files::cache::{PathCache, PathCacheStats, PathLookup};
use files::entry::CachedEntry;
use files::representation::Large;
use files::roots::{LargeOpen, NamedOpen, OpenWait, Roots};
use files::{EntryKey, Errand, Job, RootIndex, Warm};
use runtime::mailbox::Endpoint;
use runtime::slots::ProcessId;
use sys::file::FileHandle;
use wire::http::encoding::Accepted;

use super::waiting::Waiting;
use crate::limits::POSTPONED_MAX;
use crate::message::{AnswerContext, FoundFile, LookUp, Mailbox, ToFileHelper, WarmFor};
use crate::site_data::SiteData;

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

/// The files of one scheduler.
pub(super) struct FileDesk {
    helpers: Vec<Endpoint>,
    cache: PathCache,
    roots: Roots,
    /// The root of each rule, found once.
    root_of_rule: Vec<(RuleId, RootIndex)>,
    waiting: Waiting,
    /// Processes for which a helper has just read a file.
    warmed: Vec<ProcessId>,
    /// Processes whose file was once found to have changed.
    rewritten: Vec<ProcessId>,
    /// Processes whose file is cold and for which no helper had room, in the order of their requests.
    postponed: VecDeque<ProcessId>,
    /// The last boundary between parts of an answer.
    boundary: u128,
}

impl FileDesk {
    /// Opens the roots in the descriptor table of this scheduler. The first boundary is random.
    ///
    /// # Errors
    /// If a root cannot be opened.
    pub(super) fn open(
        data: &SiteData,
        helpers: Vec<Endpoint>,
        boundary: u128,
    ) -> std::io::Result<Self> {
        let size = usize::try_from(data.config.file_cache.size).unwrap_or(usize::MAX);
        Ok(Self {
            helpers,
            cache: PathCache::new(size),
            roots: Roots::open(&data.all_roots())?,
            root_of_rule: Vec::new(),
            waiting: Waiting::default(),
            warmed: Vec::new(),
            rewritten: Vec::new(),
            postponed: VecDeque::new(),
            boundary,
        })
    }

    /// Serves the roots of another configuration, if they can be opened.
    ///
    /// # Errors
    /// If one cannot: then nothing has changed.
    pub(super) fn reload(&mut self, data: &SiteData) -> std::io::Result<()> {
        self.roots = Roots::open(&data.all_roots())?;
        self.cache = PathCache::new(0);
        self.root_of_rule.clear();
        Ok(())
    }

    /// Returns all requests that wait for a lookup, which ask again.
    pub(super) fn take_waiting(&mut self) -> Vec<ProcessId> {
        self.waiting.take_all()
    }

    /// Limits the bytes in the cache.
    pub(super) fn set_size(&mut self, size: u64) {
        self.cache.set_size(usize::try_from(size).unwrap_or(usize::MAX));
    }

    /// The counters of the cache.
    pub(super) fn stats(&self) -> PathCacheStats {
        self.cache.stats()
    }

    /// The next boundary between parts of an answer.
    pub(super) fn next_boundary(&mut self) -> u128 {
        // A linear congruential step: a boundary must not occur in the content but need not be secret. The start
        // value is random.
        self.boundary =
            self.boundary.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(1);
        self.boundary
    }

    /// A helper has looked a path up. Returns the requests that wait for it.
    pub(super) fn learn(
        &mut self,
        found: FoundFile,
        data: &SiteData,
        now_ms: u64,
    ) -> Vec<ProcessId> {
        let FoundFile { site, job, found } = found;
        let key = job.key();
        // An operator's settings do not change what is served.
        if site.generation == data.generation {
            self.cache.insert(key, found, now_ms);
        }
        self.waiting.take(key)
    }

    /// The knowledge of a path has become wrong.
    pub(super) fn expire(&mut self, key: EntryKey<'_>) {
        self.cache.expire(key);
    }

    /// A helper has read a file for a process, which opens it next.
    pub(super) fn note_warmed(&mut self, process: ProcessId) {
        remember(&mut self.warmed, process);
    }

    /// The patience with the file of a process: one that was just read is in memory.
    pub(super) fn patience(&mut self, process: ProcessId) -> OpenWait {
        if forget(&mut self.warmed, process) { OpenWait::Warmed } else { OpenWait::None }
    }

    /// Opens a file by its name in a root.
    pub(super) fn open_named(
        &mut self,
        root: RootIndex,
        name: &str,
        size: u64,
        patience: OpenWait,
    ) -> NamedOpen {
        self.roots.open_named(root, name, size, patience)
    }

    /// The root that a rule serves from.
    pub(super) fn root_of(
        &mut self,
        rule: RuleId,
        rules: &FileSettings,
        data: &SiteData,
    ) -> Option<RootIndex> {
        if let Some((_, root)) = self.root_of_rule.iter().find(|(known, _)| *known == rule) {
            return Some(*root);
        }
        let root = data.root_of(rules)?;
        self.root_of_rule.push((rule, root));
        Some(root)
    }

    /// The entry for a path, or whether the request has to wait or cannot be served.
    pub(super) fn look(
        &mut self,
        key: EntryKey<'_>,
        accepted: &Accepted,
        data: &Arc<SiteData>,
        context: &mut AnswerContext<'_>,
    ) -> Result<Rc<CachedEntry>, NotNow> {
        let now_ms = context.now.monotonic_ms();
        let unix_ms = context.now.unix_seconds * 1000;
        match self.cache.look(key, accepted, now_ms) {
            PathLookup::Fresh(entry) => Ok(entry),
            PathLookup::Refresh(entry, errand) => {
                // If it is not sent, the entry is still valid for its second, and the next request tries again.
                let _later = self.send_look_up(key, errand, unix_ms, data, context.mail);
                Ok(entry)
            }
            PathLookup::Missing(errand) => {
                if !self.send_look_up(key, errand, unix_ms, data, context.mail) {
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
        data: &Arc<SiteData>,
        context: &mut AnswerContext<'_>,
    ) -> Result<Rc<FileHandle>, NotNow> {
        let patience = self.patience(context.id);
        let now_ms = context.now.monotonic_ms();
        match self.roots.open_large(key.root, large, patience, now_ms) {
            LargeOpen::Ready(file) => Ok(file),
            LargeOpen::Written(file) if forget(&mut self.rewritten, context.id) => Ok(file),
            LargeOpen::Written(_) | LargeOpen::Changed => {
                remember(&mut self.rewritten, context.id);
                self.cache.expire(key);
                let accepted = Accepted::default();
                Err(self.look(key, &accepted, data, context).err().unwrap_or(NotNow::Busy))
            }
            LargeOpen::Cold => {
                let relative = Arc::clone(&large.relative);
                let length = files::limits::WARM_FIRST_SIZE;
                let warm = Warm { root: key.root, relative, offset: 0, length };
                let sent = self.warm(context.id, warm, data, context.mail);
                Err(if sent { NotNow::Wait } else { NotNow::Busy })
            }
            LargeOpen::Failed(_) => Err(NotNow::Busy),
        }
    }

    /// Sends a lookup to a helper. `false`: none has room, and no request has to wait.
    fn send_look_up(
        &mut self,
        key: EntryKey<'_>,
        errand: Errand,
        unix_ms: u64,
        data: &Arc<SiteData>,
        mail: &mut Mailbox,
    ) -> bool {
        let Some(rules) = data.rules.get(usize::from(key.root.0)) else { return false };
        let job = Job::new(key, rules, errand, unix_ms);
        let look_up = Box::new(LookUp { site: Arc::clone(data), job });
        let sent = self.send_to_helper(ToFileHelper::LookUp(look_up), mail);
        if !sent {
            self.cache.abandon(key);
        }
        sent
    }

    /// Sends to the next helper, or to any that has room.
    fn send_to_helper(&mut self, message: ToFileHelper, mail: &mut Mailbox) -> bool {
        let mut message = message;
        for _ in 0..self.helpers.len() {
            self.helpers.rotate_left(1);
            let Some(helper) = self.helpers.first() else { return false };
            match mail.send_part(*helper, message) {
                Ok(()) => return true,
                Err(back) => message = back,
            }
        }
        false
    }

    /// Has a region read for a process.
    pub(super) fn warm(
        &mut self,
        process: ProcessId,
        warm: Warm,
        data: &Arc<SiteData>,
        mail: &mut Mailbox,
    ) -> bool {
        let warm = Box::new(WarmFor { site: Arc::clone(data), process, warm });
        self.send_to_helper(ToFileHelper::Warm(warm), mail)
    }

    /// Lets a process wait for room with the helpers. `false`: too many wait, or there is no helper.
    pub(super) fn postpone(&mut self, process: ProcessId) -> bool {
        let waits = !self.helpers.is_empty() && self.postponed.len() < POSTPONED_MAX;
        if waits {
            self.postponed.push_back(process);
        }
        waits
    }

    /// A helper has room again: returns the first process that waits for that.
    pub(super) fn take_postponed(&mut self) -> Option<ProcessId> {
        self.postponed.pop_front()
    }
}

/// Adds a process to a list, once: a long download of a cold file is warmed many times.
fn remember(list: &mut Vec<ProcessId>, process: ProcessId) {
    if list.contains(&process) {
        return;
    }
    if list.len() >= REMEMBERED {
        list.remove(0);
    }
    list.push(process);
}

/// Removes a process from a list. Returns whether it was in it.
fn forget(list: &mut Vec<ProcessId>, process: ProcessId) -> bool {
    match list.iter().position(|known| *known == process) {
        Some(index) => {
            list.swap_remove(index);
            true
        }
        None => false,
    }
}
