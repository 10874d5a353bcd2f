//! The memory of a program: second by second, and which functions touch it first.
//!
//! Owns the text of that view.

use std::time::Instant;

use ::profile::{
    CountUnit, Folded, MemoryLook, MemoryLooks, SampleKind, Sampling, Scope, SymbolNames, table,
};

use super::Profile;
use super::looking::{LOOK_AT_EVENTS, Search, for_a_while, name_pages, note_lost};
use super::program::{failure, title};
use super::standing::Standing;
use crate::Failure;
use crate::profiled::Told;

pub(super) fn memory(scope: Scope, asked: &Profile) -> Result<Told, Failure> {
    let begun = Sampling::begin(scope, asked.hertz, SampleKind::PageFaults);
    let mut sampling = begun.map_err(|error| failure(scope, &error))?;
    let mut standing = Standing::begin(scope);
    let mut looks = MemoryLooks::default();
    looks.add(MemoryLook::of(scope, 0));
    let begun = begin();
    let elapsed_ms = || u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let seconds = for_a_while(asked.duration, LOOK_AT_EVENTS, &mut standing, |search| {
        sampling.drain();
        match search {
            Search::Now => {
                looks.add(MemoryLook::of(scope, elapsed_ms()));
                sampling.find_threads()
            }
            Search::Later => Ok(()),
        }
    });
    looks.end(MemoryLook::of(scope, elapsed_ms()));
    let (mut taken, stood) = (sampling.end(), standing.end());
    let most = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok();
    let most = most.and_then(|text| text.trim().parse().ok());
    let mut remarks = looks.remarks(most);
    let stacks = taken.stacks.keys().chain(stood.stacks());
    let mut names = SymbolNames::find(stacks.clone(), &asked.debug_files, &mut remarks);
    name_pages(&mut names, stacks, asked, &mut remarks);
    let mut folded = Folded::default();
    for (stack, seen) in &taken.stacks {
        // The kernel's frames are the same for all faults, and those of the C library only touch what it was given.
        folded.add(names.own_frames(stack), seen.count as f64);
    }
    note_lost(taken.lost, &mut remarks);
    taken.remarks.append(&mut remarks);
    taken.remarks.extend(stood.remarks(&names));
    let rows = asked.outputs.rows();
    let text = format!("{}\n{}", looks.table(rows), table(&folded, CountUnit::Faults, rows));
    let title = title(scope, seconds, ", memory");
    let told = Told::of(folded, CountUnit::Faults, title);
    Ok(Told { remarks: taken.remarks, table: Some(text), ..told })
}

#[expect(clippy::disallowed_methods, reason = "seconds are counted by a clock of their own")]
fn begin() -> Instant {
    Instant::now()
}
