//! Callers of a program's functions, found by what its files say about their frames (`.eh_frame`): for programs without
//! frame pointers.
//!
//! Owns when the mappings of a process are read anew, and what is taken from the kernel's chain of frame pointers
//! where the copied stack ends.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use framehop::{
    CacheNative, MayAllocateDuringUnwind, Module, UnwindRegsNative, Unwinder as _, UnwinderNative,
};

use crate::binary::Binary;
use crate::ended::{SeenProcess, SeenProcesses};
use crate::limits::{DEPTH, PROCESSES};
use crate::mappings::{self, Content, Mapping};
use crate::processes::name_of;
use crate::record::{CopiedStack, Stack};

/// The library that the kernel gives each program.
const KERNELS: &str = "[vdso]";

/// Time between two readings of the mappings of a process, in nanoseconds.
const LOOK_NS: u64 = 1_000_000_000;

/// Finds callers in the processes that are recorded.
#[derive(Default)]
pub(crate) struct Unwinding {
    programs: BTreeMap<u32, Program>,
    binaries: Binaries,
    cache: CacheNative<MayAllocateDuringUnwind>,
}

/// The files that were read, by device and inode; `None` for one that is no program.
pub(crate) type Binaries = BTreeMap<String, Option<Arc<Binary>>>;

struct Program {
    name: String,
    unwinder: UnwinderNative<Arc<[u8]>, MayAllocateDuringUnwind>,
    /// Its code.
    mappings: Vec<Mapping>,
    looked_ns: u64,
}

impl fmt::Debug for Unwinding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Unwinding of {} processes", self.programs.len())
    }
}

impl Unwinding {
    /// The program's frames of a sample, from the innermost on; `None`: the kernel's chain is the best there is.
    pub(crate) fn frames(
        &mut self,
        time_ns: u64,
        stack: &Stack,
        copied: CopiedStack<'_>,
    ) -> Option<Vec<u64>> {
        self.look(stack.process, time_ns);
        let registers = Registers::of_sample(copied.registers)?;
        let Unwound { frames, end } = self.unwound(stack.process, registers, copied.bytes)?;
        Some(match end {
            End::Whole => frames,
            End::Cut => continued(frames, &stack.user),
        })
    }

    /// Reads the mappings of a process, if that is due at this time.
    pub(crate) fn look(&mut self, process: u32, time_ns: u64) {
        let is_known = self.programs.contains_key(&process);
        if !is_known && self.programs.len() >= PROCESSES {
            return;
        }
        let program = self.programs.entry(process).or_insert_with(Program::new);
        if program.mappings.is_empty() || time_ns.saturating_sub(program.looked_ns) >= LOOK_NS {
            program.look(process, time_ns, &mut self.binaries);
        }
    }

    /// The processes that were seen.
    pub(crate) fn seen(&self) -> SeenProcesses {
        let seen = |program: &Program| {
            let (name, mappings) = (program.name.clone(), program.mappings.clone());
            SeenProcess { name, mappings }
        };
        SeenProcesses(self.programs.iter().map(|(process, one)| (*process, seen(one))).collect())
    }

    /// Whether a process can execute what is at an address.
    pub(crate) fn has_code(&self, process: u32, address: u64) -> bool {
        let program = self.programs.get(&process);
        program.is_some_and(|program| mappings::at(&program.mappings, address).is_some())
    }

    /// The frames from the registers of a thread, and the bytes of its stack, which begin at the stack pointer.
    pub(crate) fn unwound(
        &mut self,
        process: u32,
        registers: Registers,
        stack: &[u8],
    ) -> Option<Unwound> {
        let program = self.programs.get(&process)?;
        let mut read = |address: u64| {
            let at = usize::try_from(address.wrapping_sub(registers.stack)).map_err(|_| ())?;
            let word = stack.get(at..).and_then(|bytes| bytes.first_chunk());
            word.map(|word| u64::from_ne_bytes(*word)).ok_or(())
        };
        let mut found = Vec::new();
        let native = registers.native();
        let mut frames =
            program.unwinder.iter_frames(registers.address, native, &mut self.cache, &mut read);
        let end = loop {
            match frames.next() {
                Ok(Some(frame)) if found.len() <= DEPTH => found.push(frame.address_for_lookup()),
                Ok(Some(_) | None) => break End::Whole,
                Err(_) => break End::Cut,
            }
        };
        Some(Unwound { frames: found, end })
    }
}

