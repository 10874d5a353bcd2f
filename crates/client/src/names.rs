//! The cache of host names and their addresses.
//!
//! Owns what is known, who waits for what, and which queries are needed. A helper thread answers
//! them ([`resolve`]); never resolves itself. An answer can be lost, because a helper gives up on a
//! scheduler that takes no messages for long.

use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;

use ahash::HashMap;
use runtime::clock::nanoseconds;

use crate::id::ExchangeId;
use crate::limits::{ADDRESSES, NAME_AGE, NAMES, NO_NAME_AGE, QUESTION_AGE};

/// A name to look up.
pub type NameLookup = Arc<str>;

/// The addresses of a name; `None` if it has none, or the lookup failed.
pub type FoundAddresses = Option<Arc<[IpAddr]>>;

/// The state of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// Its addresses, at least one.
    Addresses(Arc<[IpAddr]>),
    /// It has no address.
    Nothing,
    /// It is being looked up.
    Later,
    /// Too many names are being looked up.
    NoRoom,
}

#[derive(Debug)]
enum Entry {
    Asked { waiting: Vec<ExchangeId>, until_ns: u64 },
    Answered { found: FoundAddresses, until_ns: u64 },
}

/// The names of one scheduler.
#[derive(Debug, Default)]
pub(crate) struct Names {
    entries: HashMap<NameLookup, Entry>,
    questions: Vec<NameLookup>,
}

impl Names {
    /// Returns the state of a name. If it is being looked up, this exchange is added to those that wait for it.
    pub(crate) fn look_up(&mut self, name: &str, number: ExchangeId, now_ns: u64) -> Known {
        let asked_until_ns = now_ns.saturating_add(nanoseconds(QUESTION_AGE));
        match self.entries.get_mut(name) {
            Some(Entry::Asked { waiting, until_ns }) => {
                waiting.push(number);
                if *until_ns <= now_ns {
                    *until_ns = asked_until_ns;
                    self.ask_again(name);
                }
                return Known::Later;
            }
            Some(Entry::Answered { found, until_ns }) if *until_ns > now_ns => {
                return found.clone().map_or(Known::Nothing, Known::Addresses);
            }
            Some(Entry::Answered { .. }) | None => {}
        }
        if !self.has_room(now_ns) {
            return Known::NoRoom;
        }
        let name: NameLookup = name.into();
        let entry = Entry::Asked { waiting: vec![number], until_ns: asked_until_ns };
        self.entries.insert(Arc::clone(&name), entry);
        self.questions.push(name);
        Known::Later
    }

    fn ask_again(&mut self, name: &str) {
        // The question may still be waiting to be sent.
        if !self.questions.iter().any(|question| **question == *name) {
            self.questions.push(name.into());
        }
    }

    /// An exchange no longer waits for a name.
    pub(crate) fn forget(&mut self, name: &str, number: ExchangeId) {
        if let Some(Entry::Asked { waiting, .. }) = self.entries.get_mut(name) {
            waiting.retain(|other| *other != number);
        }
    }

    fn has_room(&mut self, now_ns: u64) -> bool {
        if self.entries.len() < NAMES {
            return true;
        }
        self.entries.retain(|_, entry| match entry {
            Entry::Asked { waiting, until_ns } => !waiting.is_empty() || *until_ns > now_ns,
            Entry::Answered { until_ns, .. } => *until_ns > now_ns,
        });
        if self.entries.len() >= NAMES {
            self.entries.retain(|_, entry| matches!(entry, Entry::Asked { .. }));
        }
        self.entries.len() < NAMES
    }

    /// The questions to send. Put back those that cannot be sent now.
    pub(crate) fn questions(&mut self) -> &mut Vec<NameLookup> {
        &mut self.questions
    }

    /// A name was looked up; returns the exchanges that waited for it.
    pub(crate) fn learn(
        &mut self,
        name: &NameLookup,
        found: FoundAddresses,
        now_ns: u64,
    ) -> Vec<ExchangeId> {
        let age = if found.is_some() { NAME_AGE } else { NO_NAME_AGE };
        let entry = Entry::Answered { found, until_ns: now_ns.saturating_add(nanoseconds(age)) };
        match self.entries.insert(Arc::clone(name), entry) {
            Some(Entry::Asked { waiting, .. }) => waiting,
            Some(Entry::Answered { .. }) | None => Vec::new(),
        }
    }
}

