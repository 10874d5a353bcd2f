//! Profiles a program for a while: samples of its CPU time, its system calls, its scheduling.
//!
//! Owns how often records are fetched from the kernel, and the texts of these views.

use std::time::{Duration, Instant};

use ::profile::{
    CountUnit, SampleKind, Sampling, Scheduling, Scope, Stack, SymbolNames, Timeline, TraceEvent,
    Tracing, atomic_samples, call_remarks, call_table, clock_artefacts, nameless_code,
};

use super::Profile;
use super::program::{failure, title};
use super::standing::Standing;
use crate::Failure;
use crate::ctl::native_code;
use crate::ctl::way::Way;
use crate::profiled::Told;

/// Time between two reads of samples, and of events, of which there are many more: the ring buffers have room for that.
const LOOK: Duration = Duration::from_millis(100);
pub(super) const LOOK_AT_EVENTS: Duration = Duration::from_millis(5);

/// Time between two searches for new threads.
const SEARCH: Duration = Duration::from_secs(1);

/// Whether to search for new threads.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Search {
    Now,
    Later,
}

/// Fetches records until the time is over or the program has ended; returns the elapsed seconds.
#[expect(
    clippy::disallowed_methods,
    reason = "how long is looked is measured by a clock of its own"
)]
pub(super) fn for_a_while(
    time: Duration,
    look: Duration,
    standing: &mut Standing,
    mut fetch: impl FnMut(Search) -> std::io::Result<()>,
) -> f64 {
    let begun = Instant::now();
    let (mut searched, mut looked) = (begun, begun);
    while begun.elapsed() < time {
        std::thread::sleep(look.min(time.saturating_sub(begun.elapsed())));
        let search = if searched.elapsed() >= SEARCH { Search::Now } else { Search::Later };
        if search == Search::Now {
            searched = Instant::now();
        }
        // A program that has ended has been profiled completely.
        if fetch(search).is_err() {
            break;
        }
        if looked.elapsed() >= standing.pause() {
            standing.look();
            looked = Instant::now();
        }
    }
    begun.elapsed().as_secs_f64()
}

pub(super) fn sampled(scope: Scope, asked: &Profile) -> Result<Told, Failure> {
    let begun = Sampling::begin(scope, asked.hertz, SampleKind::CpuTime);
    let mut sampling = begun.map_err(|error| failure(scope, &error))?;
    let mut standing = Standing::begin(scope);
    // The room for samples is that of thirty at least.
    let look = LOOK.min(Duration::from_secs(16) / u32::try_from(asked.hertz).unwrap_or(u32::MAX));
    let seconds = for_a_while(asked.duration, look, &mut standing, |search| {
        sampling.drain();
        if search == Search::Now { sampling.find_threads() } else { Ok(()) }
    });
    let is_clock = sampling.is_clock();
    let (mut taken, stood) = (sampling.end(), standing.end());
    let stacks = taken.stacks.keys().chain(stood.stacks());
    let seen = &taken.processes;
    let mut names =
        SymbolNames::find_of(stacks.clone(), &asked.debug_files, seen, &mut taken.remarks);
    name_pages(&mut names, stacks, asked, &mut taken.remarks);
    let folded = names.fold(taken.stacks.iter().map(|(stack, seen)| (stack, seen.count)));
    note_lost(taken.lost, &mut taken.remarks);
    taken.remarks.extend(stood.remarks(&names));
    if is_clock {
        taken.remarks.extend(clock_artefacts(&folded));
    }
    taken.remarks.extend(nameless_code(&folded));
    taken.remarks.extend(atomic_samples(taken.stacks.iter(), &names));
    if folded.total() == 0.0 {
        taken.remarks.push("no samples: the program was idle".to_owned());
    }
    if !taken.is_timed() {
        taken.remarks.push("the timeline ends early: there are too many samples".to_owned());
    }
    let title = title(scope, seconds, &format!(" at {} Hz", asked.hertz));
    let timeline = Some(Timeline::of(&taken, &names));
    let told = Told::of(folded, CountUnit::Samples, title);
    Ok(Told { remarks: taken.remarks, timeline, ..told })
}

/// Names the native code of pages in these stacks, as the server tells it: at the end, because it compiles code while
/// it runs.
pub(super) fn name_pages<'s>(
    names: &mut SymbolNames,
    stacks: impl Iterator<Item = &'s Stack>,
    asked: &Profile,
    remarks: &mut Vec<String>,
) {
    let Some(socket) = &asked.pages else { return };
    match native_code(&Way::Socket(socket.clone())) {
        Ok(map) => {
            names.add_map(&map, stacks);
            remarks.push(format!("pages have {} pieces of native code", map.lines().count()));
        }
        // The samples are useful without it.
        Err(Failure::Failed(why) | Failure::WrongUse(why)) => {
            remarks.push(format!("without the lines of pages: {why}"));
        }
        Err(_) => {}
    }
}

pub(super) fn note_lost(lost: u64, remarks: &mut Vec<String>) {
    if lost > 0 {
        remarks.push(format!("{lost} records were lost: the figures are too low"));
    }
}

pub(super) fn calls(scope: Scope, asked: &Profile) -> Result<Told, Failure> {
    let begun = Tracing::begin(scope, TraceEvent::Calls);
    let mut tracing = begun.map_err(|error| failure(scope, &error))?;
    let mut standing = Standing::begin(scope);
    let seconds = for_a_while(asked.duration, LOOK_AT_EVENTS, &mut standing, |search| {
        tracing.drain();
        if search == Search::Now { tracing.find_threads() } else { Ok(()) }
    });
    let pairs = tracing.end();
    let mut remarks = Vec::new();
    note_lost(pairs.lost, &mut remarks);
    remarks.extend(call_remarks(&pairs, seconds));
    note_states(standing, asked, &mut remarks);
    let table = call_table(&pairs, seconds, asked.requests, asked.outputs.rows());
    Ok(Told { remarks, ..Told::of_table(title(scope, seconds, ", system calls"), table) })
}

pub(super) fn scheduling(scope: Scope, asked: &Profile) -> Result<Told, Failure> {
    let failed = |error: std::io::Error| failure(scope, &error);
    let before = Scheduling::look(scope).map_err(failed)?;
    let mut standing = Standing::begin(scope);
    let seconds = for_a_while(asked.duration, LOOK, &mut standing, |_| Ok(()));
    let after = Scheduling::look(scope).map_err(failed)?;
    let mut remarks = Vec::new();
    note_states(standing, asked, &mut remarks);
    let table = after.table_since(&before, seconds, asked.outputs.rows());
    Ok(Told { remarks, ..Told::of_table(title(scope, seconds, ", scheduling"), table) })
}

/// Says what the threads' states were, for views that have no stacks of their own.
pub(super) fn note_states(standing: Standing, asked: &Profile, remarks: &mut Vec<String>) {
    let stood = standing.end();
    // Names that the kernel hides are of no use to these views.
    let names = SymbolNames::find(stood.stacks(), &asked.debug_files, &mut Vec::new());
    remarks.extend(stood.remarks(&names));
}
