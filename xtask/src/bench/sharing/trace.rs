//! Reads lackey's trace of loads and stores as it comes, and keeps which cache lines each scheduler touched.
//!
//! Owns the form of the trace. Never keeps more than the lines touched between marks.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::OnceLock;

/// Bytes of a cache line.
pub(super) const LINE_BYTES: u64 = 64;

/// Schedulers in the trace.
pub(super) const SCHEDULERS: usize = 2;

/// The addresses a scheduler stores to before and after its turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) begin: u64,
    pub(super) end: u64,
}

/// The first of an act on a line: which byte, and which instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Act {
    pub(super) data: u64,
    pub(super) code: u64,
}

/// What one scheduler did to cache lines between its marks, by the lines' numbers.
#[derive(Debug, Default)]
pub(super) struct Touched {
    pub(super) loaded: BTreeMap<u64, Act>,
    pub(super) stored: BTreeMap<u64, Act>,
    /// Stretches between marks.
    pub(super) stretches: u64,
}

impl Touched {
    /// The first act on a line, a store before a load.
    fn act(&self, line: u64) -> Option<Act> {
        self.stored.get(&line).or_else(|| self.loaded.get(&line)).copied()
    }
}

/// A line that one scheduler stored to and the other touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shared {
    pub(super) line: u64,
    /// Who stored.
    pub(super) writer: usize,
    pub(super) store: Act,
    /// What the other one did first: a store if it stored at all.
    pub(super) other: Act,
}

/// Reads a trace to its end. Until the marks are known nothing is looked at: the program waits with its
/// first mark until they are.
pub(super) fn read(
    mut trace: impl BufRead,
    marks: &OnceLock<[Mark; SCHEDULERS]>,
) -> std::io::Result<[Touched; SCHEDULERS]> {
    let mut touched: [Touched; SCHEDULERS] = Default::default();
    let mut turning: Option<usize> = None;
    let mut code = 0;
    let mut line = Vec::new();
    loop {
        line.clear();
        if trace.read_until(b'\n', &mut line)? == 0 {
            return Ok(touched);
        }
        let Some(marks) = marks.get() else { continue };
        let Some((kind, address, bytes)) = access(&line) else { continue };
        if kind == b'I' {
            code = address;
            continue;
        }
        // An exchange, which a store with all its guarantees is, may show as a modification.
        if kind != b'L'
            && let Some(number) = marks.iter().position(|mark| mark.begin == address)
        {
            turning = Some(number);
            touched[number].stretches += 1;
            continue;
        }
        let Some(number) = turning else { continue };
        if kind != b'L' && marks[number].end == address {
            turning = None;
            continue;
        }
        let act = Act { data: address, code };
        for number_of_line in address / LINE_BYTES..=(address + bytes - 1) / LINE_BYTES {
            if kind != b'S' {
                touched[number].loaded.entry(number_of_line).or_insert(act);
            }
            if kind != b'L' {
                touched[number].stored.entry(number_of_line).or_insert(act);
            }
        }
    }
}

/// `I  04001000,3`, ` L 1fff000748,8`, ` S ..`, ` M ..` (load and store): what, where, how many bytes.
/// Anything else is valgrind's own talk.
fn access(line: &[u8]) -> Option<(u8, u64, u64)> {
    let kind = match line {
        [b'I', b' ', b' ', ..] => b'I',
        [b' ', kind @ (b'L' | b'S' | b'M'), b' ', ..] => *kind,
        _ => return None,
    };
    let text = std::str::from_utf8(line.get(3..)?).ok()?.trim_end();
    let (address, bytes) = text.split_once(',')?;
    let bytes = bytes.parse().ok().filter(|bytes| *bytes > 0)?;
    Some((kind, u64::from_str_radix(address, 16).ok()?, bytes))
}

/// The lines that one scheduler stored to and the other loaded or stored. A line both stored to is there once.
pub(super) fn shared(touched: &[Touched; SCHEDULERS]) -> Vec<Shared> {
    let mut found: BTreeMap<u64, Shared> = BTreeMap::new();
    for (writer, other) in [(0, 1), (1, 0)] {
        for (line, store) in &touched[writer].stored {
            if let Some(other) = touched[other].act(*line) {
                found.entry(*line).or_insert(Shared { line: *line, writer, store: *store, other });
            }
        }
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKS: [Mark; SCHEDULERS] =
        [Mark { begin: 0x100, end: 0x140 }, Mark { begin: 0x180, end: 0x1c0 }];

    fn trace(text: &str) -> [Touched; SCHEDULERS] {
        read(text.as_bytes(), &OnceLock::from(MARKS)).expect("text can be read")
    }

    #[test]
    fn a_line_that_one_stores_to_and_the_other_loads_is_found() {
        let text = "==1== Lackey\nI  00000010,3\n S 00000100,8\nI  00000013,3\n S 00001008,8\n L 00002000,4\n\
                    I  00000016,3\n S 00000140,8\n S 00005000,8\n S 00000180,8\nI  00000020,3\n L 00001030,8\n\
                    L 00002000,4\n L 00005000,8\n S 00003000,8\n S 000001c0,8\n";
        let touched = trace(text);
        assert_eq!((touched[0].stretches, touched[1].stretches), (1, 1));
        let shared = shared(&touched);
        let store = Act { data: 0x1008, code: 0x13 };
        let other = Act { data: 0x1030, code: 0x20 };
        assert_eq!(shared, [Shared { line: 0x40, writer: 0, store, other }]);
    }

    #[test]
    fn what_both_only_load_or_touch_outside_of_turns_is_not_shared() {
        let text = " S 00001000,8\n S 00000100,8\n L 00001000,8\n S 00000140,8\n S 00001000,8\n\
                    \x20S 00000180,8\n L 00001000,8\n S 000001c0,8\n";
        assert_eq!(shared(&trace(text)), []);
    }

    #[test]
    fn a_modification_and_a_store_over_the_end_of_a_line_count() {
        let text = " S 00000100,8\n M 00001000,8\n S 0000203c,8\n S 00000140,8\n\
                    \x20S 00000180,8\n M 00001000,8\n L 00002040,1\n S 000001c0,8\n";
        let lines: Vec<u64> = shared(&trace(text)).iter().map(|shared| shared.line).collect();
        assert_eq!(lines, [0x1000 / LINE_BYTES, 0x2040 / LINE_BYTES]);
    }
}
