//! Folded stacks: symbolised, with equal ones counted together.

use std::collections::BTreeMap;

/// Where a frame was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// In the program.
    User,
    /// In the kernel.
    Kernel,
}

impl Mode {
    /// Its name in a table, of fixed length.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "program",
            Self::Kernel => "kernel ",
        }
    }
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    /// The function.
    pub name: String,
    /// Where it was executed.
    pub mode: Mode,
    /// Whether the compiler inlined it into the frame before it.
    pub is_inlined: bool,
}

/// How often each stack was sampled; stacks are from the outermost frame on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folded {
    /// The stacks.
    pub stacks: BTreeMap<Vec<Frame>, u64>,
}

/// The suffix of a kernel frame, and of an inlined one, in a line.
const KERNEL: &str = "_[k]";
const INLINED: &str = "_[i]";

impl Folded {
    /// The number of samples.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.stacks.values().sum()
    }

    /// The lines that other tools read: names with semicolons between them, and the count. Kernel frames end with `_[k]`, inlined ones with `_[i]`.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (stack, count) in &self.stacks {
            for (at, frame) in stack.iter().enumerate() {
                if at > 0 {
                    text.push(';');
                }
                text.push_str(&frame.name.replace([';', '\n'], ":"));
                match (frame.mode, frame.is_inlined) {
                    (Mode::Kernel, _) => text.push_str(KERNEL),
                    (Mode::User, true) => text.push_str(INLINED),
                    (Mode::User, false) => {}
                }
            }
            text.push_str(&format!(" {count}\n"));
        }
        text
    }

    /// Parses such lines.
    ///
    /// # Errors
    /// The number of the first line that cannot be parsed.
    pub fn from_text(text: &str) -> Result<Self, usize> {
        let mut folded = Self::default();
        for (number, line) in text.lines().enumerate() {
            let Some((names, count)) = line.rsplit_once(' ') else { return Err(number + 1) };
            let count: u64 = count.parse().map_err(|_| number + 1)?;
            let stack = names.split(';').map(frame).collect();
            *folded.stacks.entry(stack).or_default() += count;
        }
        Ok(folded)
    }
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
    Frame { name: name.to_owned(), mode, is_inlined }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written() {
        let text = "main;run;tcp_sendmsg_[k] 7\nmain;run;small_[i] 3\n";
        let folded = Folded::from_text(text).unwrap_or_default();
        assert_eq!(folded.total(), 10);
        assert_eq!(folded.to_text(), "main;run;small_[i] 3\nmain;run;tcp_sendmsg_[k] 7\n");
        assert_eq!(Folded::from_text("a;b 1\nnothing\n"), Err(2));
    }
}
