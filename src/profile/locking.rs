//! Locks of a program: how often each was taken, how often that had to wait, and how long.
//!
//! Owns which events are requested from the kernel for that, in which order, and the texts for
//! refusals. The crate `profile` knows which functions are locks.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use ::profile::limits::COUNTED_THREADS;
use ::profile::{
    GoroutineLocks, LockFunctions, Met, Scope, States, SymbolNames, TraceEvent, Tracing,
    WaitRecording, is_of_looking, kind_of_flags, lock_of, lock_table, lock_taken_at, place_of,
    takes_lock, wait_rows, waits_of_tasks,
};

use super::Profile;
use super::looking::{LOOK_AT_EVENTS, Search, for_a_while, name_pages, note_lost};
use super::program::{failure, title};
use super::standing::{Standing, Stood};
use crate::Failure;
use crate::profiled::Told;

/// How long a program that has just been started may take to map its libraries.
const START: Duration = Duration::from_millis(300);

/// The lock functions, if their calls can be counted.
fn functions(scope: Scope, standing: &mut Standing) -> Result<LockFunctions, String> {
    let threads = States::look(scope).threads().count();
    if threads > COUNTED_THREADS {
        return Err(format!("{threads} threads, more than {COUNTED_THREADS}"));
    }
    let mut found = LockFunctions::of_program(scope);
    for_a_while(START, LOOK_AT_EVENTS, standing, |_| {
        // An error ends the loop: nothing more can be found.
        if found.as_ref().map_or(true, |found| !found.is_empty()) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        found = LockFunctions::of_program(scope);
        Ok(())
    });
    match found {
        Ok(found) if found.is_empty() => {
            Err("the program has no function that takes locks".to_owned())
        }
        found => found.map_err(|error| error.to_string()),
    }
}

/// The lock functions whose calls are to be counted; if there are none, a remark says why.
fn counted(
    scope: Scope,
    asked: &Profile,
    standing: &mut Standing,
    remarks: &mut Vec<String>,
) -> LockFunctions {
    let counted = match asked.tries {
        true => functions(scope, standing).map_err(|why| format!("tries are not counted: {why}")),
        false => Err("how often locks are taken is counted with --tries".to_owned()),
    };
    counted.map_err(|why| remarks.push(why)).unwrap_or_default()
}

fn locks_of_goroutines(scope: Scope, remarks: &mut Vec<String>) -> Option<GoroutineLocks> {
    GoroutineLocks::begin(scope).unwrap_or_else(|error| {
        remarks.push(format!("locks of goroutines are not seen: {error}"));
        None
    })
}

