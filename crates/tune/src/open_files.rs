//! The files that the server writes, and how full their disks are.
//!
//! Owns how they are found, and their text form, which is read as a file.

use std::collections::BTreeSet;
use std::path::Path;

use crate::descriptors::OpenDescriptor;
use crate::files::HostFiles;
use crate::limits::WRITTEN_FILES;

/// The path under which they are read.
pub(crate) fn place(process: u32) -> String {
    format!("/velodrome/files/{process}")
}

/// A file that the server has open for writing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WrittenFile {
    pub(crate) path: String,
    /// Free space of its disk, in percent.
    pub(crate) free: f64,
}

impl WrittenFile {
    /// Parses lines of a share and a path.
    pub(crate) fn read(text: &str) -> Vec<Self> {
        let line = |line: &str| {
            let (free, path) = line.split_once(' ')?;
            Some(Self { path: path.to_owned(), free: free.parse().ok()? })
        };
        text.lines().filter_map(line).collect()
    }
}

/// The first files that these programs of this host write; `None` if their descriptors may not be seen.
pub(crate) fn told(members: &BTreeSet<u32>) -> Option<String> {
    let files = HostFiles::below(Path::new("/"));
    let (mut lines, mut seen) = (String::new(), false);
    let mut known = BTreeSet::new();
    for process in members {
        let open = OpenDescriptor::all(&files, *process);
        seen |= !open.is_empty();
        for one in open {
            let path = one.path();
            let is_file = std::fs::metadata(&path).is_ok_and(|about| about.is_file());
            let Some(target) = std::fs::read_link(&path).ok() else { continue };
            let target = target.display().to_string();
            if !is_file || known.len() == WRITTEN_FILES || !is_written(&files, &one) {
                continue;
            }
            if let Ok(free) = sys::file::free_percent(Path::new(&path))
                && known.insert(target.clone())
            {
                lines.push_str(&format!("{free:.3} {target}\n"));
            }
        }
    }
    seen.then_some(lines)
}

/// Whether a descriptor is open for writing (`flags` in `fdinfo`, octal; `O_ACCMODE` is 3).
fn is_written(files: &HostFiles, one: &OpenDescriptor) -> bool {
    let info = files.text(&one.information()).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|text| u32::from_str_radix(text.trim(), 8).ok());
    flags.is_some_and(|flags| flags & 3 != 0)
}
