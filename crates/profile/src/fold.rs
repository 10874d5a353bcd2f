//! Folded stacks: symbolised, with equal ones counted together.
//!
//! Owns the lines that are written. `folded_file` reads them, and those of other tools.

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

impl Frame {
    /// A frame of the program, not inlined.
    pub(crate) fn of_program(name: &str) -> Self {
        Self { name: name.to_owned(), mode: Mode::User, is_inlined: false }
    }
}

/// How often each stack was sampled; stacks are from the outermost frame on.
///
/// A count is a whole number, unless the stacks were read from a file of another tool: some count in seconds, with a
/// fraction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Folded {
    /// The stacks.
    pub stacks: BTreeMap<Vec<Frame>, f64>,
}

/// The suffix of a kernel frame, and of an inlined one, in a line.
pub(crate) const KERNEL: &str = "_[k]";
pub(crate) const INLINED: &str = "_[i]";

impl Folded {
    /// The number of samples.
    pub fn total(&self) -> f64 {
        // The sum of no numbers is -0.
        self.stacks.values().fold(0.0, |sum, count| sum + count)
    }

    /// Adds to the count of a stack.
    pub fn add(&mut self, stack: Vec<Frame>, count: f64) {
        *self.stacks.entry(stack).or_default() += count;
    }

    /// For formats whose counts are whole numbers: 1, or 1000 if a count has a fraction, so that thousandths are
    /// counted.
    pub fn parts(&self) -> f64 {
        if self.stacks.values().any(|count| count.fract() != 0.0) { 1e3 } else { 1.0 }
    }

    /// The lines that other tools read: names with semicolons between them, and the count. Kernel frames end with
    /// `_[k]`, inlined ones with `_[i]`.
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
}
