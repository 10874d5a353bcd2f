//! Which runs are ended when memory is short: those that hold most.
//!
//! Owns that choice, among requests and among families of processes. Never decides that memory is
//! short: the engines report that, and how many bytes are missing.

use std::cmp::Reverse;
use std::rc::Rc;
use std::sync::Arc;

use ahash::HashMap;
use script::engine::{Fault, ScriptError, State};

use super::page::Page;
use super::process::{Key, Life, Underway, Work};
use super::runner::Runner;
use super::site_processes::Outcome;
use crate::limits::{ENDED_FOR_ROOM_MIN, PROCESSES_ENDED_AT_ONCE};

impl Runner {
    /// Ends the runs that hold the most memory, after an engine has reported that memory is short.
    pub(super) fn make_room(&mut self) {
        if let Some(missing) = self.engine.take_shortage() {
            self.end_requests(missing);
        }
        if let Some(missing) = self.process_engine.engine_mut().and_then(State::take_shortage) {
            self.missing_for_processes = missing;
        }
        if self.missing_for_processes > 0 {
            self.end_families();
        }
    }

    /// Ends requests. Each is resumed at once and answered with 503.
    fn end_requests(&mut self, missing: u64) {
        let held = |underway: &Underway| match &underway.work {
            Work::Run(run) => self.engine.held_by(run),
            Work::Ended(_) => 0,
        };
        let requests = self.underway.iter().filter(|(key, _)| key.is_of_client());
        let holders = requests.map(|(key, underway)| (held(underway), *key)).collect();
        for (held, key) in largest(holders, missing) {
            let Some(mut underway) = self.underway.remove(&key) else { continue };
            if let Work::Run(run) = underway.work {
                underway.work = Work::Ended(self.engine.end_for_room(run, held));
                self.fetches.unwant(key);
                self.listening.end(key);
            }
            self.underway.insert(key, underway);
            self.make_ready(key);
        }
    }

    /// Ends all processes of some requests. No client waits for them. One turn ends a bounded number.
    fn end_families(&mut self) {
        let lives = self.underway.values().map(|underway| &underway.life);
        let held = held_by_families(self.process_engine.engine(), lives);
        let family_of = |life: &Life| life.shares_budget_with().map(Rc::clone);
        let families =
            held.into_iter().filter_map(|(life, held)| Some((held, family_of(life)?))).collect();
        let mut chosen = HashMap::default();
        let mut count = 0;
        for (held, family) in largest(families, self.missing_for_processes) {
            if count >= PROCESSES_ENDED_AT_ONCE {
                break;
            }
            count += family.members();
            self.missing_for_processes = self.missing_for_processes.saturating_sub(held);
            chosen.insert(Rc::as_ptr(&family).addr(), Ended { held, count: 0, first: None });
        }
        if count < PROCESSES_ENDED_AT_ONCE {
            self.missing_for_processes = 0;
        }
        let address = |life: &Life| life.shares_budget_with().map(|of| Rc::as_ptr(of).addr());
        let is_chosen = |life: &Life| address(life).is_some_and(|of| chosen.contains_key(&of));
        let ended = self.underway.iter().filter(|(_, underway)| is_chosen(&underway.life));
        let keys: Vec<Key> = ended.map(|(key, _)| *key).collect();
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
            self.failures.push((page, error));
        }
    }

    fn end_process(&mut self, key: Key, underway: Underway, of: &mut Ended) {
        let Underway { work, life, .. } = underway;
        self.counters.of(life.row).add_fault(Fault::Memory);
        let page = self.end(key, life);
        let _in_how_long = self.site_processes.end(key, Outcome::Failed, self.now_ns);
        of.count += 1;
        // The log names the place of one process; the others of its family are like it.
        if let (Work::Run(run), Some(engine), None) =
            (work, self.process_engine.engine_mut(), &of.first)
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

/// What the processes of each page hold, by the request that spawned them.
pub(super) fn held_by_families<'a>(
    engine: Option<&State>,
    lives: impl Iterator<Item = &'a Life>,
) -> Vec<(&'a Life, u64)> {
    let Some(engine) = engine else { return Vec::new() };
    let mut seen = ahash::HashSet::default();
    lives
        .filter_map(|life| Some((life, life.shares_budget_with()?)))
        .filter(|(_, family)| seen.insert(Rc::as_ptr(family).addr()))
        .map(|(life, family)| (life, engine.held_by_account(family.account())))
        .collect()
}
