//! Labels for code without a symbol: the file that contains it and the begin of its function; and which code belongs to
//! the C library.
//!
//! Owns the form of these labels: `[libz.so.1+0x1a20]`, with the address as the file numbers it, which `addr2line` and
//! `objdump` take.

use crate::mappings::{self, Content, Mapping};
use crate::unwinding::{Binaries, binary_of};

/// Begins of names of files that are the C library, or load and serve it.
const C_LIBRARY: [&str; 7] =
    ["libc.so", "libc-", "libc.musl", "libpthread", "ld-linux", "ld-musl", "vdso"];

/// The label of an address where nothing is mapped that can be executed.
pub(crate) const UNKNOWN: &str = "[unknown]";

/// The label of code that the program made as it ran, and for which it has left no map.
pub(crate) const MADE: &str = "[code made at run time]";

#[derive(Debug)]
pub(crate) struct ProcessFiles {
    process: u32,
    mappings: Vec<Mapping>,
    binaries: Binaries,
}

impl ProcessFiles {
    /// Those of a process; none if it has ended.
    pub(crate) fn of(process: u32) -> Self {
        let mut mappings = mappings::of_process(process).unwrap_or_default();
        mappings.retain(|mapping| mapping.content == Content::Code);
        Self { process, mappings, binaries: Binaries::new() }
    }

    /// A label for code without a symbol.
    pub(crate) fn label(&mut self, address: u64) -> String {
        let Some(mapping) = mappings::at(&self.mappings, address) else {
            return UNKNOWN.to_owned();
        };
        let Some(name) = mapping.name().filter(|name| !is_memory(name)) else {
            return MADE.to_owned();
        };
        let offset = address - mapping.begin + mapping.offset;
        let binary = binary_of(self.process, mapping, &mut self.binaries);
        let address = binary.as_ref().and_then(|binary| binary.address_of(offset));
        let begin = address.and_then(|address| binary?.function_at(address));
        format!("[{name}+{:#x}]", begin.or(address).unwrap_or(offset))
    }

    /// Whether the C library has the code at an address.
    pub(crate) fn is_c_library(&self, address: u64) -> bool {
        let name = mappings::at(&self.mappings, address).and_then(Mapping::name);
        name.is_some_and(|name| C_LIBRARY.iter().any(|begin| name.starts_with(begin)))
    }
}

/// Whether a mapping is memory with a name, which programs give to code that they make: `[anon:v8]`, a file of
/// `memfd_create`, the heap or a stack.
fn is_memory(name: &str) -> bool {
    let begins = ["anon", "heap", "stack", "memfd:", "SYSV"];
    begins.iter().any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn an_inlined_neighbour() -> u64 {
        std::hint::black_box(7)
    }

    #[test]
    fn code_has_its_file_and_function_as_label() {
        let mut own = ProcessFiles::of(std::process::id());
        let address = an_inlined_neighbour as fn() -> u64 as usize as u64;
        let name = std::env::current_exe().unwrap();
        let name = name.file_name().unwrap().to_str().unwrap();
        let label = own.label(address);
        assert!(label.starts_with(&format!("[{name}+0x")) && label.ends_with(']'), "{label}");
        // Every instruction of a function has its label.
        assert_eq!(own.label(address + 1), label);
        assert_eq!(own.label(1), UNKNOWN);
        assert!(!own.is_c_library(address) && !own.is_c_library(1));
        let library = own.mappings.iter().find(|mapping| mapping.path.contains("/libc.so"));
        if let Some(library) = library.cloned() {
            assert!(own.is_c_library(library.begin + 9));
        }
    }
}
