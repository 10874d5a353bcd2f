//! The waits of a program: its threads off the CPU.
//!
//! Owns the text of that view, and that pools which wait for work are set aside.

use ::profile::{
    CountUnit, Disks, Frame, LockFunctions, Met, Mode, Scope, Stack, SymbolNames, WaitRecording,
    idle_in_words, is_idle, wait_of, wait_rows, wait_table, waits_of_tasks,
};

use super::Profile;
use super::looking::{LOOK_AT_EVENTS, Search, for_a_while, name_pages, note_lost};
use super::program::{failure, title};
use super::standing::Standing;
use crate::Failure;
use crate::profiled::Told;

/// The outermost frame of a thread that was preempted.
const NO_CPU: &str = "[waits for a CPU]";

/// Places of idle threads that are listed.
const IDLE: usize = 8;

pub(super) fn waits(scope: Scope, asked: &Profile) -> Result<Told, Failure> {
    let disks = Disks::read();
    let begun = WaitRecording::begin(scope, &LockFunctions::default());
    let mut waiting = begun.map_err(|error| failure(scope, &error))?;
    let mut standing = Standing::begin(scope);
    let seconds = for_a_while(asked.duration, LOOK_AT_EVENTS, &mut standing, |search| {
        waiting.drain();
        if search == Search::Now { waiting.find_threads() } else { Ok(()) }
    });
    let waited = waiting.end();
    let stood = standing.end();
    let mut remarks = Vec::new();
    let stacks = waited.waits.keys().chain(waited.without_cpu.keys()).chain(stood.stacks());
    let mut names = SymbolNames::find(stacks.clone(), &asked.debug_files, &mut remarks);
    name_pages(&mut names, stacks, asked, &mut remarks);
    let all_ns = seconds * 1e9;
    let met = |stack: &Stack, waits| {
        let (frames, own) = (names.frames(stack), names.own_frames(stack));
        Met { kind: wait_of(&frames), frames, own, tries: 0, waits }
    };
    let mut all: Vec<Met> = waited.waits.iter().map(|(stack, waits)| met(stack, *waits)).collect();
    let stood_all = stood.waits(&names, all_ns as u64);
    let is_holding = |thread: u32| stood_all.iter().any(|(one, _)| one.holder == Some(thread));
    let (held, others): (Vec<_>, Vec<_>) =
        stood_all.iter().partition(|(one, _)| one.holder.is_some() || is_holding(one.state.thread));
    all.extend(others.into_iter().map(|(_, met)| met.clone()));
    let (idle, mut all): (Vec<Met>, Vec<Met>) =
        all.into_iter().partition(|met| is_idle(met, all_ns));
    all.extend(held.into_iter().map(|(_, met)| met.clone()));
    for (stack, waits) in &waited.without_cpu {
        let user = Stack { kernel: Vec::new(), ..stack.clone() };
        let mut met = Met { kind: "no CPU".to_owned(), ..met(&user, *waits) };
        met.frames.push(Frame { name: NO_CPU.to_owned(), mode: Mode::Kernel, is_inlined: false });
        all.push(met);
    }
    remarks.extend(stood.remarks(&names));
    remarks.extend(waits_of_tasks(&all));
    remarks.extend(idle_in_words(idle, IDLE));
    remarks.extend(Disks::read().lines_since(&disks, seconds));
    note_lost(waited.lost, &mut remarks);
    let table = wait_table(&wait_rows(all.iter().cloned()), asked.outputs.rows());
    let title = title(scope, seconds, ", off the CPU");
    Ok(Told { unit: CountUnit::Microseconds, ..Told::of_waits(title, remarks, &all, table) })
}
