//! Locks of a program: how often each was taken, how often that had to wait, and how long.
//!
//! Owns which events are requested from the kernel for that, in which order, and the texts for
//! refusals. The crate `profile` knows which functions are locks.

use std::io;
use std::time::Duration;

use ::profile::limits::COUNTED_THREADS;
use ::profile::{
    LockFunctions, Met, Scope, States, SymbolNames, TraceEvent, Tracing, WaitRecording,
    is_of_looking, kind_of_flags, lock_of, lock_table, lock_taken_at, takes_lock, wait_rows,
    waits_of_tasks,
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

pub(super) fn locks(scope: Scope, asked: &Profile) -> Result<Told, Failure> {
    let mut remarks = Vec::new();
    let mut standing = Standing::begin(scope);
    let counted = match asked.tries {
        true => {
            functions(scope, &mut standing).map_err(|why| format!("tries are not counted: {why}"))
        }
        false => Err("how often locks are taken is counted with --tries".to_owned()),
    };
    let functions = counted.map_err(|why| remarks.push(why)).unwrap_or_default();
    // Tracepoints also record locks that spin; without them only the waits of threads are recorded.
    let mut traced = Tracing::begin(scope, TraceEvent::Locks);
    if let Err(error) = &traced {
        remarks.push(format!("locks of the kernel that spin are not seen: {error}"));
    }
    let begun = WaitRecording::begin(scope, &functions);
    let mut waiting = begun.map_err(|error| failure(scope, &error))?;
    let seconds = for_a_while(asked.duration, LOOK_AT_EVENTS, &mut standing, |search| {
        waiting.drain();
        traced.iter_mut().for_each(Tracing::drain);
        if search == Search::Now {
            traced.iter_mut().try_for_each(Tracing::find_threads)?;
            waiting.find_threads()?;
        }
        Ok(())
    });
    let (waited, spun) = (waiting.end(), traced.map(Tracing::end).ok());
    let stood = standing.end();
    let of_kernel = spun
        .iter()
        .flat_map(|pairs| &pairs.all)
        .map(|((flags, stack), waits)| (kind_of_flags(*flags), stack, *waits));
    let of_kernel: Vec<_> = of_kernel.collect();
    let stacks = waited
        .waits
        .keys()
        .chain(waited.tries.keys())
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
    remarks.extend(waits_of_tasks(&all));
    note_lost(waited.lost + spun.map_or(0, |pairs| pairs.lost), &mut remarks);
    if all.iter().all(|met| met.waits.count == 0) {
        remarks.push("no thread has waited for a lock".to_owned());
    }
    let table = lock_table(&wait_rows(all.iter().cloned()), asked.outputs.rows());
    Ok(Told::of_waits(title(scope, seconds, ", waits for locks"), remarks, &all, table))
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
