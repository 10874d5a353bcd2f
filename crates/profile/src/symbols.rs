//! Symbols for addresses.
//!
//! Owns which label a frame without a symbol has: the frame is kept, because without it its time would
//! be counted for other functions. `unnamed` makes the labels of a program's code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{metadata, read_dir};
use std::path::PathBuf;

use blazesym::symbolize::source::{Kernel, Process, Source};
use blazesym::symbolize::{Input, Sym, Symbolized, Symbolizer, cache};
use blazesym::{MaybeDefault, Pid};

use crate::debug_files::{by_build_id, places_with};
use crate::ended::{SeenProcess, SeenProcesses};
use crate::fold::{Folded, Frame, Mode};
use crate::kernel_names::KernelNames;
use crate::limits::DEPTH;
use crate::perf_map::PerfMap;
use crate::processes::name_of;
use crate::record::Stack;
use crate::unnamed::{ProcessFiles, UNKNOWN};

/// Names for the addresses of stacks.
#[derive(Debug)]
pub struct SymbolNames {
    programs: BTreeMap<u32, ProgramNames>,
    kernel: Found,
}

/// The names of one process.
#[derive(Debug, Default)]
struct ProgramNames {
    /// The process, for stacks of several ones.
    name: String,
    found: Found,
    /// Labels of addresses without a symbol.
    labels: BTreeMap<u64, String>,
    /// Addresses in the C library.
    c_library: BTreeSet<u64>,
}

impl SymbolNames {
    /// Finds the names for these stacks; debug files of stripped programs are searched in these directories and the
    /// usual ones. Their processes must still run. A remark tells which names the kernel hides.
    pub fn find<'s>(
        stacks: impl Iterator<Item = &'s Stack> + Clone,
        debug_files: &[PathBuf],
        remarks: &mut Vec<String>,
    ) -> Self {
        let processes = SeenProcesses::default();
        Self::find_with(stacks, debug_files, &processes, None, remarks)
    }

    /// The same; processes that have ended are named by what was seen of them.
    pub fn find_of<'s>(
        stacks: impl Iterator<Item = &'s Stack> + Clone,
        debug_files: &[PathBuf],
        processes: &SeenProcesses,
        remarks: &mut Vec<String>,
    ) -> Self {
        Self::find_with(stacks, debug_files, processes, None, remarks)
    }

    /// The same, with the names of the kernel's functions from a list that was opened before.
    pub fn find_by<'s>(
        stacks: impl Iterator<Item = &'s Stack> + Clone,
        kernel_names: Option<&KernelNames>,
        remarks: &mut Vec<String>,
    ) -> Self {
        Self::find_with(stacks, &[], &SeenProcesses::default(), kernel_names, remarks)
    }

    fn find_with<'s>(
        stacks: impl Iterator<Item = &'s Stack> + Clone,
        debug_files: &[PathBuf],
        seen: &SeenProcesses,
        kernel_names: Option<&KernelNames>,
        remarks: &mut Vec<String>,
    ) -> Self {
        let places = places_with(debug_files);
        let symbolizer = Symbolizer::builder()
            .set_debug_dirs(Some(&places))
            .set_process_dispatcher(by_build_id(places.clone()))
            .build();
        let mut addresses: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
        let mut of_kernel = BTreeSet::new();
        for stack in stacks {
            addresses.entry(stack.process).or_default().extend(&stack.user);
            of_kernel.extend(&stack.kernel);
        }
        let program = |(process, addresses): (u32, BTreeSet<u64>)| {
            let addresses: Vec<u64> = addresses.into_iter().collect();
            (process, ProgramNames::find(&symbolizer, process, &addresses, seen.0.get(&process)))
        };
        let programs = addresses.into_iter().map(program).collect();
        let addresses: Vec<u64> = of_kernel.into_iter().collect();
        let kernel = names_of_kernel(&symbolizer, &addresses, kernel_names);
        if !addresses.is_empty() && kernel.is_empty() {
            remarks.push(
                "the kernel hides its names: sysctl kernel.kptr_restrict=0 shows them, to root 1 \
                          as well"
                    .to_owned(),
            );
        }
        Self { programs, kernel }
    }

    /// Also names code that was made as the program ran, by a map of it: lines `START SIZE NAME` with hexadecimal
    /// numbers, as profilers read them from `/tmp/perf-PID.map`.
    pub fn add_map<'s>(&mut self, map: &str, stacks: impl Iterator<Item = &'s Stack>) {
        let map = PerfMap::read(map);
        for stack in stacks {
            if let Some(program) = self.programs.get_mut(&stack.process) {
                program.add_map(&map, &stack.user);
            }
        }
    }

    /// The frames of a stack, from the outermost on; of several processes, the outermost is the process.
    pub fn frames(&self, stack: &Stack) -> Vec<Frame> {
        let mut frames = Vec::new();
        if let Some(program) = self.programs.get(&stack.process) {
            if self.programs.len() > 1 {
                frames.push(Frame::of_program(&program.name));
            }
            program.push(&mut frames, &stack.user);
        }
        push_kernel(&mut frames, &stack.kernel, &self.kernel);
        frames
    }

    /// The program's frames of a stack without those of the C library, from the outermost on.
    pub fn own_frames(&self, stack: &Stack) -> Vec<Frame> {
        let mut frames = Vec::new();
        if let Some(program) = self.programs.get(&stack.process) {
            let is_own = |address: &&u64| !program.c_library.contains(address);
            let own: Vec<u64> = stack.user.iter().filter(is_own).copied().collect();
            program.push(&mut frames, &own);
        }
        frames
    }

    /// Symbolised stacks, and the count of each.
    pub fn fold<'s>(&self, stacks: impl IntoIterator<Item = (&'s Stack, u64)>) -> Folded {
        let mut folded = Folded::default();
        for (stack, count) in stacks {
            folded.add(self.frames(stack), count as f64);
        }
        folded
    }
}

