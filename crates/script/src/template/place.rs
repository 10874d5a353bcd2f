//! Places in a page: lines and columns, counted from 1, columns in characters.
//!
//! Owns the way from byte offsets to places, and the columns of code by line. Lines need no map: a line of
//! the Lua text is the same line of the page.

/// A line and a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl Place {
    /// The place of a byte in a page; also in one that is not UTF-8, whose broken bytes count as characters.
    pub(crate) fn of(source: &[u8], offset: usize) -> Place {
        let before = source.get(..offset).unwrap_or(source);
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        Place { line: line_breaks(before) + 1, column: column(&before[line_start..]) }
    }
}

/// The column that follows the beginning of a line.
fn column(before: &[u8]) -> u32 {
    let is_start = |byte: &&u8| **byte & 0b1100_0000 != 0b1000_0000;
    u32::try_from(before.iter().filter(is_start).count() + 1).unwrap_or(u32::MAX)
}

/// The number of line breaks in a text.
pub(crate) fn line_breaks(text: &[u8]) -> u32 {
    u32::try_from(text.iter().filter(|byte| **byte == b'\n').count()).unwrap_or(u32::MAX)
}

/// Turns ascending offsets into lines, looking at every byte once.
#[derive(Debug)]
pub(crate) struct LineCounter<'a> {
    source: &'a [u8],
    at: usize,
    line_start: usize,
    line: u32,
}

impl<'a> LineCounter<'a> {
    pub(crate) fn new(source: &'a str) -> LineCounter<'a> {
        LineCounter { source: source.as_bytes(), at: 0, line_start: 0, line: 1 }
    }

    /// The line of an offset that is not before the last one asked for.
    pub(crate) fn line(&mut self, offset: usize) -> u32 {
        assert!(self.at <= offset, "offsets ascend");
        let passed = self.source.get(self.at..offset).unwrap_or_default();
        if let Some(last) = passed.iter().rposition(|byte| *byte == b'\n') {
            self.line_start = self.at + last + 1;
            self.line += line_breaks(passed);
        }
        self.at = offset;
        self.line
    }

    /// The column of the offset last asked for.
    fn column(&self) -> u32 {
        column(self.source.get(self.line_start..self.at).unwrap_or_default())
    }
}

/// Where the code of a line begins: what Lua's errors, which name lines only, leave open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineMap {
    /// By ascending line.
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    line: u32,
    /// None where code of several tags stands in the line.
    column: Option<u32>,
    /// The offset of the tag, which tells tags apart.
    tag: usize,
}

impl LineMap {
    /// The column at which the code of that line begins; none where the line has no code, or code of several
    /// tags, of which any may be meant.
    pub fn column(&self, line: u32) -> Option<u32> {
        let found = self.entries.binary_search_by_key(&line, |entry| entry.line).ok()?;
        self.entries.get(found)?.column
    }

    /// Takes note of a token of the tag, the last one whose line `counter` was asked for.
    pub(crate) fn on_token(&mut self, tag: usize, counter: &LineCounter) {
        match self.entries.last_mut() {
            Some(last) if last.line == counter.line => {
                last.column = last.column.filter(|_| last.tag == tag);
            }
            _ => {
                let column = Some(counter.column());
                self.entries.push(Entry { line: counter.line, column, tag });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let source = "ä\nx€y".as_bytes();
        assert_eq!(Place::of(source, 0), Place { line: 1, column: 1 });
        assert_eq!(Place::of(source, 2), Place { line: 1, column: 2 });
        assert_eq!(Place::of(source, 3), Place { line: 2, column: 1 });
        assert_eq!(Place::of(source, 7), Place { line: 2, column: 3 });
        assert_eq!(Place::of(source, 99), Place { line: 2, column: 4 });
    }

    #[test]
    fn counting_step_by_step_gives_the_same_places() {
        let source = "a\n\nbä\r\nc";
        let mut counter = LineCounter::new(source);
        for offset in 0..=source.len() {
            let place = Place { line: counter.line(offset), column: counter.column() };
            assert_eq!(place, Place::of(source.as_bytes(), offset), "at {offset}");
        }
    }
}
