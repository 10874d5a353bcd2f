//! Files of folded stacks, as the profilers of many languages write them.
//!
//! Owns the grammar: that of flamegraph.pl, with the comments and blank lines of the tools that write such files. Every
//! other line that is not a stack is an error with its number; flamegraph.pl leaves it out and says how many.

use crate::fold::{Folded, Frame, INLINED, KERNEL, Mode};

/// The content of a file of folded stacks.
#[derive(Clone, Debug, PartialEq)]
pub enum FoldedFile {
    /// One count per stack.
    Profile(Folded),
    /// Two counts per stack, as difffolded.pl writes them: of the profile before, and of the one after.
    Difference(Folded, Folded),
}

/// A line that is no stack with its count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Its number, from 1 on.
    pub number: usize,
    /// The fault.
    pub fault: LineFault,
}

/// The fault of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineFault {
    /// It does not end with a blank and a number.
    #[error(
        "no stack with its count: a line is `frame;frame COUNT`, where COUNT is digits, perhaps \
         with a decimal point"
    )]
    NoCount,
    /// Its number is larger than 64 bits hold.
    #[error("a count beyond 64 bits")]
    LargeCount,
}

/// A line with a stack.
struct Line<'t> {
    /// The text before the last number.
    names: &'t str,
    count: f64,
    /// The text before the last two numbers, and the first of them.
    before: Option<(&'t str, f64)>,
}

impl FoldedFile {
    /// Reads such a file. Names that are not UTF-8 are read with replacement characters.
    ///
    /// # Errors
    /// The first line that is neither a stack nor a comment nor blank.
    pub fn read(bytes: &[u8]) -> Result<Self, BadLine> {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = Vec::new();
        for (at, text) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            match line(text.trim_end()) {
                Ok(line) => lines.extend(line),
                Err(fault) => return Err(BadLine { number: at + 1, fault }),
            }
        }
        // A function's name may end with a number; that of every stack does not.
        if !lines.is_empty() && lines.iter().all(|line| line.before.is_some()) {
            let (mut before, mut after) = (Folded::default(), Folded::default());
            for line in &lines {
                let Some((names, count)) = line.before else { continue };
                before.add(stack(names), count);
                after.add(stack(names), line.count);
            }
            return Ok(Self::Difference(before, after));
        }
        let mut folded = Folded::default();
        for line in lines {
            folded.add(stack(line.names), line.count);
        }
        Ok(Self::Profile(folded))
    }
}

/// The stack of a line; `None` for a comment or a blank line.
fn line(text: &str) -> Result<Option<Line<'_>>, LineFault> {
    if text.is_empty() || is_comment(text) {
        return Ok(None);
    }
    let (names, count) = number_behind(text).ok_or(LineFault::NoCount)?;
    let before = number_behind(names);
    // As a float, the largest number of 64 bits is 2^64.
    let is_large = |count: f64| count > 2_f64.powi(64);
    if is_large(count) || before.is_some_and(|(_, count)| is_large(count)) {
        return Err(LineFault::LargeCount);
    }
    Ok(Some(Line { names, count, before }))
}

/// Whether a line is a comment: it begins with `#`. The name of a method in Ruby may do so, too:
/// `#<Class:Shop>#buy;call 3`.
fn is_comment(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('#') else { return false };
    let is_stack = rest.starts_with('<') && rest.contains(';') && number_behind(text).is_some();
    !is_stack
}

/// A text, and the number behind it: digits, perhaps with a decimal point (in flamegraph.pl:
/// `^(.*)\s+?(\d+(?:\.\d*)?)$`).
fn number_behind(text: &str) -> Option<(&str, f64)> {
    let (names, number) = text.rsplit_once([' ', '\t'])?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !are_digits(whole) || !are_digits(fraction) {
        return None;
    }
    Some((names.trim_end(), number.parse().ok()?))
}

/// The frames of a stack, which semicolons separate; those at the end separate nothing.
fn stack(names: &str) -> Vec<Frame> {
    let names = names.trim_end_matches(';');
    if names.is_empty() { Vec::new() } else { names.split(';').map(frame).collect() }
}

