//! Background processes, which run without a request.
//!
//! Owns which of them run on this scheduler, and when one starts or restarts. Never starts one:
//! `site_begins` does.

use std::time::Duration;

use runtime::clock::nanoseconds;

use super::process::Key;
use super::schedule::{Begin, Due, ProcessPlan};
use crate::limits::{PROCESS_CALENDAR_LOOK, PROCESS_RESTART, PROCESS_RESTART_MAX, PROCESS_STEADY};

/// The processes of a site on one scheduler.
#[derive(Default)]
pub(super) struct SiteProcesses {
    pub(super) entries: Vec<Entry>,
}

pub(super) struct Entry {
    pub(super) plan: ProcessPlan,
    pub(super) standing: Standing,
    /// When it starts next, unless it has ended for good.
    pub(super) due: Option<Due>,
    /// How often in a row it failed soon after it started.
    failures: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It runs on another scheduler, or it is not known yet where.
    Elsewhere,
    /// It is not running.
    Waits,
    /// It is running.
    Runs { key: Key, since_ns: u64 },
}

/// How a process of the site ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Its function returned.
    Returned,
    /// It failed, or was ended.
    Failed,
}

impl SiteProcesses {
    /// A reload has new plans. Unchanged processes continue; returns the keys of the other running ones, which must be
    /// ended.
    pub(super) fn replace(&mut self, plans: &[ProcessPlan]) -> Vec<Key> {
        let mut before = std::mem::take(&mut self.entries);
        for plan in plans {
            let same = before.iter().position(|entry| entry.plan == *plan);
            self.entries.push(match same {
                Some(index) => before.swap_remove(index),
                None => Entry {
                    plan: plan.clone(),
                    standing: Standing::Elsewhere,
                    due: None,
                    failures: 0,
                },
            });
        }
        before.iter().filter_map(Entry::key).collect()
    }

    /// Processes that run as long as the server start again, with the current modules. Returns the keys of the running
    /// ones, which must be ended.
    pub(super) fn renew(&mut self) -> Vec<Key> {
        let mut ended = Vec::new();
        for entry in &mut self.entries {
            if entry.plan.begins == Begin::AtStart && entry.standing != Standing::Elsewhere {
                ended.extend(entry.key());
                entry.standing = Standing::Waits;
                entry.due = Some(Due::At(0));
                entry.failures = 0;
            }
        }
        ended
    }

    /// When something is due next.
    pub(super) fn look_ns(&self, now_ns: u64, unix_seconds: u64) -> Option<u64> {
        let here = self.entries.iter().filter(|entry| entry.standing != Standing::Elsewhere);
        let look = |due: Due| due.look_ns(now_ns, unix_seconds, PROCESS_CALENDAR_LOOK);
        here.filter_map(|entry| entry.due.map(look)).min()
    }

    /// A process has ended. Returns how long until it starts again, if it belongs to the site, failed, and should
    /// continue.
    pub(super) fn end(&mut self, ended: Key, outcome: Outcome, now_ns: u64) -> Option<Duration> {
        let entry = self.entries.iter_mut().find(|entry| entry.key() == Some(ended))?;
        entry.end(outcome, now_ns)
    }
}

impl Entry {
    fn key(&self) -> Option<Key> {
        match self.standing {
            Standing::Runs { key, .. } => Some(key),
            Standing::Elsewhere | Standing::Waits => None,
        }
    }

    fn end(&mut self, outcome: Outcome, now_ns: u64) -> Option<Duration> {
        let Standing::Runs { since_ns, .. } = self.standing else { return None };
        self.standing = Standing::Waits;
        if self.plan.begins != Begin::AtStart || outcome == Outcome::Returned {
            return None;
        }
        if now_ns.saturating_sub(since_ns) >= nanoseconds(PROCESS_STEADY) {
            self.failures = 0;
        }
        Some(self.put_off(now_ns))
    }

    /// Delays its start, longer the more often it has failed.
    pub(super) fn put_off(&mut self, now_ns: u64) -> Duration {
        let rest = PROCESS_RESTART.saturating_mul(1 << self.failures.min(16));
        let rest = rest.min(PROCESS_RESTART_MAX);
        self.failures += 1;
        self.due = Some(Due::At(now_ns.saturating_add(nanoseconds(rest))));
        rest
    }
}

/// The text added to an error after which a process starts again.
pub(super) fn again(rest: Duration) -> String {
    format!("; it begins again in {} s", rest.as_secs())
}
