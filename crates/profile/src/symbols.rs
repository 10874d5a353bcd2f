//! Symbols for addresses.
//!
//! Owns the label of a frame without a symbol: the frame is kept, because without it its time would
//! be counted for other functions.

use std::collections::BTreeMap;
use std::fs::{metadata, read_dir};
use std::path::PathBuf;

use blazesym::symbolize::source::{Kernel, Process, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer, cache};
use blazesym::{MaybeDefault, Pid};

use crate::debug_files::{by_build_id, places_with};
use crate::fold::{Folded, Frame, Mode};
use crate::kernel_names::KernelNames;
use crate::limits::DEPTH;
use crate::record::Stack;

/// Names for the addresses of stacks.
#[derive(Debug)]
pub struct SymbolNames {
    user: Found,
    kernel: Found,
}

impl SymbolNames {
    /// Finds the names for these stacks; debug files of stripped programs are searched in these directories and the
    /// usual ones. The process must still run. A remark tells which names the kernel hides.
    #[must_use]
    pub fn find<'s>(
        process: u32,
        stacks: impl Iterator<Item = &'s Stack> + Clone,
        debug_files: &[PathBuf],
        remarks: &mut Vec<String>,
    ) -> Self {
        Self::find_with(process, stacks, debug_files, None, remarks)
    }

    /// The same, with the names of the kernel's functions from a list that was opened before.
    #[must_use]
    pub fn find_with<'s>(
        process: u32,
        stacks: impl Iterator<Item = &'s Stack> + Clone,
        debug_files: &[PathBuf],
        kernel_names: Option<&KernelNames>,
        remarks: &mut Vec<String>,
    ) -> Self {
        let places = places_with(debug_files);
        let symbolizer = Symbolizer::builder()
            .set_debug_dirs(Some(&places))
            .set_process_dispatcher(by_build_id(places.clone()))
            .build();
        let of = |mode: Mode| -> Vec<u64> {
            let addresses = stacks.clone().flat_map(|stack| match mode {
                Mode::Kernel => &stack.kernel,
                Mode::User => &stack.user,
            });
            let mut all: Vec<u64> = addresses.copied().collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let user = names_of_program(&symbolizer, process, &of(Mode::User));
        let addresses = of(Mode::Kernel);
        let mut kernel = Found::new();
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
        let _hidden = add(&mut kernel, &symbolizer, &source, &addresses, Mode::Kernel);
        if !addresses.is_empty() && kernel.is_empty() {
            remarks.push(
                "the kernel hides its names: sysctl kernel.kptr_restrict=0 shows them, to root 1 \
                          as well"
                    .to_owned(),
            );
        }
        Self { user, kernel }
    }

    /// Also names code that was made as the program ran, by a map of it: lines `START SIZE NAME` with hexadecimal
    /// numbers, as profilers read them from `/tmp/perf-PID.map`.
    pub fn add_map<'s>(&mut self, map: &str, stacks: impl Iterator<Item = &'s Stack>) {
        let piece = |line: &str| {
            let (start, rest) = line.split_once(' ')?;
            let (size, name) = rest.split_once(' ')?;
            let number = |text| u64::from_str_radix(text, 16).ok();
            Some((number(start)?, (number(size)?, name.to_owned())))
        };
        let pieces: BTreeMap<u64, (u64, String)> = map.lines().filter_map(piece).collect();
        for address in stacks.flat_map(|stack| &stack.user) {
            let Some((start, (size, name))) = pieces.range(..=*address).next_back() else {
                continue;
            };
            if address - start < *size {
                let frame = Frame { name: name.clone(), mode: Mode::User, is_inlined: false };
                self.user.entry(*address).or_insert_with(|| vec![frame]);
            }
        }
    }

    /// The frames of a stack, from the outermost on.
    pub fn frames(&self, stack: &Stack) -> Vec<Frame> {
        let mut frames = Vec::new();
        push(&mut frames, &stack.user, &self.user, Mode::User);
        push(&mut frames, &stack.kernel, &self.kernel, Mode::Kernel);
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

/// The names of the functions at addresses of this process, each with those that the compiler inlined into it,
/// innermost first; `None` where none is found, such as in code that was made as the program ran.
#[must_use]
pub fn names_in_this_process(addresses: &[u64]) -> Vec<Option<String>> {
    let found = names_of_program(&Symbolizer::new(), std::process::id(), addresses);
    let name = |frames: &Vec<Frame>| {
        let names: Vec<&str> = frames.iter().rev().map(|frame| &*frame.name).collect();
        names.join(" in ")
    };
    addresses.iter().map(|address| found.get(address).map(name)).collect()
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
    let source = Process { map_files: may_open_mappings(process), ..Process::new(pid) };
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
        if let Symbolized::Sym(symbol) = symbol {
            let frame =
                |name: &str, is_inlined: bool| Frame { name: name.to_owned(), mode, is_inlined };
            let mut frames = vec![frame(&symbol.name, false)];
            frames.extend(symbol.inlined.iter().map(|inner| frame(&inner.name, true)));
            found.insert(*address, frames);
        }
    }
    Ok(())
}

/// Adds the frames of a call chain, which begins with the innermost.
fn push(frames: &mut Vec<Frame>, chain: &[u64], names: &Found, mode: Mode) {
    let unknown = |name: &str| Frame { name: name.to_owned(), mode, is_inlined: false };
    if chain.len() > DEPTH {
        frames.push(unknown("[more]"));
    }
    for address in chain.iter().take(DEPTH).rev() {
        match names.get(address) {
            Some(named) => frames.extend(named.iter().cloned()),
            None => {
                let frame = unknown(if mode == Mode::Kernel { "[kernel]" } else { "[unknown]" });
                // Consecutive frames without a name become one.
                if frames.last() != Some(&frame) {
                    frames.push(frame);
                }
            }
        }
    }
}