fn frame(name: &str) -> Frame {
    let (name, mode) = match name.strip_suffix(KERNEL) {
        Some(name) => (name, Mode::Kernel),
        None => (name, Mode::User),
    };
    let (name, is_inlined) = match name.strip_suffix(INLINED) {
        Some(name) => (name, true),
        None => (name, false),
    };
    let name = if name.is_empty() { "[unknown]" } else { name };
    Frame { name: name.to_owned(), mode, is_inlined }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The stacks of a profile in a test.
    pub(crate) fn folded(text: &str) -> Folded {
        match FoldedFile::read(text.as_bytes()) {
            Ok(FoldedFile::Profile(folded)) => folded,
            other => panic!("{other:?}"),
        }
    }

    /// A stack in a test.
    pub(crate) fn stack(text: &str) -> Vec<Frame> {
        let folded = folded(&format!("{text} 1\n"));
        folded.stacks.into_keys().next().unwrap_or_default()
    }

    #[test]
    fn lines_are_read_as_they_were_written() {
        let text = "main;run;small_[i] 3\nmain;run;tcp_sendmsg_[k] 7\n";
        assert_eq!(folded(text).total(), 10.0);
        assert_eq!(folded(text).to_text(), text);
        // The sum is beyond 64 bits.
        let most = format!("a {0}\nb {0}\na 1\n", u64::MAX);
        assert_eq!(folded(&most).to_text(), "a 18446744073709552000\nb 18446744073709552000\n");
        assert_eq!(folded("").total().to_string(), "0");
    }

    #[test]
    fn stacks_of_other_tools_are_read_by_the_rules_of_flamegraph() {
        for (what, text, wanted) in [
            ("comments", "# mode: wall\n# interval: 100\n#x 3\na;b 3\n", "a;b 3\n"),
            ("blank lines", "\n  \na;b 3\n\n", "a;b 3\n"),
            ("ends of lines", "\u{feff}a;b 3\r\na;b 3 \t\r\n\r\n", "a;b 6\n"),
            ("fractions", "a;b 3.5\na;c 1.\na;b 0.25", "a;b 3.75\na;c 1\n"),
            ("tabulators", "a;b\t3\n", "a;b 3\n"),
            ("blanks in a name", "a;operator new(int, 4)  3\n", "a;operator new(int, 4) 3\n"),
            ("a name with a number behind", "a;pass 2 3\na;b 1\n", "a;b 1\na;pass 2 3\n"),
            ("a method of Ruby", "#<Class:Shop>#buy;call 3\n", "#<Class:Shop>#buy;call 3\n"),
            (
                "frames without a name",
                ";a;;_[k];b;; 3\n",
                "[unknown];a;[unknown];[unknown]_[k];b 3\n",
            ),
            ("no frame", " 3\n; 2\n", " 5\n"),
        ] {
            assert_eq!(folded(text).to_text(), wanted, "{what}");
        }
        let latin = FoldedFile::read(b"main;caf\xe9 3\n");
        assert_eq!(latin, FoldedFile::read("main;caf\u{fffd} 3\n".as_bytes()));
    }

    #[test]
    fn two_counts_in_every_line_are_a_difference() {
        let read = FoldedFile::read(b"# difffolded.pl\na;b 3 5\na;c 0 2.5\n");
        let wanted = FoldedFile::Difference(folded("a;b 3\na;c 0"), folded("a;b 5\na;c 2.5"));
        assert_eq!(read, Ok(wanted));
    }

    #[test]
    fn a_line_that_is_no_stack_is_named() {
        for text in
            ["nothing", "a;b", "a;b -3", "a;b 1e5", "a;b .5", "a;b 3,5", "a;b +3", "7", "a;b 0x1"]
        {
            let read = FoldedFile::read(format!("# one\na;b 1\n\n{text}\nx\n").as_bytes());
            let wanted = BadLine { number: 4, fault: LineFault::NoCount };
            assert_eq!(read, Err(wanted), "{text}");
        }
        for count in ["18446744073709555712", &"9".repeat(400)] {
            let read = FoldedFile::read(format!("a;b {count}\n").as_bytes());
            assert_eq!(read, Err(BadLine { number: 1, fault: LineFault::LargeCount }), "{count}");
        }
    }
}