/// Looks up a name as this host does: in its own table, then by its name service. Blocks, perhaps for a long time.
pub(crate) fn resolve(name: &str) -> FoundAddresses {
    let found = (name, 0).to_socket_addrs().ok()?;
    let mut addresses: Vec<IpAddr> = Vec::new();
    for address in found.map(|found| found.ip()) {
        if addresses.len() < ADDRESSES && !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    (!addresses.is_empty()).then(|| addresses.into())
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn some() -> FoundAddresses {
        Some([IpAddr::from([10, 0, 0, 1])].into())
    }

    #[test]
    fn a_name_is_asked_for_once_and_believed_for_a_while() {
        let mut names = Names::default();
        assert_eq!(names.look_up("a.b", ExchangeId(1), 0), Known::Later);
        assert_eq!(names.look_up("a.b", ExchangeId(2), 0), Known::Later);
        let questions = std::mem::take(names.questions());
        assert_eq!(questions, ["a.b".into()]);
        assert_eq!(names.learn(&questions[0], some(), 5), [ExchangeId(1), ExchangeId(2)]);
        assert_eq!(
            names.look_up("a.b", ExchangeId(3), 29 * SECOND_NS),
            Known::Addresses(some().unwrap())
        );
        assert_eq!(names.look_up("a.b", ExchangeId(4), 31 * SECOND_NS), Known::Later);
        assert_eq!(names.learn(&questions[0], None, 31 * SECOND_NS), [ExchangeId(4)]);
        assert_eq!(names.look_up("a.b", ExchangeId(5), 31 * SECOND_NS + 1), Known::Nothing);
        assert_eq!(names.look_up("a.b", ExchangeId(6), 40 * SECOND_NS), Known::Later);
        assert_eq!(names.questions().len(), 2);
    }

    #[test]
    fn there_are_so_many_names_and_no_more() {
        let mut names = Names::default();
        for number in 0..NAMES as u64 {
            assert_eq!(names.look_up(&number.to_string(), ExchangeId(number), 0), Known::Later);
        }
        assert_eq!(names.look_up("more", ExchangeId(0), 0), Known::NoRoom);
        // A known name makes room, because it can be looked up again.
        names.learn(&"7".into(), some(), 0);
        assert_eq!(names.look_up("more", ExchangeId(0), 1), Known::Later);
        assert_eq!(names.look_up("7", ExchangeId(0), 1), Known::NoRoom);
    }

    #[test]
    fn a_question_that_nobody_answers_is_asked_again() {
        let mut names = Names::default();
        assert_eq!(names.look_up("a.b", ExchangeId(1), 0), Known::Later);
        // The question was not sent yet, so one is enough.
        assert_eq!(names.look_up("a.b", ExchangeId(2), 30 * SECOND_NS), Known::Later);
        assert_eq!(std::mem::take(names.questions()), ["a.b".into()]);
        for (number, seconds, asked) in [(3, 59, 0), (4, 60, 1), (5, 61, 1)] {
            let found = names.look_up("a.b", ExchangeId(number), seconds * SECOND_NS);
            assert_eq!((found, names.questions().len()), (Known::Later, asked), "{seconds} s");
        }
        for number in [1, 2, 4] {
            names.forget("a.b", ExchangeId(number));
        }
        assert_eq!(names.learn(&"a.b".into(), some(), 0), [ExchangeId(3), ExchangeId(5)]);
        names.forget("a.b", ExchangeId(3));
    }

    #[test]
    fn questions_that_nobody_waits_for_make_room_when_they_are_old() {
        let mut names = Names::default();
        for number in 0..NAMES as u64 {
            assert_eq!(names.look_up(&number.to_string(), ExchangeId(number), 0), Known::Later);
        }
        names.forget("7", ExchangeId(7));
        assert_eq!(names.look_up("more", ExchangeId(0), 30 * SECOND_NS - 1), Known::NoRoom);
        assert_eq!(names.look_up("more", ExchangeId(0), 30 * SECOND_NS), Known::Later);
        assert_eq!(names.look_up("7", ExchangeId(0), 30 * SECOND_NS), Known::NoRoom);
    }

    #[test]
    fn this_host_knows_itself() {
        let found = resolve("localhost").unwrap();
        assert!(found.iter().all(IpAddr::is_loopback), "{found:?}");
        // Longer than a label may be: no lookup is needed.
        assert_eq!(resolve(&"a".repeat(64)), None);
    }
}
