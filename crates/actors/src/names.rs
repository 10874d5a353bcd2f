//! Registered names of page processes, on all schedulers.
//!
//! Owns the names whose home is this scheduler: each name hashes to one scheduler, which alone
//! assigns it. A name is released when its process ends.

use ahash::{HashMap, RandomState};
use runtime::mailbox::Endpoint;

use crate::limits::PROCESS_NAME_SIZE;
use crate::process_name::ProcessName;

/// The answer to a request about a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// The process now has the name.
    Given,
    /// Another process has it.
    Taken,
    /// This process has the requested name.
    Is(ProcessName),
    /// No process has it.
    Nobody,
}

/// The names of one scheduler.
pub(super) struct Names {
    hash: RandomState,
    of: HashMap<Box<str>, ProcessName>,
}

impl Default for Names {
    fn default() -> Self {
        // Every scheduler must compute the same home.
        Self { hash: RandomState::with_seeds(1, 2, 3, 4), of: HashMap::default() }
    }
}

impl Names {
    /// The scheduler that assigns a name.
    pub(super) fn home(&self, name: &str, schedulers: u16) -> Endpoint {
        Endpoint((self.hash.hash_one(name) % u64::from(schedulers.max(1))) as u16)
    }

    /// A process wants a name.
    pub(super) fn give(&mut self, name: &str, process: ProcessName) -> Naming {
        match self.of.get(name) {
            Some(known) if *known == process => Naming::Given,
            Some(_) => Naming::Taken,
            None => {
                self.of.insert(name.into(), process);
                Naming::Given
            }
        }
    }

    /// The process with this name.
    pub(super) fn find(&self, name: &str) -> Naming {
        self.of.get(name).map_or(Naming::Nobody, |process| Naming::Is(*process))
    }

    /// A process has ended or released its name.
    pub(super) fn free(&mut self, name: &str, process: ProcessName) {
        if self.of.get(name) == Some(&process) {
            self.of.remove(name);
        }
    }
}

/// Whether a text is a valid name. The built-in name of a process begins with a digit.
pub(super) fn is_name(text: &str) -> bool {
    (1..=PROCESS_NAME_SIZE).contains(&text.len())
        && !text.chars().any(|one| one.is_control() || one.is_whitespace())
        && !text.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(number: u16) -> ProcessName {
        let text = format!("{number}.1.1.000000000000000000000000000000ab");
        text.parse().expect("a name")
    }

    #[test]
    fn a_name_is_one_process_until_it_is_freed() {
        let mut names = Names::default();
        assert_eq!(names.find("clock"), Naming::Nobody);
        assert_eq!(names.give("clock", process(1)), Naming::Given);
        assert_eq!(names.give("clock", process(1)), Naming::Given, "again");
        assert_eq!(names.give("clock", process(2)), Naming::Taken);
        names.free("clock", process(2));
        assert_eq!(names.find("clock"), Naming::Is(process(1)));
        names.free("clock", process(1));
        assert_eq!((names.find("clock"), names.of.len()), (Naming::Nobody, 0));
        let homes = |names: &Names| ["a", "b", "c"].map(|name| names.home(name, 7));
        assert_eq!(homes(&names), homes(&Names::default()), "all schedulers agree");
    }

    #[test]
    fn default_name_of_process_is_not_registrable() {
        assert!(is_name("clock") && is_name("uhr-2.ä") && is_name(&"x".repeat(255)));
        for text in ["", "a b", "a\nb", "1", &"x".repeat(256), &process(3).to_string()] {
            assert!(!is_name(text), "{text}");
        }
    }
}
