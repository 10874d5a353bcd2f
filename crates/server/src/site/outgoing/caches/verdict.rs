//! The meaning of the head of a server's answer for the stored answers.
//!
//! Owns that the answer of the crate `cache` is noted. Never answers a client.

use std::rc::Rc;

use cache::{AnswerKey, Cache, FetchId, NotStored, Object, StorageTerms, Worth, judge};
use client::ResponseHead;
use runtime::slots::ProcessId;

use super::Caches;
use super::role::Role;
use crate::limits::CACHE_RESERVE_STEP;
use crate::site::outgoing::proxy::answer_head::length_of;

/// An answer that is asked for so that it can be stored. Plain data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) key: &'a AnswerKey,
    /// The stored answer that the server is asked about.
    pub(crate) validated: Option<&'a Object>,
}

/// The meaning of the head of an answer to a fetch.
pub(in crate::site) enum Verdict {
    /// This stored answer has not changed.
    Unchanged(Rc<Object>),
    /// A stored answer has not changed, but with its new fields it is for the client alone whose request has validated
    /// it.
    ForOne(Rc<Object>),
    /// It is about another answer than the stored one.
    Mismatch,
    /// The server fails, and this stale answer may be used instead.
    Stale(Rc<Object>),
    /// It is stored on these terms.
    Stored(Box<StorageTerms>),
    /// It is passed on.
    Unstored,
}

impl Caches {
    /// The demand of a request whose answer is perhaps stored; `None`: it is none.
    pub(in crate::site) fn wanted(&self, process: ProcessId) -> Option<Wanted<'_>> {
        let Some(Role::Leads { fetch, .. }) = self.role(process) else { return None };
        let fetched = self.fetches.get(*fetch)?;
        Some(Wanted { key: &fetched.key, validated: fetched.validated.as_deref() })
    }

    /// The stale answer that may be used because no server has answered (RFC 5861 section 4).
    pub(in crate::site) fn stale_of(
        &mut self,
        upstream: &str,
        fetch: FetchId,
    ) -> Option<Rc<Object>> {
        let now = self.now();
        let fetched = self.fetches.get(fetch)?;
        let object = Rc::clone(fetched.validated.as_ref()?);
        let key = fetched.key.clone();
        let freshness = object.freshness();
        if freshness.staleness_s(now) >= freshness.if_error_s {
            return None;
        }
        let (_, kept) = self.of(upstream)?;
        kept.cache.note_failed(&key, now);
        kept.cache.note_stale();
        Some(object)
    }

    /// The meaning of a head, which is noted.
    pub(in crate::site) fn judge_head(
        &mut self,
        upstream: &str,
        fetch: FetchId,
        head: &ResponseHead,
    ) -> Verdict {
        let now = self.now();
        if matches!(head.status, 500 | 502 | 503 | 504)
            && let Some(object) = self.stale_of(upstream, fetch)
        {
            return Verdict::Stale(object);
        }
        let Some(fetched) = self.fetches.get(fetch).cloned() else { return Verdict::Unstored };
        let Some((upstream, kept, disk)) = self.of_with_disk(upstream) else {
            // A reload has removed the cache.
            return match fetched.validated {
                Some(object) if head.status == 304 => Verdict::ForOne(object),
                _ => Verdict::Unstored,
            };
        };
        let (request, fields) = (fetched.request.fields(), head.fields.fields());
        let (key, times) = (&fetched.key, (fetched.asked, now));
        let rules = kept.cache.rules();
        let validated = fetched.validated.as_ref();
        if head.status == 304 {
            let Some(object) = validated.filter(|object| object.can_be_validated()) else {
                return Verdict::Unstored;
            };
            let Ok(fresh) = object.freshened(&fields, &request, rules, times) else {
                kept.forget(disk, key, &fetched.request);
                return Verdict::Mismatch;
            };
            let object = Rc::new(fresh.object);
            return match fresh.refused {
                None if fetched.worth == Worth::Storing => {
                    let stored = (key, Rc::clone(&object));
                    kept.store((disk, &upstream), stored, &fetched.request, now);
                    Verdict::Unchanged(object)
                }
                None => {
                    kept.forget(disk, key, &fetched.request);
                    Verdict::ForOne(object)
                }
                Some(refusal) => {
                    if refusal.is_of_uri() {
                        kept.forget(disk, key, &fetched.request);
                        kept.cache.note_unstorable(key, now);
                    }
                    Verdict::ForOne(object)
                }
            };
        }
        let answer = cache::AnswerHead { status: head.status, fields };
        let judged = judge(&answer, &request, rules, times);
        match judged {
            Ok(terms) if fetched.worth == Worth::Storing && has_room(&kept.cache, head) => {
                Verdict::Stored(Box::new(terms))
            }
            refused => {
                // The answer to a user or a cookie says nothing of the answer to others.
                if head.status < 500 && refused.is_err_and(NotStored::is_of_uri) {
                    if validated.is_some() {
                        kept.forget(disk, key, &fetched.request);
                    }
                    kept.cache.note_unstorable(key, now);
                }
                Verdict::Unstored
            }
        }
    }
}

/// Whether an answer can be received whatever its readers do. If its length is unknown, whether that can begin.
fn has_room(cache: &Cache, head: &ResponseHead) -> bool {
    let rules = cache.rules();
    let least = CACHE_RESERVE_STEP.min(rules.object);
    let length = length_of(head).map(|length| usize::try_from(length).unwrap_or(usize::MAX));
    // A body that is longer is held no further than that, and stored on the disk.
    let held = length.map(|length| if length > rules.object { least } else { length });
    cache.has_room_for(held.unwrap_or(least))
}
