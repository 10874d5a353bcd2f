//! Symbols of stripped programs, from the debug file named by the build id:
//! `/usr/lib/debug/.build-id/ab/cdef.debug`.
//!
//! Owns that lookup. A debug file named in the program (`.gnu_debuglink`) is found without it.

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

/// A program's own file, which has the code's addresses, and its debug file, which has the names.
struct Pair {
    own: ElfResolver,
    names: ElfResolver,
}

/// The pair of a file, if it has one.
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

/// Finds debug files by build id below these directories: the callback that a symbolizer calls for each file of a
/// program.
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

/// These directories, followed by the usual ones.
pub(crate) fn places_with(more: &[PathBuf]) -> Vec<PathBuf> {
    more.iter().cloned().chain(PLACES.iter().map(PathBuf::from)).collect()
}

/// If the file cannot be read, the default lookup finds what there is.
fn open(file: &Path, places: &[PathBuf]) -> Option<Shared> {
    let id = read_elf_build_id(&file).ok()??;
    let (first, rest) = id.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let name = format!(".build-id/{first:02x}/{rest}.debug");
    let debug = places.iter().map(|place| place.join(&name)).find(|debug| debug.is_file())?;
    let pair = Pair { own: ElfResolver::open(file).ok()?, names: ElfResolver::open(debug).ok()? };
    Some(Shared(Rc::new(pair)))
}
