//! The mappings of a process: which file is at which address.
//!
//! Owns the format of `/proc/PID/maps` (proc_pid_maps(5)) and the paths by which a mapped file can be opened from
//! here. Opens none.

use std::io;
use std::path::{Path, PathBuf};

use sys::text::of_kernel_file;

/// A part of the memory of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// Where in the file it begins.
    pub(crate) offset: u64,
    /// Whether its bytes can be executed.
    pub(crate) content: Content,
    /// Device and inode, by which a file is known whatever its path; empty without a file.
    pub(crate) file: String,
    /// The path that the process sees, or a name in brackets, or nothing.
    pub(crate) path: String,
}

/// Whether the bytes of a mapping can be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Code,
    Data,
}

/// The mappings of a process, in the order of their addresses.
///
/// # Errors
/// There is no such process, or its memory may not be looked at.
pub(crate) fn of_process(process: u32) -> io::Result<Vec<Mapping>> {
    let text = of_kernel_file(format!("/proc/{process}/maps"))?;
    Ok(text.lines().filter_map(mapping).collect())
}

/// The mapping that contains an address.
pub(crate) fn at(mappings: &[Mapping], address: u64) -> Option<&Mapping> {
    let behind = mappings.partition_point(|mapping| mapping.begin <= address);
    let mapping = mappings.get(behind.checked_sub(1)?)?;
    (address < mapping.end).then_some(mapping)
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (begin, end) = words.next()?.split_once('-')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let (begin, end) = (number(begin)?, number(end)?);
    let content = if words.next()?.contains('x') { Content::Code } else { Content::Data };
    let offset = number(words.next()?)?;
    let (device, inode) = (words.next()?, words.next()?);
    let file = if inode == "0" { String::new() } else { format!("{device} {inode}") };
    let path = words.next().unwrap_or_default().trim_start().to_owned();
    Some(Mapping { begin, end, offset, content, file, path })
}

impl Mapping {
    /// Paths by which its file can perhaps be opened from here: through the mapping itself, which works for files that
    /// were deleted or replaced and needs rights, and by its path in the process's own view of the file system.
    pub(crate) fn files(&self, process: u32) -> [PathBuf; 2] {
        let link = format!("/proc/{process}/map_files/{:x}-{:x}", self.begin, self.end);
        [link.into(), format!("/proc/{process}/root{}", self.path).into()]
    }

    /// A name for people: that of the file without its folders; `None` if nothing has one.
    pub(crate) fn name(&self) -> Option<&str> {
        let path = self.path.trim_end_matches(" (deleted)");
        match path.strip_prefix('[') {
            Some(special) => Some(special.trim_end_matches(']')),
            None => Path::new(path).file_name()?.to_str(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_files_names_in_brackets_or_nothing() {
        let text = "\
00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/dbus daemon (deleted)
7f5c01000000-7f5c01021000 rwxp 00000000 00:00 0 
7ffd0f1fe000-7ffd0f200000 r-xp 00000000 00:00 0                          [vdso]
nonsense
";
        let all: Vec<Mapping> = text.lines().filter_map(mapping).collect();
        let names: Vec<_> = all.iter().map(Mapping::name).collect();
        assert_eq!(names, [Some("dbus daemon"), None, Some("vdso")]);
        assert_eq!((all[0].offset, &*all[0].file, &*all[1].file), (0x1000, "08:02 173521", ""));
        assert_eq!(at(&all, 0x0045_1fff), Some(&all[0]));
        assert_eq!((at(&all, 0x0045_2000), at(&all, 0)), (None, None));
        assert!(all.iter().all(|mapping| mapping.content == Content::Code));
        let [link, path] = all[0].files(7);
        assert_eq!(link, Path::new("/proc/7/map_files/400000-452000"));
        assert!(path.starts_with("/proc/7/root/usr/bin"));
    }
}