pub(super) fn locks(scope: Scope, asked: &Profile) -> Result<Told, Failure> {
    let mut remarks = Vec::new();
    let mut standing = Standing::begin(scope);
    let functions = counted(scope, asked, &mut standing, &mut remarks);
    // Tracepoints also record locks that spin; without them only the waits of threads are recorded.
    let mut traced = Tracing::begin(scope, TraceEvent::Locks);
    if let Err(error) = &traced {
        remarks.push(format!("locks of the kernel that spin are not seen: {error}"));
    }
    let begun = WaitRecording::begin(scope, &functions);
    let mut waiting = begun.map_err(|error| failure(scope, &error))?;
    let mut of_tasks = locks_of_goroutines(scope, &mut remarks);
    let seconds = for_a_while(asked.duration, LOOK_AT_EVENTS, &mut standing, |search| {
        waiting.drain();
        traced.iter_mut().for_each(Tracing::drain);
        of_tasks.iter_mut().for_each(GoroutineLocks::drain);
        if search == Search::Now {
            traced.iter_mut().try_for_each(Tracing::find_threads)?;
            of_tasks.iter_mut().try_for_each(GoroutineLocks::find_threads)?;
            waiting.find_threads()?;
        }
        Ok(())
    });
    let of_tasks = of_tasks.map(GoroutineLocks::end).unwrap_or_default();
    let (waited, spun, stood) = (waiting.end(), traced.map(Tracing::end).ok(), standing.end());
    let of_kernel: Vec<_> = spun
        .iter()
        .flat_map(|pairs| &pairs.all)
        .map(|((flags, stack), waits)| (kind_of_flags(*flags), stack, *waits))
        .collect();
    let stacks = waited
        .waits
        .keys()
        .chain(waited.tries.keys())
        .chain(of_tasks.keys())
        .chain(of_kernel.iter().map(|(_, stack, _)| *stack))
        .chain(stood.stacks());
    let mut names = SymbolNames::find(stacks.clone(), &asked.debug_files, &mut remarks);
    name_pages(&mut names, stacks, asked, &mut remarks);
    let met = |kind: &str, stack, tries, waits| Met {
        kind: kind.to_owned(),
        frames: names.frames(stack),
        own: names.own_frames(stack),
        tries,
        waits,
    };
    let mut all: Vec<Met> =
        of_kernel.iter().map(|(kind, stack, waits)| met(kind, stack, 0, *waits)).collect();
    for (stack, waits) in &waited.waits {
        // If tracepoints are used, they count the kernel's own locks.
        let kind = lock_of(&names.frames(stack))
            .filter(|kind| spun.is_none() || matches!(*kind, "futex" | "socket"));
        all.extend(kind.map(|kind| met(kind, stack, 0, *waits)));
    }
    for (stack, (tries, waits)) in &waited.tries {
        all.push(met(lock_taken_at(&names.frames(stack)), stack, *tries, *waits));
    }
    all.extend(stood_before_locks(&stood, &names, seconds));
    all.retain(|met| !is_of_looking(&met.frames));
    remarks.extend(stood.remarks(&names));
    let of_tasks =
        of_tasks.iter().map(|(stack, count)| (place_of(&names.own_frames(stack)), *count));
    remarks.extend(waits_of_goroutines(of_tasks, seconds).or_else(|| waits_of_tasks(&all)));
    note_lost(waited.lost + spun.map_or(0, |pairs| pairs.lost), &mut remarks);
    if all.iter().all(|met| met.waits.count == 0) {
        remarks.push("no thread has waited for a lock".to_owned());
    }
    let table = lock_table(&wait_rows(all.iter().cloned()), asked.outputs.rows());
    Ok(Told::of_waits(title(scope, seconds, ", waits for locks"), remarks, &all, table))
}

/// Places at which goroutines wait that are named.
const NAMED_PLACES: usize = 3;

/// Where goroutines began to wait for a lock, and how often a second; `None` if none did.
fn waits_of_goroutines(waits: impl Iterator<Item = (String, u64)>, seconds: f64) -> Option<String> {
    let mut places: BTreeMap<String, u64> = BTreeMap::new();
    waits.for_each(|(place, count)| *places.entry(place).or_default() += count);
    let all: u64 = places.values().sum();
    let mut places: Vec<_> = places.into_iter().collect();
    places.sort_by_key(|(_, count)| Reverse(*count));
    let named = places
        .iter()
        .take(NAMED_PLACES)
        .map(|(place, count)| format!("{place} ({:.0} %)", *count as f64 * 100.0 / all as f64));
    let named = named.collect::<Vec<_>>().join(", ");
    let rate = all as f64 / seconds;
    (all > 0).then(|| {
        format!("goroutines, which are no threads, had to wait {rate:.0} times a second for a lock of Go: {named}")
    })
}

/// The threads that stood before a lock all the time. A futex may be anything: it is a lock if a thread holds it, or if
/// a function that takes locks waits for it.
fn stood_before_locks(stood: &Stood, names: &SymbolNames, seconds: f64) -> Vec<Met> {
    let mut found = Vec::new();
    for (sleeper, met) in stood.waits(names, (seconds * 1e9) as u64) {
        let kind = lock_of(&met.frames).filter(|kind| *kind != "futex");
        let is_mutex = sleeper.holder.is_some() || takes_lock(&met.frames);
        let kind = kind.or(is_mutex.then_some("mutex"));
        found.extend(kind.map(|kind| Met { kind: kind.to_owned(), ..met }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goroutines_wait_at_places() {
        let waits = [("main.updateCache", 60), ("main.log", 30), ("main.updateCache", 10)];
        let told = |waits: &[(&str, u64)]| {
            let waits = waits.iter().map(|(place, count)| ((*place).to_owned(), *count));
            waits_of_goroutines(waits, 2.0)
        };
        let text = "goroutines, which are no threads, had to wait 50 times a second for a lock of Go: \
                    main.updateCache (70 %), main.log (30 %)";
        assert_eq!(told(&waits).as_deref(), Some(text));
        assert_eq!(told(&[]), None);
    }
}
