//! Maps of code that a program made as it ran: which function is at which address.
//!
//! Owns the format, lines `START SIZE NAME` with hexadecimal numbers, and where programs leave such files
//! (`/tmp/perf-PID.map`). The mappings of a process are elsewhere (`mappings`).

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;

use sys::text::of_kernel_file;

use crate::limits::MAP_BYTES;

/// Functions by the address at which they begin, with their length.
#[derive(Debug, Default)]
pub(crate) struct PerfMap(BTreeMap<u64, (u64, String)>);

impl PerfMap {
    /// Reads a text. Of two functions at the same address, the last one is there now.
    pub(crate) fn read(text: &str) -> Self {
        Self(text.lines().filter_map(piece).collect())
    }

    /// That of a process, perhaps without any function. Its number is the one that the process sees itself.
    pub(crate) fn of_process(process: u32) -> Self {
        let status = of_kernel_file(format!("/proc/{process}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        let own = line.and_then(|line| line.split_whitespace().last());
        let own = own.map_or_else(|| process.to_string(), str::to_owned);
        let path = format!("/proc/{process}/root/tmp/perf-{own}.map");
        // A pipe in its place does not make the reader wait.
        let mut open = std::fs::OpenOptions::new();
        let file = open.read(true).custom_flags(O_NONBLOCK).open(path);
        let mut bytes = Vec::new();
        match file.map(|file| file.take(MAP_BYTES).read_to_end(&mut bytes)) {
            Ok(Ok(_)) => Self::read(&String::from_utf8_lossy(&bytes)),
            _ => Self::default(),
        }
    }

    /// The function at an address.
    pub(crate) fn name(&self, address: u64) -> Option<&str> {
        let (start, (size, name)) = self.0.range(..=address).next_back()?;
        (address - start < *size).then_some(name)
    }
}

/// `O_NONBLOCK` of Linux (open(2)).
const O_NONBLOCK: i32 = 0o4000;

fn piece(line: &str) -> Option<(u64, (u64, String))> {
    let (start, rest) = line.split_once(' ')?;
    let (size, name) = rest.split_once(' ')?;
    // The map of Java's virtual machine has a prefix, those of others have none.
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    Some((number(start)?, (number(size)?, name.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_addresses_within_them() {
        let map =
            PerfMap::read("1000 20 JS:*serve a.js:3\nnonsense\n0x2000 0x8 long Srv.spin(long)\n");
        assert_eq!(map.name(0x101f), Some("JS:*serve a.js:3"));
        assert_eq!(map.name(0x2000), Some("long Srv.spin(long)"));
        assert_eq!([0xfff, 0x1020, 0x2008].map(|address| map.name(address)), [None; 3]);
        assert_eq!(PerfMap::of_process(u32::MAX).name(0x1000), None);
    }
}
