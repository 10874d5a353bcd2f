//! Background processes, which run without a request.
//!
//! Owns which of them run on this scheduler, and when one starts or restarts. Never starts one: it says which are due.

use std::time::Duration;

use runtime::clock::nanoseconds;

use crate::id::RunKey;
use crate::limits::{PROCESS_CALENDAR_LOOK, PROCESS_RESTART, PROCESS_RESTART_MAX, PROCESS_STEADY};
use crate::schedule::{Due, ProcessPlace, ProcessPlan};

/// The background processes of one scheduler.
#[derive(Default)]
pub struct BackgroundProcesses {
    entries: Vec<Entry>,
}

struct Entry {
    plan: ProcessPlan,
    standing: Standing,
    /// Whether the cluster lets it run here.
    permit: Permit,
    /// When it starts next, unless it has ended for good.
    due: Option<Due>,
    /// How often in a row it failed soon after it started.
    failures: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It runs on another scheduler, or it is not known yet where.
    Elsewhere,
    /// It is not running.
    Waits,
    /// It is running.
    Runs { key: RunKey, since_ns: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Permit {
    Granted,
    /// Another server of the cluster runs it, or none yet.
    Withheld,
}

/// How a background process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    /// Its function returned.
    Returned,
    /// It failed, or was ended.
    Failed,
}

impl BackgroundProcesses {
    /// A reload has new plans. Unchanged processes continue; returns the keys of the other running ones, which must be
    /// ended.
    pub fn replace(&mut self, plans: &[ProcessPlan]) -> Vec<RunKey> {
        let mut before = std::mem::take(&mut self.entries);
        for plan in plans {
            let same = before.iter().position(|entry| entry.plan == *plan);
            self.entries.push(match same {
                Some(index) => before.swap_remove(index),
                None => Entry {
                    plan: plan.clone(),
                    standing: Standing::Elsewhere,
                    permit: match plan.place() {
                        ProcessPlace::Server => Permit::Granted,
                        ProcessPlace::Cluster => Permit::Withheld,
                    },
                    due: None,
                    failures: 0,
                },
            });
        }
        before.iter().filter_map(Entry::key).collect()
    }

    /// Processes that run as long as the server start again, with the current modules. Returns the keys of the running
    /// ones, which must be ended.
    pub fn renew(&mut self) -> Vec<RunKey> {
        let mut ended = Vec::new();
        for entry in &mut self.entries {
            if entry.plan.schedule().is_endless() && entry.standing != Standing::Elsewhere {
                ended.extend(entry.key());
                entry.standing = Standing::Waits;
                entry.due = Some(Due::At(0));
                entry.failures = 0;
            }
        }
        ended
    }

    /// The modules of processes of this scheduler that run on one server of a cluster at a time.
    pub fn leases(&self) -> impl Iterator<Item = &str> {
        let here = self.entries.iter().filter(|entry| entry.standing != Standing::Elsewhere);
        here.filter(|entry| entry.plan.place() == ProcessPlace::Cluster)
            .map(|entry| entry.plan.module())
    }

    /// Which of these leases this server holds now. Returns the keys of running processes whose lease it has lost,
    /// which must be ended.
    pub fn hear_leases(&mut self, is_held: impl Fn(&str) -> bool, now_ns: u64) -> Vec<RunKey> {
        let leased = |entry: &&mut Entry| {
            entry.plan.place() == ProcessPlace::Cluster && entry.standing != Standing::Elsewhere
        };
        let mut ended = Vec::new();
        for entry in self.entries.iter_mut().filter(leased) {
            match (is_held(entry.plan.module()), entry.permit) {
                (true, Permit::Withheld) => entry.grant(now_ns),
                (false, Permit::Granted) => ended.extend(entry.withhold()),
                _ => {}
            }
        }
        ended
    }

