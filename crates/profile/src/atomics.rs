//! Samples at atomic instructions: locks of a program that spin, and memory that several threads change.
//!
//! Owns which bytes in front of an address are such an instruction, on x86-64. Reads them from the memory of the
//! process, which must still run.
#![expect(
    clippy::disallowed_types,
    reason = "the threads that use it are no schedulers, and share the table of the process"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt as _;

use crate::record::Stack;
use crate::sampling::StackSamples;
use crate::symbols::SymbolNames;

/// Percent of the samples from which it is worth a line, and threads that have to be seen at it.
const LEAST: f64 = 10.0;
const THREADS: usize = 2;

/// Bytes that are read in front of an address, and behind it.
const BEFORE: usize = 16;
const BEHIND: usize = 4;

/// The samples at atomic instructions in words, if there are many of them, and of several threads.
pub fn atomic_samples<'s>(
    stacks: impl Iterator<Item = (&'s Stack, &'s StackSamples)>,
    names: &SymbolNames,
) -> Option<String> {
    let (mut files, mut known) = (BTreeMap::new(), BTreeMap::new());
    let (mut all, mut found) = (0, Found::default());
    for (stack, samples) in stacks {
        all += samples.count;
        let Some(address) = stack.user.first().filter(|_| stack.kernel.is_empty()) else {
            continue;
        };
        let is_atomic = *known.entry((stack.process, *address)).or_insert_with(|| {
            let open = || File::open(format!("/proc/{}/mem", stack.process)).ok();
            let memory = files.entry(stack.process).or_insert_with(open);
            memory.as_ref().is_some_and(|memory| is_at_atomic(memory, *address))
        });
        if is_atomic {
            found.count += samples.count;
            found.threads.insert(stack.thread);
            let function = names.own_frames(stack).pop().map(|frame| frame.name);
            *found.functions.entry(function.unwrap_or_default()).or_default() += samples.count;
        }
    }
    let percent = found.count as f64 * 100.0 / all.max(1) as f64;
    let (function, _) = found.functions.iter().max_by_key(|(_, count)| **count)?;
    (percent >= LEAST && found.threads.len() >= THREADS).then(|| {
        format!(
            "{percent:.0} % at atomic instructions of {} threads, mostly in {function}: a lock that spins, or memory \
             that they all change",
            found.threads.len()
        )
    })
}

/// The samples at atomic instructions.
#[derive(Default)]
struct Found {
    count: u64,
    threads: BTreeSet<u32>,
    functions: BTreeMap<String, u64>,
}

/// Whether the instruction in front of an address is atomic: a sample comes when it has ended.
fn is_at_atomic(memory: &File, address: u64) -> bool {
    let mut bytes = [0; BEFORE + BEHIND];
    let begin = address.saturating_sub(BEFORE as u64);
    memory.read_exact_at(&mut bytes, begin).is_ok() && is_atomic(&bytes)
}

/// Whether an atomic instruction ends at [`BEFORE`], or a pause is next to it.
fn is_atomic(bytes: &[u8; BEFORE + BEHIND]) -> bool {
    const PAUSE: [u8; 2] = [0xf3, 0x90];
    if !cfg!(target_arch = "x86_64") {
        return false;
    }
    let front = &bytes[..BEFORE];
    // With the prefix of a lock, an instruction has three to ten bytes.
    let is_locked = (3..=10).any(|length| {
        front[BEFORE - length] == 0xf0 && is_operation(&front[BEFORE - length + 1..])
    });
    // An exchange with memory is atomic without the prefix.
    let is_exchange = (2..=8).any(|length| {
        let [first, rest @ ..] = &front[BEFORE - length..] else { return false };
        let rest = if first & 0xf0 == 0x40 { rest } else { &front[BEFORE - length..] };
        matches!(rest, [0x86 | 0x87, about, behind @ ..] if operand(*about) == Some(behind.len()))
    });
    let nearby = &bytes[BEFORE - 4..];
    is_locked || is_exchange || nearby.windows(2).any(|two| two == PAUSE)
}

/// Whether this is an operation that may be locked: a comparison and exchange, an addition, a bit, arithmetic.
fn is_operation(bytes: &[u8]) -> bool {
    let bytes = match bytes {
        [first, rest @ ..] if first & 0xf0 == 0x40 => rest,
        _ => bytes,
    };
    matches!(
        bytes,
        [0x0f, 0xb0 | 0xb1 | 0xc0 | 0xc1 | 0xc7 | 0xab | 0xb3 | 0xba | 0xbb, ..]
            | [0x00..=0x3b | 0x80..=0x83 | 0xf6 | 0xf7 | 0xfe | 0xff, ..]
    )
}

/// The bytes behind the byte that describes an operand in memory; `None` if it is a register.
fn operand(about: u8) -> Option<usize> {
    let with_scale = usize::from(about & 7 == 4);
    match about >> 6 {
        0 if about & 7 == 5 => Some(4),
        0 => Some(with_scale),
        1 => Some(1 + with_scale),
        2 => Some(4 + with_scale),
        _ => None,
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    fn ending_with(code: &[u8]) -> bool {
        let mut bytes = [0xcc; BEFORE + BEHIND];
        bytes[BEFORE - code.len()..BEFORE].copy_from_slice(code);
        is_atomic(&bytes)
    }

    #[test]
    fn atomic_instructions_are_told_from_others() {
        for code in [
            &[0xf0, 0x0f, 0xb1, 0x15, 1, 2, 3, 4][..],
            &[0xf0, 0x48, 0x0f, 0xc1, 0x07],
            &[0xf0, 0xff, 0x07],
            &[0x87, 0x05, 1, 2, 3, 4],
            &[0x48, 0x87, 0x07],
            &[0x87, 0x47, 8],
            &[0xf3, 0x90],
        ] {
            assert!(ending_with(code), "{code:x?}");
        }
        for code in [&[0x48, 0x89, 0x07][..], &[0x87, 0xc1], &[0x01, 0xd0], &[0x0f, 0xb1, 0x07]] {
            assert!(!ending_with(code), "{code:x?}");
        }
    }
}
