//! The code of a program in its file: where each part lies in memory, and how the caller of each function is
//! found (`.eh_frame`, `.eh_frame_hdr`; Linux Standard Base, 10.6).
//!
//! Owns the reading of ELF files. Knows no process.
#![expect(
    clippy::disallowed_types,
    reason = "the threads that use it are no schedulers, and share the table of the process"
)]

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use framehop::ExplicitModuleSectionInfo;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ObjectSegment, ReadCache, ReadRef};

use crate::limits::FRAME_BYTES;
use crate::mappings;

/// A program or a library.
#[derive(Debug)]
pub(crate) struct Binary {
    segments: Vec<Segment>,
    /// How callers are found, and its index.
    frames: Part,
    index: Part,
}

/// A part of the file that is loaded: its offset and length in the file, and its address.
#[derive(Clone, Copy, Debug)]
struct Segment {
    offset: u64,
    size: u64,
    address: u64,
    /// Whether it can be executed.
    is_code: bool,
}

/// A section; without bytes if there is none.
#[derive(Clone, Debug, Default)]
struct Part {
    address: u64,
    bytes: Arc<[u8]>,
}

impl Part {
    fn range(&self) -> Range<u64> {
        self.address..self.address + self.bytes.len() as u64
    }

    /// Its bytes and their addresses, if it has some.
    fn told(&self) -> (Option<Range<u64>>, Option<Arc<[u8]>>) {
        let has = !self.bytes.is_empty();
        (has.then(|| self.range()), has.then(|| Arc::clone(&self.bytes)))
    }
}

impl Binary {
    /// Reads a file; `None` if it is no program of 64 bits.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        let file = File::open(path).ok().filter(|file| {
            // A device or a pipe would make the reader wait.
            file.metadata().is_ok_and(|told| told.is_file())
        })?;
        Self::read(&ReadCache::new(file))
    }

    /// The library that the kernel gives each program, which is the same in this process.
    pub(crate) fn of_kernel() -> Option<Self> {
        let mappings = mappings::of_process(std::process::id()).ok()?;
        let own = mappings.iter().find(|mapping| mapping.path == "[vdso]")?;
        let mut bytes = vec![0; usize::try_from(own.end - own.begin).ok()?];
        File::open("/proc/self/mem").ok()?.read_exact_at(&mut bytes, own.begin).ok()?;
        Self::read(&*bytes)
    }

    /// Reads the bytes of such a file.
    pub(crate) fn read<'d>(data: impl ReadRef<'d>) -> Option<Self> {
        let elf = ElfFile64::<Endianness, _>::parse(data).ok()?;
        let segment = |segment: object::read::elf::ElfSegment64<'d, '_, _, _>| {
            let (offset, size) = segment.file_range();
            let is_code = segment.permissions().executable();
            Segment { offset, size, address: segment.address(), is_code }
        };
        let segments: Vec<Segment> = elf.segments().map(segment).collect();
        let part = |name: &str| {
            let section = elf.section_by_name(name).filter(|part| part.size() <= FRAME_BYTES)?;
            Some(Part { address: section.address(), bytes: section.data().ok()?.into() })
        };
        let [frames, index] =
            [".eh_frame", ".eh_frame_hdr"].map(|name| part(name).unwrap_or_default());
        Some(Self { segments, frames, index })
    }

    /// The address of the code at an offset of the file, as the file numbers addresses. A mapping begins at a whole
    /// page: there may be the end of another segment before the first byte of its own.
    pub(crate) fn address_of(&self, offset: u64) -> Option<u64> {
        let is_in = |part: &&Segment| {
            part.is_code && (part.offset & !0xfff..part.offset + part.size).contains(&offset)
        };
        let part = self.segments.iter().find(is_in)?;
        Some((part.address + offset).wrapping_sub(part.offset))
    }

    /// The address of its first segment.
    pub(crate) fn base(&self) -> u64 {
        self.segments.iter().map(|segment| segment.address).min().unwrap_or(0)
    }

    /// How callers are found in it.
    pub(crate) fn sections(&self) -> ExplicitModuleSectionInfo<Arc<[u8]>> {
        let (eh_frame_svma, eh_frame) = self.frames.told();
        let (eh_frame_hdr_svma, eh_frame_hdr) = self.index.told();
        ExplicitModuleSectionInfo {
            base_svma: self.base(),
            eh_frame_svma,
            eh_frame,
            eh_frame_hdr_svma,
            eh_frame_hdr,
            ..ExplicitModuleSectionInfo::default()
        }
    }

    /// Where the function begins that has the code at an address.
    pub(crate) fn function_at(&self, address: u64) -> Option<u64> {
        // Version, encodings of the pointer, the number of entries and the table: both addresses of an entry have four
        // bytes and are relative to the begin of the section. Linkers write no others.
        let (head, rest) = self.index.bytes.split_at_checked(12)?;
        if head[0] != 1 || head[2..4] != [0x03, 0x3b] {
            return None;
        }
        let begins = |entry: &[u8]| {
            let begin = entry.first_chunk().map_or(0, |bytes| i32::from_le_bytes(*bytes));
            self.index.address.wrapping_add_signed(i64::from(begin))
        };
        let entries: Vec<&[u8]> = rest.chunks_exact(8).collect();
        let behind = entries.partition_point(|entry| begins(entry) <= address);
        entries.get(behind.checked_sub(1)?).map(|entry| begins(entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_this_program_begin_before_their_code() {
        let own = Binary::open(&std::env::current_exe().unwrap()).unwrap();
        assert!(!own.frames.bytes.is_empty());
        let text = *own.segments.iter().find(|part| part.is_code).expect("code");
        let middle = text.address + text.size / 2;
        let begin = own.function_at(middle).unwrap();
        assert!(begin <= middle && own.function_at(begin) == Some(begin), "{begin:x}");
        assert_eq!(own.address_of(text.offset + 9), Some(text.address + 9));
        assert!(Binary::read(&b"no program"[..]).is_none());
        assert!(Binary::open(Path::new("/dev/zero")).is_none());
    }

    /// As linkers lay out large programs: the code begins in the file where other bytes end, and elsewhere in memory.
    #[test]
    fn a_page_with_the_end_of_another_segment_is_that_of_the_code() {
        let segments = vec![
            Segment { offset: 0, size: 0x4ad0, address: 0, is_code: false },
            Segment { offset: 0x4b00, size: 0x900, address: 0x5b00, is_code: true },
        ];
        let program = Binary { segments, frames: Part::default(), index: Part::default() };
        assert_eq!(program.address_of(0x4000), Some(0x5000));
        assert_eq!(program.address_of(0x5010), Some(0x6010));
        assert_eq!(program.address_of(0x3000), None);
    }
}
