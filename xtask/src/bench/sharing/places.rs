//! What is at an address: by what the program said of itself, and by its symbols.
//!
//! Owns the reading of the program's lines. Never decides what is wrong with an address.

use std::path::PathBuf;
use std::process::Command;

use crate::bench::sharing::trace::{LINE_BYTES, Mark, SCHEDULERS};

/// A named stretch of memory, or a mapping.
struct Stretch {
    start: u64,
    end: u64,
    name: String,
}

/// What the program said before it began.
#[derive(Default)]
pub(super) struct Places {
    marks: Vec<Mark>,
    regions: Vec<Stretch>,
    mappings: Vec<Stretch>,
}

impl Places {
    /// Takes a line of the program; false when it is of another kind.
    pub(super) fn take(&mut self, line: &str) -> bool {
        self.read(line).is_some()
    }

    fn read(&mut self, line: &str) -> Option<()> {
        let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
        let (kind, rest) = line.split_once(' ')?;
        let mut words = rest.split_whitespace();
        match kind {
            "mark" => {
                let _number = words.next()?;
                let (begin, end) = (hexadecimal(words.next()?)?, hexadecimal(words.next()?)?);
                self.marks.push(Mark { begin, end });
            }
            "region" => {
                let start = hexadecimal(words.next()?)?;
                let end = start + words.next()?.parse::<u64>().ok()?;
                let name = words.collect::<Vec<_>>().join(" ");
                self.regions.push(Stretch { start, end, name });
            }
            "map" => {
                let (start, end) = words.next()?.split_once('-')?;
                let (start, end) = (hexadecimal(start)?, hexadecimal(end)?);
                // Rights, offset, device and inode stand between.
                let name = words.nth(4).unwrap_or("memory of no file").to_owned();
                self.mappings.push(Stretch { start, end, name });
            }
            _ => return None,
        }
        Some(())
    }

    /// The marks, when every scheduler has named its own.
    pub(super) fn marks(&self) -> Option<[Mark; SCHEDULERS]> {
        <[Mark; SCHEDULERS]>::try_from(self.marks.as_slice()).ok()
    }

    /// What lies on a cache line: all named regions of it, or the mapping.
    pub(super) fn of_line(&self, line: u64) -> String {
        let (start, end) = (line * LINE_BYTES, (line + 1) * LINE_BYTES);
        let touches = |stretch: &&Stretch| stretch.start < end && start < stretch.end;
        let regions: Vec<&str> =
            self.regions.iter().filter(touches).map(|region| region.name.as_str()).collect();
        if !regions.is_empty() {
            return regions.join(", ");
        }
        let mapping = self.mappings.iter().find(touches);
        mapping.map_or("memory mapped since the start", |mapping| &mapping.name).to_owned()
    }

    /// The function and line of an instruction; its address where there are no symbols.
    pub(super) fn of_code(&self, address: u64) -> String {
        let unknown = || format!("{address:#x}");
        let holds = |stretch: &&Stretch| (stretch.start..stretch.end).contains(&address);
        let Some(mapping) = self.mappings.iter().find(holds) else { return unknown() };
        let file = PathBuf::from(&mapping.name);
        // Addresses within a file count from where its first part is mapped.
        let same = self.mappings.iter().filter(|other| other.name == mapping.name);
        let base = same.map(|other| other.start).min().unwrap_or(mapping.start);
        let output = Command::new("addr2line")
            .args([
                "--functions",
                "--demangle",
                "--basenames",
                "--pretty-print",
                "--inlines",
                "--exe",
            ])
            .arg(&file)
            .arg(format!("{:#x}", address - base))
            .output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        match text {
            Ok(text) if !text.is_empty() && !text.starts_with("??") => {
                text.trim().replace(" (inlined by) ", "in ").replace('\n', ", ")
            }
            _ => format!("{} in {}", unknown(), mapping.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_named() {
        let mut places = Places::default();
        assert!(places.take("mark 0 1000 1040") && places.marks().is_none());
        assert!(places.take("mark 1 1080 10c0"));
        assert_eq!(places.marks().map(|marks| marks[1].begin), Some(0x1080));
        assert!(places.take("region 2010 16 the counter"));
        assert!(places.take("map 2000-3000 rw-p 00000000 00:00 0   [heap]"));
        assert!(places.take("map 4000-5000 rw-p 00000000 00:00 0"));
        assert!(!places.take("ready"));
        assert_eq!(places.of_line(0x2000 / LINE_BYTES), "the counter");
        assert_eq!(places.of_line(0x2040 / LINE_BYTES), "[heap]");
        assert_eq!(places.of_line(0x4000 / LINE_BYTES), "memory of no file");
        assert_eq!(places.of_code(0x9000), "0x9000");
    }
}
