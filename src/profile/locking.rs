//! Locks of a program: how often each was taken, how often that had to wait, and how long.
//!
//! Owns which events are requested from the kernel for that, in which order, and the texts for
//! refusals. The crate `profile` knows which functions are locks.

use std::io;
use std::time::Duration;

use ::profile::limits::COUNTED_THREADS;
use ::profile::{
    LockFunctions, Met, SymbolNames, TraceEvent, Tracing, WaitRecording, is_of_looking,
    kind_of_flags, lock_of, lock_table, lock_taken_at, wait_rows,
};

use super::Profile;
use super::looking::{LOOK_AT_EVENTS, Search, failure, for_a_while, map_pages, note_lost, title};
use crate::Failure;
use crate::profiled::Told;

/// How long a program that has just been started may take to map its libraries.
const START: Duration = Duration::from_millis(300);

/// The lock functions, if their calls can be counted.
fn functions(process: u32) -> Result<LockFunctions, String> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).map_or(0, Iterator::count);
    if threads > COUNTED_THREADS {
        return Err(format!("{threads} threads, more than {COUNTED_THREADS}"));
    }
    let mut found = LockFunctions::of_process(process);
    for_a_while(START, LOOK_AT_EVENTS, |_| {
        // An error ends the loop: nothing more can be found.
        if found.as_ref().map_or(true, |found| !found.is_empty()) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        found = LockFunctions::of_process(process);
        Ok(())
    });
    match found {
        Ok(found) if found.is_empty() => {
            Err("the program has no function that takes locks".to_owned())
        }
        found => found.map_err(|error| error.to_string()),
    }
}

pub(super) fn locks(process: u32, asked: &Profile) -> Result<Told, Failure> {
    let mut remarks = Vec::new();
    let counted = match asked.tries {
        true => functions(process).map_err(|why| format!("tries are not counted: {why}")),
        false => Err("how often locks are taken is counted with --tries".to_owned()),
    };
    let functions = counted.map_err(|why| remarks.push(why)).unwrap_or_default();
    // Tracepoints also record locks that spin; without them only the waits of threads are recorded.
    let mut traced = Tracing::begin(process, TraceEvent::Locks);
    if let Err(error) = &traced {
        remarks.push(format!("locks of the kernel that spin are not seen: {error}"));
    }
    let begun = WaitRecording::begin(process, &functions);
    let mut waiting = begun.map_err(|error| failure(process, &error))?;
    let seconds = for_a_while(asked.duration, LOOK_AT_EVENTS, |search| {
        waiting.drain();
        traced.iter_mut().for_each(Tracing::drain);
        if search == Search::Now {
            traced.iter_mut().try_for_each(Tracing::find_threads)?;
            waiting.find_threads()?;
        }
        Ok(())
    });
    let (waited, spun) = (waiting.end(), traced.map(Tracing::end).ok());
    map_pages(asked, &mut remarks);
    let of_kernel = spun
        .iter()
        .flat_map(|pairs| &pairs.all)
        .map(|((flags, stack), waits)| (kind_of_flags(*flags), stack, *waits));
    let of_kernel: Vec<_> = of_kernel.collect();
    let stacks = waited
        .waits
        .keys()
        .chain(waited.tries.keys())
        .chain(of_kernel.iter().map(|(_, stack, _)| *stack));
    let names = SymbolNames::find(process, stacks, &asked.debug_files, &mut remarks);
    let met = |kind: &str, stack, tries, waits| Met {
        kind: kind.to_owned(),
        frames: names.frames(stack),
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
    all.retain(|met| !is_of_looking(&met.frames));
    let lost = waited.lost + spun.map_or(0, |pairs| pairs.lost);
    note_lost(lost, &mut remarks);
    if all.iter().all(|met| met.waits.count == 0) {
        remarks.push("no thread has waited for a lock".to_owned());
    }
    let table = lock_table(&wait_rows(all.iter().cloned()), asked.outputs.rows());
    Ok(Told::of_waits(title(process, seconds, ", waits for locks"), remarks, &all, table))
}
