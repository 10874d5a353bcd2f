//! Symbols of stripped programs, from the file that the build id leads to:
//! `/usr/lib/debug/.build-id/ab/cdef.debug`.
//!
//! Owns that lookup. A file named within the program (`.gnu_debuglink`) is found without it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use blazesym::helper::{ElfResolver, read_elf_build_id};
use blazesym::symbolize::{
    FindSymOpts, ProcessMemberInfo, ProcessMemberType, Reason, Resolve, ResolvedSym, Symbolize,
    TranslateFileOffset,
};
use blazesym::{Error, Result};

/// Where distributions put debug files.
const PLACES: [&str; 2] = ["/usr/lib/debug", "/lib/debug"];

/// A program's own file, which knows where its code is, and the debug file, which knows the names.
struct Pair {
    own: ElfResolver,
    names: ElfResolver,
}

/// The pair of a file that was met, if it has one.
#[derive(Clone)]
struct Shared(Rc<Pair>);

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Shared")
    }
}

impl Symbolize for Shared {
    fn find_sym(
        &self,
        address: u64,
        wanted: &FindSymOpts,
    ) -> Result<std::result::Result<ResolvedSym<'_>, Reason>> {
        self.0.names.find_sym(address, wanted)
    }
}

impl TranslateFileOffset for Shared {
    fn file_offset_to_virt_offset(&self, offset: u64) -> Result<Option<u64>> {
        self.0.own.file_offset_to_virt_offset(offset)
    }
}

/// Finds debug files by build ids below these directories: what a symbolizer asks for each file of a program.
pub(crate) fn by_build_id(
    places: Vec<PathBuf>,
) -> impl Fn(ProcessMemberInfo<'_>) -> std::result::Result<Option<Box<dyn Resolve>>, Error> {
    let known: RefCell<BTreeMap<PathBuf, Option<Shared>>> = RefCell::default();
    move |member| {
        let ProcessMemberType::Path(path) = member.member_entry else { return Ok(None) };
        let mut known = known.borrow_mut();
        let found = known.entry(path.symbolic_path.clone()).or_insert_with(|| {
            open(&path.maps_file, &places).or_else(|| open(&path.symbolic_path, &places))
        });
        Ok(found.clone().map(|pair| Box::new(pair) as Box<dyn Resolve>))
    }
}

/// These directories, and then the usual ones.
pub(crate) fn places_with(more: &[PathBuf]) -> Vec<PathBuf> {
    more.iter().cloned().chain(PLACES.iter().map(PathBuf::from)).collect()
}

/// What cannot be read has no debug file: the default way finds what there is.
fn open(file: &Path, places: &[PathBuf]) -> Option<Shared> {
    let id = read_elf_build_id(&file).ok()??;
    let (first, rest) = id.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let name = format!(".build-id/{first:02x}/{rest}.debug");
    let debug = places.iter().map(|place| place.join(&name)).find(|debug| debug.is_file())?;
    let pair = Pair { own: ElfResolver::open(file).ok()?, names: ElfResolver::open(debug).ok()? };
    Some(Shared(Rc::new(pair)))
}