impl ProgramNames {
    fn find(
        symbolizer: &Symbolizer,
        process: u32,
        addresses: &[u64],
        seen: Option<&SeenProcess>,
    ) -> Self {
        let mut name = name_of(process);
        let mut found = names_of_program(symbolizer, process, addresses);
        if let Some(seen) = seen.filter(|_| name.is_empty()) {
            name.clone_from(&seen.name);
            found = seen.names(symbolizer, addresses);
        }
        let name = format!("{name} ({process})");
        let mut program = Self { name, found, ..Self::default() };
        let nameless = |program: &Self| -> Vec<u64> {
            let is_nameless = |address: &u64| !program.found.contains_key(address);
            addresses.iter().copied().filter(is_nameless).collect()
        };
        program.add_map(&PerfMap::of_process(process), &nameless(&program));
        let mut files = ProcessFiles::of(process);
        let label = |address: u64| (address, files.label(address));
        program.labels = nameless(&program).into_iter().map(label).collect();
        let is_c_library = |address: &u64| files.is_c_library(*address);
        program.c_library = addresses.iter().copied().filter(is_c_library).collect();
        program
    }

    /// Names addresses without a name by a map.
    fn add_map(&mut self, map: &PerfMap, addresses: &[u64]) {
        for address in addresses {
            if let Some(name) = map.name(*address) {
                self.found.entry(*address).or_insert_with(|| vec![Frame::of_program(name)]);
            }
        }
    }

    /// Adds the frames of a chain, which begins with the innermost.
    fn push(&self, frames: &mut Vec<Frame>, chain: &[u64]) {
        if chain.len() > DEPTH {
            frames.push(Frame::of_program(MORE));
        }
        for address in chain.iter().take(DEPTH).rev() {
            if let Some(named) = self.found.get(address) {
                frames.extend(named.iter().cloned());
                continue;
            }
            let label = self.labels.get(address).map_or(UNKNOWN, |label| label);
            push_once(frames, Frame::of_program(label));
        }
    }
}

/// The frame in the place of those beyond the depth that is kept.
const MORE: &str = "[more]";

/// Adds a frame without a symbol. Consecutive ones with the same label become one.
fn push_once(frames: &mut Vec<Frame>, frame: Frame) {
    if frames.last() != Some(&frame) {
        frames.push(frame);
    }
}

/// Adds the kernel's frames of a chain, which begins with the innermost.
fn push_kernel(frames: &mut Vec<Frame>, chain: &[u64], names: &Found) {
    let kernel =
        |name: &str| Frame { name: name.to_owned(), mode: Mode::Kernel, is_inlined: false };
    if chain.len() > DEPTH {
        frames.push(kernel(MORE));
    }
    for address in chain.iter().take(DEPTH).rev() {
        match names.get(address) {
            Some(named) => frames.extend(named.iter().cloned()),
            None => {
                let caller = frames.last().filter(|frame| frame.mode == Mode::Kernel);
                let label = caller.map_or(OF_KERNEL, |caller| made_by(&caller.name));
                push_once(frames, kernel(label));
            }
        }
    }
}

/// The label of a kernel function without a name.
const OF_KERNEL: &str = "[kernel]";

/// Parts of names of kernel functions that run code which was loaded as data, and a label for it.
const RUN: [(&str, &str); 7] = [
    ("seccomp", "[seccomp filter]"),
    ("sk_filter", "[socket filter]"),
    ("run_filter", "[socket filter]"),
    ("packet_rcv", "[socket filter]"),
    ("reuseport", "[socket filter]"),
    ("bpf", "[BPF program]"),
    ("tcf_classify", "[BPF program]"),
];

/// The label of code without a name that this kernel function has called.
fn made_by(caller: &str) -> &'static str {
    let labels = RUN.iter().map(|(_, label)| *label);
    let known = labels.clone().find(|label| *label == caller);
    let run = RUN.iter().find(|(part, _)| caller.contains(part)).map(|(_, label)| *label);
    known.or(run).unwrap_or(OF_KERNEL)
}

