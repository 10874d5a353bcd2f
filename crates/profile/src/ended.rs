//! Names for the code of processes that have ended since: from the files that they had mapped.
//!
//! Owns what was seen of a process while it ran. A running one is asked itself (`symbols`).

use std::collections::BTreeMap;
use std::path::Path;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};

use crate::fold::Frame;
use crate::mappings::{self, Mapping};

/// The processes of a recording.
#[derive(Clone, Debug, Default)]
pub struct SeenProcesses(pub(crate) BTreeMap<u32, SeenProcess>);

/// One of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenProcess {
    pub(crate) name: String,
    /// Its code.
    pub(crate) mappings: Vec<Mapping>,
}

impl SeenProcess {
    /// The frames at addresses, from the outermost on; only those with a symbol.
    pub(crate) fn names(
        &self,
        symbolizer: &Symbolizer,
        addresses: &[u64],
    ) -> BTreeMap<u64, Vec<Frame>> {
        let mut by_file: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
        for address in addresses {
            if let Some(mapping) = mappings::at(&self.mappings, *address)
                && Path::new(&mapping.path).is_file()
            {
                let offset = address - mapping.begin + mapping.offset;
                by_file.entry(&mapping.path).or_default().push((*address, offset));
            }
        }
        let mut found = BTreeMap::new();
        for (path, places) in by_file {
            let offsets: Vec<u64> = places.iter().map(|(_, offset)| *offset).collect();
            let source = Source::Elf(Elf::new(path));
            // A file that is no program has no names.
            let symbols = symbolizer.symbolize(&source, Input::FileOffset(&offsets));
            for ((address, _), symbol) in places.iter().zip(symbols.unwrap_or_default()) {
                if let Symbolized::Sym(symbol) = symbol {
                    found.insert(*address, vec![Frame::of_program(&symbol.name)]);
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn a_function_with_a_name() -> u64 {
        std::hint::black_box(7)
    }

    #[test]
    fn functions_are_named_by_the_files_alone() {
        let mappings = mappings::of_process(std::process::id()).unwrap();
        let seen = SeenProcess { name: "gone".to_owned(), mappings };
        let address = a_function_with_a_name as fn() -> u64 as usize as u64;
        let names = seen.names(&Symbolizer::new(), &[1, address]);
        let name = names.get(&address).and_then(|frames| frames.first());
        assert!(
            name.is_some_and(|frame| frame.name.contains("a_function_with_a_name")),
            "{names:?}"
        );
        assert_eq!(names.len(), 1);
    }
}
