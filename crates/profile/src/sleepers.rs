//! The program's frames of threads that sleep, and which threads hold the mutexes for which others wait.
//!
//! Owns the reading of another process's memory. A thread is never stopped for it: one that sleeps does not change its
//! stack, and the result is only shown.
#![expect(
    clippy::disallowed_types,
    reason = "the threads that use it are no schedulers, and share the table of the process"
)]

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;

use sys::text::of_kernel_file;
use syscalls::Sysno;

use crate::limits::{SLEEPERS, SLEEPING_STACK};
use crate::record::Stack;
use crate::states::ThreadState;
use crate::unwinding::{Registers, Unwinding};

/// A thread that did not run, with its frames.
#[derive(Clone, Debug, Default)]
pub struct Sleeper {
    /// The thread.
    pub state: ThreadState,
    /// The program's frames: addresses, from the innermost on.
    pub stack: Stack,
    /// The thread that holds the mutex for which this one waits.
    pub holder: Option<u32>,
}

/// Operations of futex(2) that wait for a value to change, and those that wait for a mutex with its owner in it.
const WAIT: [u64; 2] = [0, 9];
const LOCK: [u64; 2] = [6, 13];
/// The part of the operation that says which it is.
const OPERATION: u64 = 0x7f;
/// The owner in the word of such a mutex.
const OWNER: u32 = 0x3fff_ffff;

/// The frames of threads that sleep.
pub fn sleepers(states: &[&ThreadState]) -> Vec<Sleeper> {
    let mut unwinding = Unwinding::default();
    let mut numbers: BTreeMap<u32, BTreeMap<u32, u32>> = BTreeMap::new();
    let sleeper = |state: &&ThreadState| {
        let memory = File::open(format!("/proc/{}/mem", state.process)).ok();
        let user = memory.as_ref().and_then(|memory| frames(state, memory, &mut unwinding));
        let known =
            numbers.entry(state.process).or_insert_with(|| numbers_in(states, state.process));
        let holder = memory.as_ref().and_then(|memory| holder(state, memory, known));
        let (process, thread) = (state.process, state.thread);
        let stack = Stack { process, thread, user: user.unwrap_or_default(), kernel: Vec::new() };
        Sleeper { state: (*state).clone(), stack, holder }
    };
    states.iter().take(SLEEPERS).map(sleeper).collect()
}

/// The program's frames.
fn frames(state: &ThreadState, memory: &File, unwinding: &mut Unwinding) -> Option<Vec<u64>> {
    let call = state.call?;
    let mut bytes = vec![0; SLEEPING_STACK];
    // The stack may end earlier.
    let length = memory.read_at(&mut bytes, call.stack).ok()?;
    bytes.truncate(length);
    unwinding.look(state.process, u64::MAX);
    let frame =
        frame_pointer(call.stack, &bytes, |address| unwinding.has_code(state.process, address));
    let registers = Registers { address: call.address, stack: call.stack, frame, link: 0 };
    Some(unwinding.unwound(state.process, registers, &bytes)?.frames)
}

/// The kernel does not show the frame pointer of a thread that sleeps. It is the first place of the stack with the
/// address of a later place, followed by an address of code: a saved frame pointer and a return address.
fn frame_pointer(begin: u64, bytes: &[u8], is_code: impl Fn(u64) -> bool) -> u64 {
    let words: Vec<u64> = bytes
        .chunks_exact(8)
        .map(|word| word.first_chunk().map_or(0, |word| u64::from_ne_bytes(*word)))
        .collect();
    let end = begin + bytes.len() as u64;
    let places = words.windows(2).zip((begin..).step_by(8));
    let is_frame = |words: &[u64], place: u64| {
        (place + 1..end).contains(&words[0]) && words[0].is_multiple_of(8) && is_code(words[1])
    };
    let found = places.filter_map(|(words, place)| is_frame(words, place).then_some(place)).next();
    found.unwrap_or(0)
}

/// The thread that holds the mutex of the C library for which a thread waits (`struct __pthread_mutex_s`: lock, count,
/// owner, users, kind).
fn holder(state: &ThreadState, memory: &File, numbers: &BTreeMap<u32, u32>) -> Option<u32> {
    let call = state.call.filter(|call| call.number == i64::from(Sysno::futex.id()))?;
    let mut bytes = [0; 20];
    memory.read_exact_at(&mut bytes, call.arguments[0]).ok()?;
    let word = |at: usize| {
        bytes
            .get(4 * at..)
            .and_then(|bytes| bytes.first_chunk())
            .map(|word| u32::from_ne_bytes(*word))
    };
    let (lock, owner, users, kind) = (word(0)?, word(2)?, word(3)?, word(4)?);
    let operation = call.arguments[1] & OPERATION;
    let owner = match () {
        () if LOCK.contains(&operation) => lock & OWNER,
        // Any word may be waited for: it is a mutex if all its fields are those of one.
        () if WAIT.contains(&operation) && (1..=2).contains(&lock) && users > 0 && kind < 512 => {
            owner
        }
        () => return None,
    };
    let holder = *numbers.get(&owner)?;
    (holder != state.thread).then_some(holder)
}

/// The threads of a process by the numbers that it sees itself: those of its namespace.
fn numbers_in(states: &[&ThreadState], process: u32) -> BTreeMap<u32, u32> {
    let threads = crate::processes::threads_of(process).unwrap_or_default();
    let own = |thread: u32| {
        let status = of_kernel_file(format!("/proc/{process}/task/{thread}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
        line.split_whitespace().last()?.parse().ok()
    };
    let known = states.iter().map(|state| state.thread).chain(threads);
    known.filter_map(|thread| Some((own(thread)?, thread))).collect()
}

/// Groups of threads that wait for each other in a circle, each followed by the one for which it waits.
pub fn deadlocks(sleepers: &[Sleeper]) -> Vec<Vec<u32>> {
    let waits: BTreeMap<u32, u32> =
        sleepers.iter().filter_map(|one| Some((one.state.thread, one.holder?))).collect();
    let mut found: Vec<Vec<u32>> = Vec::new();
    for begin in waits.keys() {
        let mut path = vec![*begin];
        while let Some(next) = path.last().and_then(|thread| waits.get(thread)) {
            if next == begin {
                if !found.iter().any(|circle| circle.contains(begin)) {
                    found.push(path);
                }
                break;
            }
            if path.contains(next) {
                break;
            }
            path.push(*next);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(thread: u32, holder: Option<u32>) -> Sleeper {
        let state = ThreadState { thread, ..ThreadState::default() };
        Sleeper { state, holder, ..Sleeper::default() }
    }

    #[test]
    fn circles_of_waits_are_deadlocks_and_lines_are_not() {
        let line = [waits(1, Some(2)), waits(2, Some(3)), waits(3, None)];
        assert!(deadlocks(&line).is_empty());
        // Two wait for each other, a third one for one of them.
        let circle = [waits(1, Some(2)), waits(2, Some(3)), waits(3, Some(2))];
        assert_eq!(deadlocks(&circle), [vec![2, 3]]);
    }

    #[test]
    fn a_frame_begins_where_the_stack_has_a_later_place_and_code_behind_it() {
        let words = [0x7, 0x1010, 0x1018, 0x4000, 0x1000, 0x4000];
        let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_ne_bytes).collect();
        let is_code = |address| address == 0x4000;
        // 0x1018 is at 0x1010 and leads further up; the last one leads back.
        assert_eq!(frame_pointer(0x1000, &bytes, is_code), 0x1010);
        assert_eq!(frame_pointer(0x2000, &bytes, is_code), 0);
    }
}