/// The names of the functions at addresses of this process, each with those that the compiler inlined into it,
/// innermost first; `None` where none is found, such as in code that was made as the program ran.
pub fn names_in_this_process(addresses: &[u64]) -> Vec<Option<String>> {
    let found = names_of_program(&Symbolizer::new(), std::process::id(), addresses);
    let name = |frames: &Vec<Frame>| {
        let names: Vec<&str> = frames.iter().rev().map(|frame| &*frame.name).collect();
        names.join(" in ")
    };
    addresses.iter().map(|address| found.get(address).map(name)).collect()
}

/// The kernel's functions at addresses.
fn names_of_kernel(
    symbolizer: &Symbolizer,
    addresses: &[u64],
    kernel_names: Option<&KernelNames>,
) -> Found {
    let mut found = Found::new();
    // It lives until the names are found.
    let copied = kernel_names.and_then(|names| names.copy().ok());
    let source = Source::Kernel(match &copied {
        Some(copied) => Kernel {
            kallsyms: MaybeDefault::Some(copied.path()),
            vmlinux: MaybeDefault::None,
            ..Kernel::default()
        },
        None => Kernel::default(),
    });
    let _hidden = add(&mut found, symbolizer, &source, addresses, Mode::Kernel);
    found
}

type Found = BTreeMap<u64, Vec<Frame>>;

/// The functions at addresses of a program.
fn names_of_program(symbolizer: &Symbolizer, process: u32, addresses: &[u64]) -> Found {
    let mut found = Found::new();
    let pid = Pid::from(process);
    // Without it, each call below would read the list of mappings.
    let mappings = cache::Process { cache_perf_map: false, ..cache::Process::new(pid) };
    if symbolizer.cache(&mappings.into()).is_err() {
        return found;
    }
    // Maps of code made at run time are read by `perf_map`, which knows more forms.
    let map_files = may_open_mappings(process);
    let source = Process { map_files, perf_map: false, ..Process::new(pid) };
    let source = Source::Process(source);
    // A chain without frame pointers leads anywhere: an address in a mapping that is no program, such as the file of a
    // database, fails the call for all addresses that are asked with it. Then each half is asked alone.
    let mut parts = vec![addresses];
    while let Some(part) = parts.pop() {
        if add(&mut found, symbolizer, &source, part, Mode::User).is_err() && part.len() > 1 {
            let (lower, upper) = part.split_at(part.len() / 2);
            parts.extend([lower, upper]);
        }
    }
    found
}

/// Whether the mapped files may be opened through the process, which needs `CAP_CHECKPOINT_RESTORE`; otherwise they are
/// opened by their paths.
fn may_open_mappings(process: u32) -> bool {
    let Ok(mut files) = read_dir(format!("/proc/{process}/map_files")) else { return false };
    files.next().is_some_and(|file| file.is_ok_and(|file| metadata(file.path()).is_ok()))
}

/// Bytes of the longest function of the kernel, about: beyond is other code.
const FARTHEST: u64 = 1 << 16;

/// Adds the functions at each address, from the outermost on: a function, and those that the compiler inlined into it.
fn add(
    found: &mut Found,
    symbolizer: &Symbolizer,
    source: &Source<'_>,
    addresses: &[u64],
    mode: Mode,
) -> Result<(), blazesym::Error> {
    let symbols = symbolizer.symbolize(source, Input::AbsAddr(addresses))?;
    for (address, symbol) in addresses.iter().zip(symbols) {
        // The kernel's list has no lengths: code that was loaded later would have the name of the last function.
        let is_far = |symbol: &Sym<'_>| mode == Mode::Kernel && address - symbol.addr > FARTHEST;
        if let Symbolized::Sym(symbol) = symbol
            && !is_far(&symbol)
        {
            let frame =
                |name: &str, is_inlined: bool| Frame { name: name.to_owned(), mode, is_inlined };
            let mut frames = vec![frame(&symbol.name, false)];
            frames.extend(symbol.inlined.iter().map(|inner| frame(&inner.name, true)));
            found.insert(*address, frames);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_without_a_name_is_that_of_the_function_which_runs_it() {
        let named = |name: &str| {
            vec![Frame { name: name.to_owned(), mode: Mode::Kernel, is_inlined: false }]
        };
        let names = Found::from([
            (1, named("do_syscall_64")),
            (2, named("__seccomp_filter")),
            (3, named("x")),
        ]);
        let told = |chain: &[u64]| {
            let mut frames = Vec::new();
            push_kernel(&mut frames, chain, &names);
            frames.iter().map(|frame| frame.name.clone()).collect::<Vec<_>>().join(";")
        };
        assert_eq!(told(&[9, 8, 2, 1]), "do_syscall_64;__seccomp_filter;[seccomp filter]");
        assert_eq!(told(&[9, 1]), "do_syscall_64;[kernel]");
        assert_eq!(told(&[3, 9]), "[kernel];x");
    }
}
