//! Names for addresses.
//!
//! Owns what a frame is called that has no name: it is kept, because leaving it out would blame others.

use std::collections::BTreeMap;

use blazesym::Pid;
use blazesym::symbolize::source::{Kernel, Process, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};

use crate::fold::{Folded, Frame, Mode};
use crate::limits::DEPTH;
use crate::record::Stack;

/// Gives the frames of stacks names. The process still has to be there. A remark says which names the kernel hides.
#[must_use]
pub fn name(process: u32, stacks: &BTreeMap<Stack, u64>, remarks: &mut Vec<String>) -> Folded {
    let symbolizer = Symbolizer::new();
    let user = Source::Process(Process::new(Pid::from(process)));
    let kernel = Source::Kernel(Kernel::default());
    let of = |mode: Mode| -> Vec<u64> {
        let addresses = stacks.keys().flat_map(|stack| match mode {
            Mode::Kernel => &stack.kernel,
            Mode::User => &stack.user,
        });
        let mut all: Vec<u64> = addresses.copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let user = names(&symbolizer, &user, &of(Mode::User), Mode::User);
    let addresses = of(Mode::Kernel);
    let kernel = names(&symbolizer, &kernel, &addresses, Mode::Kernel);
    if !addresses.is_empty() && kernel.is_empty() {
        remarks.push("the kernel hides its names: sysctl kernel.kptr_restrict=0 shows them, to root 1 as well".to_owned());
    }
    let mut folded = Folded::default();
    for (stack, count) in stacks {
        let mut frames = Vec::new();
        push(&mut frames, &stack.user, &user, Mode::User);
        push(&mut frames, &stack.kernel, &kernel, Mode::Kernel);
        *folded.stacks.entry(frames).or_default() += count;
    }
    folded
}

type Names = BTreeMap<u64, Vec<Frame>>;

/// The functions at each address, from the outermost on: a function, and the ones that the compiler has inlined into it.
fn names(symbolizer: &Symbolizer, source: &Source<'_>, addresses: &[u64], mode: Mode) -> Names {
    let Ok(found) = symbolizer.symbolize(source, Input::AbsAddr(addresses)) else {
        return Names::new();
    };
    let mut names = Names::new();
    for (address, symbol) in addresses.iter().zip(found) {
        if let Symbolized::Sym(symbol) = symbol {
            let frame =
                |name: &str, is_inlined: bool| Frame { name: name.to_owned(), mode, is_inlined };
            let mut frames = vec![frame(&symbol.name, false)];
            frames.extend(symbol.inlined.iter().map(|inner| frame(&inner.name, true)));
            names.insert(*address, frames);
        }
    }
    names
}

/// Adds the frames of a chain, which begins with the innermost.
fn push(frames: &mut Vec<Frame>, chain: &[u64], names: &Names, mode: Mode) {
    let unknown = |name: &str| Frame { name: name.to_owned(), mode, is_inlined: false };
    if chain.len() > DEPTH {
        frames.push(unknown("[more]"));
    }
    for address in chain.iter().take(DEPTH).rev() {
        match names.get(address) {
            Some(named) => frames.extend(named.iter().cloned()),
            None => {
                let frame = unknown(if mode == Mode::Kernel { "[kernel]" } else { "[unknown]" });
                // Several without a name are one.
                if frames.last() != Some(&frame) {
                    frames.push(frame);
                }
            }
        }
    }
}