    /// The numbers of the processes that start now. A process belongs to this scheduler if its module does.
    pub fn take_due(
        &mut self,
        now_ns: u64,
        unix_seconds: u64,
        is_here: impl Fn(&str) -> bool,
    ) -> Vec<usize> {
        let entries = self.entries.iter_mut().enumerate();
        let due = entries.filter_map(|(number, entry)| {
            if entry.standing == Standing::Elsewhere && entry.due.is_none() {
                entry.due = Some(entry.plan.schedule().first(now_ns, unix_seconds));
                if is_here(entry.plan.module()) {
                    entry.standing = Standing::Waits;
                }
            }
            entry.is_due(now_ns, unix_seconds).then_some(number)
        });
        due.collect()
    }

    /// The module that a process runs.
    ///
    /// # Panics
    /// If the number is not one that [`Self::take_due`] has returned since the last [`Self::replace`].
    pub fn module(&self, number: usize) -> &str {
        self.entries[number].plan.module()
    }

    /// A process has started.
    ///
    /// # Panics
    /// As [`Self::module`].
    pub fn note_begun(&mut self, number: usize, key: RunKey, now_ns: u64) {
        self.entries[number].standing = Standing::Runs { key, since_ns: now_ns };
    }

    /// There was no room for a process. Returns how long until it starts.
    ///
    /// # Panics
    /// As [`Self::module`].
    pub fn put_off(&mut self, number: usize, now_ns: u64) -> Duration {
        self.entries[number].put_off(now_ns)
    }

    /// When something is due next.
    pub fn look_ns(&self, now_ns: u64, unix_seconds: u64) -> Option<u64> {
        let here = self.entries.iter().filter(|entry| entry.standing != Standing::Elsewhere);
        let look = |due: Due| due.look_ns(now_ns, unix_seconds, PROCESS_CALENDAR_LOOK);
        here.filter_map(|entry| entry.due.map(look)).min()
    }

    /// A process has ended. Returns how long until it starts again, if it is one of these, failed, and should continue.
    pub fn end(&mut self, ended: RunKey, end: ProcessEnd, now_ns: u64) -> Option<Duration> {
        let entry = self.entries.iter_mut().find(|entry| entry.key() == Some(ended))?;
        entry.end(end, now_ns)
    }
}

impl Entry {
    fn key(&self) -> Option<RunKey> {
        match self.standing {
            Standing::Runs { key, .. } => Some(key),
            Standing::Elsewhere | Standing::Waits => None,
        }
    }

    /// One that runs as long as the server starts here now.
    fn grant(&mut self, now_ns: u64) {
        self.permit = Permit::Granted;
        self.failures = 0;
        if self.plan.schedule().is_endless() {
            self.due = Some(Due::At(now_ns));
        }
    }

    fn withhold(&mut self) -> Option<RunKey> {
        let key = self.key();
        self.permit = Permit::Withheld;
        self.standing = Standing::Waits;
        key
    }

    /// Whether it starts now. Then its next start is set. If its time comes while it still runs, that start is skipped.
    fn is_due(&mut self, now_ns: u64, unix_seconds: u64) -> bool {
        let due = self.due.filter(|due| due.has_come(now_ns, unix_seconds));
        let Some(due) = due.filter(|_| self.standing != Standing::Elsewhere) else { return false };
        self.due = self.plan.schedule().next(due, now_ns, unix_seconds);
        self.standing == Standing::Waits && self.permit == Permit::Granted
    }

    fn end(&mut self, end: ProcessEnd, now_ns: u64) -> Option<Duration> {
        let Standing::Runs { since_ns, .. } = self.standing else { return None };
        self.standing = Standing::Waits;
        if !self.plan.schedule().is_endless() || end == ProcessEnd::Returned {
            return None;
        }
        if now_ns.saturating_sub(since_ns) >= nanoseconds(PROCESS_STEADY) {
            self.failures = 0;
        }
        Some(self.put_off(now_ns))
    }

    /// Delays its start, longer the more often it has failed.
    fn put_off(&mut self, now_ns: u64) -> Duration {
        let rest = PROCESS_RESTART.saturating_mul(1 << self.failures.min(16));
        let rest = rest.min(PROCESS_RESTART_MAX);
        self.failures += 1;
        self.due = Some(Due::At(now_ns.saturating_add(nanoseconds(rest))));
        rest
    }
}
