//! Which runs are ended when memory is short: those that hold most.
//!
//! Owns that choice, among requests and among families of processes. Never decides that memory is
//! short: the engines report that, and how many bytes are missing.

use std::cmp::Reverse;
use std::rc::Rc;
use std::sync::Arc;

use actors::{ProcessEnd, RunKey};
use ahash::HashMap;
use script::engine::{Fault, ScriptError};

use super::Runner;
use crate::limits::{ENDED_FOR_ROOM_MIN, PROCESSES_ENDED_AT_ONCE};
use crate::page::Page;
use crate::process::{Life, Underway, Work};

impl Runner {
    /// Ends the runs that hold the most memory, after an engine has reported that memory is short.
    pub(super) fn make_room(&mut self) {
        if let Some(missing) = self.engines.take_shortage() {
            self.end_requests(missing);
        }
        let missing = self.engines.missing_for_processes();
        if missing > 0 {
            self.end_families(missing);
        }
    }

    /// Ends requests. Each is resumed at once and answered with 503.
    fn end_requests(&mut self, missing: u64) {
        let requests = self.underway.iter().filter(|(key, _)| key.is_of_client());
        let holders =
            requests.map(|(key, underway)| (self.engines.held_by(underway), *key)).collect();
        for (held, key) in largest(holders, missing) {
            let Some(mut underway) = self.underway.remove(&key) else { continue };
            if let Work::Run(run) = underway.work {
                underway.work = Work::Ended(self.engines.requests().end_for_room(run, held));
                self.fetches.unwant(key);
                self.listening.end(key);
            }
            self.underway.insert(key, underway);
            self.make_ready(key);
        }
    }

    /// Ends all processes of some requests. No client waits for them. One turn ends a bounded number.
    fn end_families(&mut self, missing: u64) {
        let lives = self.underway.values().map(|underway| &underway.life);
        let families = self.engines.held_by_families(lives).into_iter();
        let families = families
            .filter_map(|(life, held)| Some((held, Rc::clone(life.shares_budget_with()?))))
            .collect();
        let mut chosen = HashMap::default();
        let mut count = 0;
        for (held, family) in largest(families, missing) {
            if count >= PROCESSES_ENDED_AT_ONCE {
                break;
            }
            count += family.members();
            self.engines.note_freed(Some(held));
            chosen.insert(Rc::as_ptr(&family).addr(), Ended { held, count: 0, first: None });
        }
        if count < PROCESSES_ENDED_AT_ONCE {
            self.engines.note_freed(None);
        }
        let address = |life: &Life| life.shares_budget_with().map(|of| Rc::as_ptr(of).addr());
        let is_chosen = |life: &Life| address(life).is_some_and(|of| chosen.contains_key(&of));
        let ended = self.underway.iter().filter(|(_, underway)| is_chosen(&underway.life));
        let keys: Vec<RunKey> = ended.map(|(key, _)| *key).collect();
        for key in keys {
            let Some(underway) = self.underway.remove(&key) else { continue };
            let of = address(&underway.life).and_then(|of| chosen.get_mut(&of));
            if let Some(of) = of {
                self.end_process(key, *underway, of);
            }
        }
        for Ended { count, first, .. } in chosen.into_values() {
            let Some((page, mut error)) = first else { continue };
            if count > 1 {
                error.message = format!("{count} processes of one request {}", error.message);
            }
            self.log.fail(page, error);
        }
    }

    fn end_process(&mut self, key: RunKey, underway: Underway, of: &mut Ended) {
        let Underway { work, life, .. } = underway;
        self.counters.of(life.row).add_fault(Fault::Memory);
        let page = self.end(key, life);
        let _in_how_long = self.background.end(key, ProcessEnd::Failed, self.turn.now_ns());
        of.count += 1;
        // The log names the place of one process; the others of its family are like it.
        if let (Work::Run(run), Some(engine), None) =
            (work, self.engines.processes().engine_mut(), &of.first)
        {
            of.first = Some((page, engine.end_for_room(run, of.held)));
        }
    }
}

/// Processes of one request that are ended.
struct Ended {
    held: u64,
    count: usize,
    /// The page and the place of the first one.
    first: Option<(Arc<Page>, Box<ScriptError>)>,
}

/// The largest holders of memory that together hold the missing amount. A holder of next to nothing is never chosen.
fn largest<T>(mut holders: Vec<(u64, T)>, missing: u64) -> Vec<(u64, T)> {
    holders.sort_by_key(|(held, _)| Reverse(*held));
    let mut found = 0_u64;
    let is_needed = |(held, _): &(u64, T)| {
        let is_needed = found < missing && *held >= ENDED_FOR_ROOM_MIN;
        found = found.saturating_add(*held);
        is_needed
    };
    holders.into_iter().take_while(is_needed).collect()
}
