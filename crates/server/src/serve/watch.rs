//! The watchdog for schedulers: it reports turns that do not end, and the page that runs in them.
//!
//! Owns how long a turn may take before it is reported, and the native back-trace of its thread. Ends nothing: the
//! engine ends the page when it can be interrupted.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use profile::names_in_this_process;
use runtime::clock::nanoseconds;
use runtime::diagnostic::{self, Level};
use runtime::pulse::Pulse;
use sys::backtrace;
use sys::clock::monotonic_ns;

use crate::events::{Kind, Trouble};
use crate::limits::{TURN_LOOK, TURN_MAX, TURN_TRACED};
use pages::{AtWork, PageSet};

/// All schedulers.
pub(super) struct Watch {
    schedulers: Vec<Scheduler>,
    looked_ns: u64,
}

struct Scheduler {
    pulse: Arc<Pulse>,
    at_work: Arc<AtWork>,
    told: Option<Told>,
    /// The turn that was traced last.
    traced: Option<NonZeroU64>,
}

/// The log's entry about a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Told {
    /// When the turn began.
    began_ns: NonZeroU64,
    /// When it is reported again.
    again_ns: u64,
}

impl Watch {
    pub(super) fn new(pulses: &[Arc<Pulse>], at_work: &[Arc<AtWork>]) -> Self {
        let schedulers = pulses.iter().zip(at_work).map(|(pulse, at_work)| Scheduler {
            pulse: Arc::clone(pulse),
            at_work: Arc::clone(at_work),
            told: None,
            traced: None,
        });
        Self { schedulers: schedulers.collect(), looked_ns: monotonic_ns() }
    }

    /// Checks all schedulers, every [`TURN_LOOK`]. Returns those whose turn has lasted long, with what their threads
    /// do.
    pub(super) fn look(&mut self, sets: &[Arc<PageSet>]) -> Vec<Trouble> {
        let now_ns = monotonic_ns();
        let missed = now_ns.saturating_sub(self.looked_ns) > nanoseconds(2 * TURN_LOOK);
        self.looked_ns = now_ns;
        if missed {
            // The whole server was stopped (by a signal, or without a core), so no scheduler is at fault.
            return Vec::new();
        }
        let mut found = Vec::new();
        for (number, scheduler) in self.schedulers.iter_mut().enumerate() {
            let began_ns = scheduler.pulse.turn_began_ns();
            if let Some(lasts_ms) = scheduler.lasts_anew_ms(began_ns, now_ns) {
                found.push(scheduler.trouble(number, lasts_ms, sets));
            }
            let (told, news) = judge(scheduler.told, began_ns, now_ns);
            scheduler.told = told;
            match news {
                News::None => {}
                News::Lasts(lasts) => {
                    let work = work_of(&scheduler.at_work, sets);
                    diagnostic::write(
                        Level::Error,
                        format_args!(
                            "scheduler {number} has not finished a turn for {lasts} s and answers no \
                             requests: {work}"
                        ),
                    );
                }
                News::GoesOn => diagnostic::write(
                    Level::Info,
                    format_args!("scheduler {number} has finished that turn and continues"),
                ),
            }
        }
        found
    }

    /// The schedulers whose turn lasts too long, and what they are running.
    pub(super) fn stuck(&self, sets: &[Arc<PageSet>]) -> Vec<String> {
        let now_ns = monotonic_ns();
        let lasts = |scheduler: &Scheduler| {
            let began_ns = scheduler.pulse.turn_began_ns();
            began_ns.is_some_and(|ns| now_ns.saturating_sub(ns.get()) >= nanoseconds(TURN_MAX))
        };
        let stuck = self.schedulers.iter().enumerate().filter(|(_, scheduler)| lasts(scheduler));
        stuck
            .map(|(number, one)| format!("scheduler {number}: {}", work_of(&one.at_work, sets)))
            .collect()
    }
}

impl Scheduler {
    /// For how long its turn has lasted, if that is long and this turn was not traced yet.
    fn lasts_anew_ms(&mut self, began_ns: Option<NonZeroU64>, now_ns: u64) -> Option<u64> {
        let lasts_ns = now_ns.saturating_sub(began_ns?.get());
        let is_anew = lasts_ns >= nanoseconds(TURN_TRACED) && self.traced != began_ns;
        is_anew.then(|| {
            self.traced = began_ns;
            lasts_ns / 1_000_000
        })
    }

