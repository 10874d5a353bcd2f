//! Requests that look for a stored answer, and wait for the fetch of another one.
//!
//! Owns how long they wait, and what they do when a fetch is over. Never answers.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use cache::{
    AnswerKey, CacheLookup, CacheQuery, FetchId, ForwardReason, Join, KeyParts, Object, Sharing,
};
use config::CacheReport;
use http::{FieldList, Fields};
use runtime::slots::ProcessId;

use super::Caches;
use super::role::{Opening, Role};

impl Caches {
    /// The name of an upstream that has a cache, and what its keys are made of.
    pub(in crate::site) fn keyed(&self, upstream: &str) -> Option<(Rc<str>, KeyParts)> {
        let (name, kept) = self.by_upstream.get_key_value(upstream)?;
        Some((Rc::clone(name), kept.cache.rules().key))
    }

    /// The part of the cache of an upstream that clients are told.
    pub(in crate::site) fn report_of(&self, upstream: &str) -> CacheReport {
        self.by_upstream.get(upstream).map_or(CacheReport::Off, |kept| kept.report)
    }

    /// Where the cache of an upstream stores answers on a disk.
    pub(in crate::site) fn directory_of(&self, upstream: &str) -> Option<&Arc<Path>> {
        self.by_upstream.get(upstream)?.directory.as_ref()
    }

    /// Looks for a stored answer.
    pub(in crate::site) fn look(
        &mut self,
        upstream: &str,
        key: &AnswerKey,
        fields: &Fields<'_, '_>,
    ) -> Option<(CacheLookup, CacheReport)> {
        let kept = self.by_upstream.get_mut(upstream)?;
        Some((kept.cache.look(&CacheQuery { key, fields, now: self.now }), kept.report))
    }

    /// The file with the body of a stored answer has gone.
    pub(in crate::site) fn forget_gone(&mut self, gone: &Opening, fields: &Fields<'_, '_>) {
        let Some(kept) = self.by_upstream.get_mut(&gone.upstream) else { return };
        kept.cache.forget(&gone.key, fields);
        if gone.told.is_hit() {
            kept.cache.discount_hit();
        }
    }

    /// The cache has no part in a request, although its route has one.
    pub(in crate::site) fn pass(&mut self, process: ProcessId, upstream: Rc<str>) {
        if let Some(kept) = self.by_upstream.get_mut(&upstream) {
            kept.cache.note_pass();
        }
        self.set_role(process, Role::Passes { upstream, why: ForwardReason::Bypass });
    }

    /// A request got an answer that was stored while it waited for that.
    pub(in crate::site) fn note_collapsed(&mut self, upstream: &str) {
        if let Some(kept) = self.by_upstream.get_mut(upstream) {
            kept.cache.note_collapsed();
        }
    }

    /// Whether a stored answer may be validated behind its use: the server does not stop, and nobody asks for it.
    pub(in crate::site) fn may_validate(&self, key: &AnswerKey) -> bool {
        !self.is_draining() && !self.fetches.has(key)
    }

    /// Joins a request to a fetch of the same, if there is one. Returns the step that it takes.
    pub(in crate::site) fn join(
        &mut self,
        upstream: &str,
        key: &AnswerKey,
        fields: &Fields<'_, '_>,
        process: ProcessId,
    ) -> Option<Join> {
        let directives = self.by_upstream.get(upstream)?.cache.rules().directives;
        let query = CacheQuery { key, fields, now: self.now };
        Some(self.fetches.join(&query, directives, process))
    }

    /// A server is asked.
    pub(in crate::site) fn begin_fetch(
        &mut self,
        key: AnswerKey,
        request: FieldList,
        validated: Option<Rc<Object>>,
        sharing: Sharing,
    ) -> FetchId {
        self.fetches.begin(key, request, validated, (sharing, self.now))
    }

    /// The server is asked again without conditions.
    pub(in crate::site) fn repeat_fetch(&mut self, fetch: FetchId) {
        self.fetches.forget_validated(fetch);
    }

    pub(in crate::site) fn key_of(&self, fetch: FetchId) -> Option<&AnswerKey> {
        self.fetches.get(fetch).map(|fetched| &fetched.key)
    }

    /// A fetch is over: those that wait for it look again. Returns its key.
    pub(in crate::site) fn end_fetch(&mut self, fetch: FetchId) -> Option<AnswerKey> {
        let fetched = self.fetches.end(fetch)?;
        self.call(fetched.waiters);
        Some(fetched.key)
    }

    /// A fetch is over: those that wait for it go to a server each by itself. Returns its key.
    pub(in crate::site) fn release_fetch(&mut self, fetch: FetchId) -> Option<AnswerKey> {
        let fetched = self.fetches.end(fetch)?;
        for process in fetched.waiters {
            if let Some(Role::Waits { upstream, .. }) = self.roles.get(&process) {
                let (upstream, why) = (Rc::clone(upstream), ForwardReason::UriMiss);
                self.roles.insert(process, Role::Passes { upstream, why });
            }
            self.called.push(process);
        }
        Some(fetched.key)
    }

    /// A request waits for a fetch. `waited`: since when and until when, if it has waited before.
    pub(in crate::site) fn wait_for(
        &mut self,
        process: ProcessId,
        (upstream, fetch): (Rc<str>, FetchId),
        waited: Option<(u64, u64)>,
        now_ns: u64,
    ) {
        let wait_ns = self.by_upstream.get(&upstream).map_or(0, |kept| kept.wait_ns);
        let begin = (self.now.ms, now_ns.saturating_add(wait_ns));
        let (since_ms, due_ns) = waited.unwrap_or(begin);
        let role = Role::Waits { upstream, fetch, since_ms, due_ns };
        match waited {
            Some(_) => self.set_role(process, role),
            None => self.wait(process, role),
        }
    }

    /// A request waits for a fetch or a disk from now on.
    pub(super) fn wait(&mut self, process: ProcessId, role: Role) {
        if let Role::Waits { upstream, due_ns, .. } | Role::Seeks { upstream, due_ns, .. } = &role
            && let Some(kept) = self.by_upstream.get_mut(upstream)
        {
            kept.line.push_back((*due_ns, process));
        }
        self.set_role(process, role);
    }

    /// A request does not wait any longer: since when and until when it has waited for another one, and whether the
    /// disk was looked at for it.
    pub(in crate::site) fn resume(&mut self, process: ProcessId) -> (Option<(u64, u64)>, bool) {
        match self.take_role(process) {
            Some(Role::Waits { fetch, since_ms, due_ns, .. }) => {
                self.fetches.leave(fetch, process);
                (Some((since_ms, due_ns)), true)
            }
            Some(Role::Seeks { look, .. }) => {
                self.disk.leave(look, process);
                (None, false)
            }
            Some(Role::Sought) => (None, true),
            _ => (None, false),
        }
    }

    /// Requests have to be asked again.
    pub(super) fn call(&mut self, processes: impl IntoIterator<Item = ProcessId>) {
        self.called.extend(processes);
    }
}
