//! The whole machine: what every CPU does, whichever program it runs, also in softirqs.
//!
//! Owns the text of that view.

use std::time::Duration;

use ::profile::{
    CountUnit, CpuActivity, Folded, SampleKind, Sampling, Scope, SymbolNames, clock_artefacts,
    is_idle_cpu, softirqs,
};

use super::Profile;
use super::looking::{Search, for_a_while, note_lost};
use super::program::{failure, title};
use super::standing::Standing;
use crate::Failure;
use crate::profiled::Told;

/// Time between two reads: each CPU has samples of all programs.
const LOOK: Duration = Duration::from_millis(20);

pub(super) fn machine(asked: &Profile) -> Result<Told, Failure> {
    let scope = Scope::Machine;
    let begun = Sampling::begin(scope, asked.hertz, SampleKind::CpuTime);
    let mut sampling = begun.map_err(|error| failure(scope, &error))?;
    let before = CpuActivity::read();
    let mut standing = Standing::begin(scope);
    let seconds = for_a_while(asked.duration, LOOK, &mut standing, |search| {
        sampling.drain();
        if search == Search::Now { sampling.find_threads() } else { Ok(()) }
    });
    let mut remarks = CpuActivity::read().lines_since(&before);
    let is_clock = sampling.is_clock();
    let mut taken = sampling.end();
    let (stacks, seen) = (taken.stacks.keys(), &taken.processes);
    let names = SymbolNames::find_of(stacks, &asked.debug_files, seen, &mut taken.remarks);
    let mut folded = Folded::default();
    for (stack, seen) in &taken.stacks {
        let frames = names.frames(stack);
        if !is_idle_cpu(&frames) {
            folded.add(frames, seen.count as f64);
        }
    }
    remarks.extend(softirqs(&folded));
    if is_clock {
        remarks.extend(clock_artefacts(&folded));
    }
    note_lost(taken.lost, &mut remarks);
    taken.remarks.append(&mut remarks);
    let title = title(scope, seconds, &format!(" at {} Hz, without idle time", asked.hertz));
    Ok(Told { remarks: taken.remarks, ..Told::of(folded, CountUnit::Samples, title) })
}