    /// The trouble, with what it does now.
    fn trouble(&self, number: usize, lasts_ms: u64, sets: &[Arc<PageSet>]) -> Trouble {
        let work = work_of(&self.at_work, sets);
        let text = format!("it has not finished a turn for {lasts_ms} ms: {work}");
        let trace = self.pulse.thread().and_then(backtrace::of).unwrap_or_default();
        let mut cause = lines_of(&trace.calls);
        if cause.is_empty() {
            cause.push("its thread waits in the kernel, so it has no back-trace".to_owned());
        }
        let perhaps = lines_of(&trace.perhaps);
        cause.extend(perhaps.iter().map(|line| format!("perhaps {line}")));
        Trouble::new(Kind::Stuck, "", text).at(number).because(cause)
    }
}

/// The lines of a back-trace: the place of each address, and its function.
fn lines_of(addresses: &[u64]) -> Vec<String> {
    let named = names_in_this_process(addresses);
    let line = |(place, address): (usize, &u64)| {
        let name = named.get(place).and_then(Option::as_deref).unwrap_or_default();
        format!("{} {name}", backtrace::place_of(*address)).trim_end().to_owned()
    };
    addresses.iter().enumerate().map(line).collect()
}

/// The next line about a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    None,
    /// Its turn has lasted this many seconds.
    Lasts(u64),
    /// The reported turn has ended.
    GoesOn,
}

/// Decides what to report about a scheduler, from the start of its turn and the last report. A turn that continues is
/// reported again each time its duration has doubled.
fn judge(told: Option<Told>, began_ns: Option<NonZeroU64>, now_ns: u64) -> (Option<Told>, News) {
    let told_of_this = told.filter(|told| Some(told.began_ns) == began_ns);
    let Some(began_ns) = began_ns else {
        return (None, if told.is_some() { News::GoesOn } else { News::None });
    };
    let lasts_ns = now_ns.saturating_sub(began_ns.get());
    let due_ns = told_of_this
        .map_or_else(|| began_ns.get().saturating_add(nanoseconds(TURN_MAX)), |told| told.again_ns);
    if now_ns >= due_ns {
        let again_ns = now_ns.saturating_add(lasts_ns);
        let lasts = Duration::from_nanos(lasts_ns).as_secs();
        return (Some(Told { began_ns, again_ns }), News::Lasts(lasts));
    }
    match (told_of_this, told) {
        (None, Some(_)) => (None, News::GoesOn),
        (told_of_this, _) => (told_of_this, News::None),
    }
}

/// The work of a scheduler now, in words.
fn work_of(at_work: &AtWork, sets: &[Arc<PageSet>]) -> String {
    let mut pages = sets.iter().flat_map(|set| &set.pages);
    match pages.find(|page| at_work.is(page)) {
        Some(page) => format!(
            "it runs the page {}, which will be ended, with its line in the log, as soon as it can be \
             interrupted",
            page.name.file
        ),
        None if at_work.is_any() => "it runs a page that was replaced since".to_owned(),
        None => "it runs no page".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn at(ns: u64) -> Option<NonZeroU64> {
        NonZeroU64::new(ns)
    }

    #[test]
    fn a_turn_that_lasts_is_told_of_at_growing_distances_and_its_end_once() {
        let most = nanoseconds(TURN_MAX);
        let (told, news) = judge(None, at(S), S + most - 1);
        assert_eq!((told, news), (None, News::None));
        let (told, news) = judge(told, at(S), S + most);
        assert_eq!(news, News::Lasts(most / S));
        let (told, news) = judge(told, at(S), S + 2 * most - 1);
        assert_eq!(news, News::None, "it was told of");
        let (told, news) = judge(told, at(S), S + 2 * most);
        assert_eq!(news, News::Lasts(2 * most / S));
        for next_ns in [0, 3 * most] {
            let (told, news) = judge(told, at(next_ns), 3 * most + S);
            assert_eq!((told, news), (None, News::GoesOn));
            assert_eq!(judge(told, at(next_ns), 3 * most + S).1, News::None);
        }
    }

    #[test]
    fn a_turn_that_follows_one_that_was_told_of_is_told_of_when_it_lasts() {
        let most = nanoseconds(TURN_MAX);
        let (told, _) = judge(None, at(S), S + most);
        let (_, news) = judge(told, at(S + most + 1), S + 3 * most);
        assert_eq!(news, News::Lasts(2 * most / S - 1), "rounded down");
    }

    #[test]
    fn a_scheduler_that_waits_has_nothing_to_tell() {
        assert_eq!(judge(None, None, u64::MAX), (None, News::None));
    }
}
