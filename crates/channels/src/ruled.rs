//! A channel whose rules were found.
//!
//! Owns the number by which they are found again at once. Never compares a name with a pattern.

/// The number of a section of a rulebook; 0 for channels without a section. Another rulebook has other numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleNumber {
    book: u32,
    section: u32,
}

impl RuleNumber {
    pub(crate) fn new(book: u32, section: usize) -> Self {
        Self { book, section: u32::try_from(section).unwrap_or(0) }
    }

    pub(crate) fn is_of(self, book: u32) -> bool {
        self.book == book
    }

    pub(crate) fn section(self) -> usize {
        self.section as usize
    }
}

/// A channel with its rules, which were found once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ruled<'n> {
    name: &'n str,
    rule: RuleNumber,
}

impl<'n> Ruled<'n> {
    pub(crate) fn new(name: &'n str, rule: RuleNumber) -> Self {
        Self { name, rule }
    }

    pub(crate) fn name(self) -> &'n str {
        self.name
    }

    pub(crate) fn rule(self) -> RuleNumber {
        self.rule
    }
}