/// Frames, from the innermost on.
pub(crate) struct Unwound {
    pub(crate) frames: Vec<u64>,
    pub(crate) end: End,
}

/// Whether the last frame is the outermost one.
pub(crate) enum End {
    Whole,
    /// The stack ends before it.
    Cut,
}

/// Frames that end where the copied stack does, continued by the chain of frame pointers from the last one that both
/// have.
fn continued(mut found: Vec<u64>, chain: &[u64]) -> Vec<u64> {
    // The chain has the address after a system call, and the frames that of the call itself, or the other way round.
    let in_chain = |address: &u64| chain.iter().position(|other| address.abs_diff(*other) <= 1);
    let common =
        found.iter().enumerate().rev().find_map(|(at, frame)| Some((at, in_chain(frame)?)));
    match common {
        Some((at, place)) if at > 0 || found.len() == 1 => {
            found.truncate(at + 1);
            found.extend(&chain[place + 1..]);
            found
        }
        _ if found.len() < 2 => chain.to_vec(),
        _ => found,
    }
}

/// The registers from which callers are found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registers {
    pub(crate) address: u64,
    pub(crate) stack: u64,
    pub(crate) frame: u64,
    /// The return address of the innermost function, on processors that have a register for it.
    pub(crate) link: u64,
}

impl Registers {
    /// Those of a sample, in the kernel's order.
    fn of_sample(bytes: &[u8]) -> Option<Self> {
        let words: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|word| word.first_chunk().map_or(0, |word| u64::from_ne_bytes(*word)))
            .collect();
        match *words {
            [frame, stack, address] => Some(Self { address, stack, frame, link: 0 }),
            [frame, link, stack, address] => Some(Self { address, stack, frame, link }),
            _ => None,
        }
    }

    fn native(self) -> UnwindRegsNative {
        let first = if cfg!(target_arch = "aarch64") { self.link } else { self.address };
        UnwindRegsNative::new(first, self.stack, self.frame)
    }
}

impl Program {
    fn new() -> Self {
        let (name, unwinder) = (String::new(), UnwinderNative::new());
        Self { name, unwinder, mappings: Vec::new(), looked_ns: 0 }
    }

    /// Reads the mappings, and what the files say that are new among them.
    fn look(&mut self, process: u32, time_ns: u64, binaries: &mut Binaries) {
        self.looked_ns = time_ns;
        // A process that has ended keeps what was known of it.
        let Ok(mut mappings) = mappings::of_process(process) else { return };
        mappings.retain(|mapping| mapping.content == Content::Code);
        if mappings == self.mappings {
            return;
        }
        self.unwinder = UnwinderNative::new();
        for mapping in &mappings {
            if let Some(module) = module(process, mapping, binaries) {
                self.unwinder.add_module(module);
            }
        }
        self.name = name_of(process);
        self.mappings = mappings;
    }
}

/// The file of a mapping; `None` if it is no program.
pub(crate) fn binary_of(
    process: u32,
    mapping: &Mapping,
    binaries: &mut Binaries,
) -> Option<Arc<Binary>> {
    let is_kernels = mapping.path == KERNELS;
    if mapping.file.is_empty() && !is_kernels {
        return None;
    }
    let open = || mapping.files(process).iter().find_map(|path| Binary::open(path));
    let read = || if is_kernels { Binary::of_kernel() } else { open() }.map(Arc::new);
    binaries.entry(mapping.file.clone()).or_insert_with(read).clone()
}

fn module(process: u32, mapping: &Mapping, binaries: &mut Binaries) -> Option<Module<Arc<[u8]>>> {
    let binary = binary_of(process, mapping, binaries)?;
    let address = binary.address_of(mapping.offset)?;
    // Where the file's first segment is in memory.
    let base = mapping.begin.wrapping_sub(address).wrapping_add(binary.base());
    let range = mapping.begin..mapping.end;
    Some(Module::new(mapping.path.clone(), range, base, binary.sections()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_beyond_the_copied_stack_are_those_of_the_chain() {
        let chain = [0x10, 0x31, 0x40, 0x50];
        assert_eq!(continued(vec![0x10, 0x20, 0x30], &chain), [0x10, 0x20, 0x30, 0x40, 0x50]);
        // Nothing but the innermost frame is common: the chain may have lost callers in between.
        assert_eq!(continued(vec![0x10, 0x20], &chain), [0x10, 0x20]);
        assert_eq!(continued(vec![0x10], &chain), chain);
        assert_eq!(continued(vec![], &chain), chain);
    }
}
