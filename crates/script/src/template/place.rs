//! Positions in a page: lines and columns, counted from 1, columns in characters.
//!
//! Owns the conversion from byte offsets to positions. Lines need no map: a line of the Lua text is
//! the same line of the page.

/// A line and a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl Place {
    /// The place of a byte in a page. If the page is not UTF-8, invalid bytes count as characters.
    pub(crate) fn of(source: &[u8], offset: usize) -> Place {
        let before = source.get(..offset).unwrap_or(source);
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        Place { line: line_breaks(before) + 1, column: column(&before[line_start..]) }
    }
}

/// The column after the beginning of a line.
fn column(before: &[u8]) -> u32 {
    let is_start = |byte: &&u8| **byte & 0b1100_0000 != 0b1000_0000;
    u32::try_from(before.iter().filter(is_start).count() + 1).unwrap_or(u32::MAX)
}

/// The number of line breaks in a text.
pub(crate) fn line_breaks(text: &[u8]) -> u32 {
    u32::try_from(text.iter().filter(|byte| **byte == b'\n').count()).unwrap_or(u32::MAX)
}

/// Converts ascending offsets to lines, reading every byte once.
#[derive(Debug)]
pub(crate) struct LineCounter<'a> {
    source: &'a [u8],
    at: usize,
    line: u32,
}

impl<'a> LineCounter<'a> {
    pub(crate) fn new(source: &'a str) -> LineCounter<'a> {
        LineCounter { source: source.as_bytes(), at: 0, line: 1 }
    }

    /// The line of an offset that is not before the previous one.
    pub(crate) fn line(&mut self, offset: usize) -> u32 {
        assert!(self.at <= offset, "offsets ascend");
        let passed = self.source.get(self.at..offset).unwrap_or_default();
        self.line += line_breaks(passed);
        self.at = offset;
        self.line
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
    fn counting_step_by_step_gives_the_same_lines() {
        let source = "a\n\nbä\r\nc";
        let mut counter = LineCounter::new(source);
        for offset in 0..=source.len() {
            assert_eq!(
                counter.line(offset),
                Place::of(source.as_bytes(), offset).line,
                "at {offset}"
            );
        }
    }
}
