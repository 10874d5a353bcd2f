//! The cache of host names and their addresses.
//!
//! Owns what is known, who waits for what, and which queries are needed. A name service that is slow or fails is no
//! failure of the servers: a name that is used all the time keeps its addresses while it is looked up again, and if
//! that fails. A helper thread answers the queries ([`resolve`]); never resolves itself. An answer can be lost, because
//! a helper gives up on a scheduler that takes no messages for long.

use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;

use ahash::HashMap;
use runtime::clock::nanoseconds;

use crate::id::ExchangeId;
use crate::limits::{ADDRESSES, NAME_AGE, NAME_KEPT, NAMES, NO_NAME_AGE, QUESTION_AGE};

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

/// Whether addresses lead to their servers, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    Given,
    /// No connection to any of them could be made.
    Lost,
}

#[derive(Debug)]
struct Entry {
    found: FoundAddresses,
    trust: Trust,
    /// When its addresses were found.
    found_ns: u64,
    /// When the last question was answered.
    answered_ns: u64,
    /// Until when that is believed without asking again.
    until_ns: u64,
    /// When an exchange wanted it last.
    used_ns: u64,
    /// Until when the answer to a question is awaited.
    asked_until_ns: Option<u64>,
    waiting: Vec<ExchangeId>,
}

impl Entry {
    fn new(now_ns: u64) -> Self {
        Self {
            found: None,
            trust: Trust::Given,
            found_ns: 0,
            answered_ns: 0,
            until_ns: 0,
            used_ns: now_ns,
            asked_until_ns: None,
            waiting: Vec::new(),
        }
    }

    /// The addresses that an exchange may use without waiting.
    fn known(&self, was_used_ns: u64, now_ns: u64) -> Option<Known> {
        if self.asked_until_ns.is_none() && now_ns < self.until_ns {
            return Some(self.found.clone().map_or(Known::Nothing, Known::Addresses));
        }
        let is_in_use = now_ns.saturating_sub(was_used_ns) < nanoseconds(NAME_AGE);
        let found = self.found.clone().filter(|_| is_in_use && self.trust == Trust::Given)?;
        self.is_kept(now_ns).then_some(Known::Addresses(found))
    }

    /// Whether its addresses are still used if it cannot be looked up again.
    fn is_kept(&self, now_ns: u64) -> bool {
        self.found.is_some() && now_ns < self.found_ns.saturating_add(nanoseconds(NAME_KEPT))
    }
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
        if !self.entries.contains_key(name) {
            if !self.has_room(now_ns) {
                return Known::NoRoom;
            }
            self.entries.insert(name.into(), Entry::new(now_ns));
        }
        let Some(entry) = self.entries.get_mut(name) else { return Known::NoRoom };
        let was_used_ns = std::mem::replace(&mut entry.used_ns, now_ns);
        let known = entry.known(was_used_ns, now_ns);
        let is_old = entry.asked_until_ns.is_some() || entry.until_ns <= now_ns;
        let is_due = is_old && entry.asked_until_ns.is_none_or(|until_ns| until_ns <= now_ns);
        if is_due {
            entry.asked_until_ns = Some(now_ns.saturating_add(nanoseconds(QUESTION_AGE)));
        }
        if known.is_none() {
            entry.waiting.push(number);
        }
        if is_due {
            self.ask(name);
        }
        known.unwrap_or(Known::Later)
    }

    fn ask(&mut self, name: &str) {
        // The question may still be waiting to be sent.
        if !self.questions.iter().any(|question| **question == *name) {
            self.questions.push(name.into());
        }
    }

    /// No connection to any address of a name could be made. Returns whether it is looked up again, because the last
    /// answer is not of this moment.
    pub(crate) fn doubt(&mut self, name: &str, now_ns: u64) -> bool {
        let Some(entry) = self.entries.get_mut(name) else { return false };
        let is_old = now_ns >= entry.answered_ns.saturating_add(nanoseconds(NO_NAME_AGE));
        if is_old {
            (entry.trust, entry.until_ns) = (Trust::Lost, 0);
        }
        is_old
    }

    /// An exchange no longer waits for a name.
    pub(crate) fn forget(&mut self, name: &str, number: ExchangeId) {
        if let Some(entry) = self.entries.get_mut(name) {
            entry.waiting.retain(|other| *other != number);
        }
    }

    fn has_room(&mut self, now_ns: u64) -> bool {
        if self.entries.len() < NAMES {
            return true;
        }
        self.entries.retain(|_, entry| match entry.asked_until_ns {
            Some(until_ns) => !entry.waiting.is_empty() || until_ns > now_ns,
            None => entry.until_ns > now_ns,
        });
        if self.entries.len() >= NAMES {
            self.entries.retain(|_, entry| entry.asked_until_ns.is_some());
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
        let entry = self.entries.entry(Arc::clone(name)).or_insert_with(|| Entry::new(now_ns));
        let age = if found.is_some() { NAME_AGE } else { NO_NAME_AGE };
        if found.is_some() {
            entry.found_ns = now_ns;
        }
        if found.is_some() || !entry.is_kept(now_ns) {
            entry.found = found;
        }
        (entry.trust, entry.answered_ns, entry.asked_until_ns) = (Trust::Given, now_ns, None);
        entry.until_ns = now_ns.saturating_add(nanoseconds(age));
        std::mem::take(&mut entry.waiting)
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
        assert_eq!(names.look_up("c.d", ExchangeId(4), 31 * SECOND_NS), Known::Later);
        assert_eq!(names.learn(&"c.d".into(), None, 31 * SECOND_NS), [ExchangeId(4)]);
        assert_eq!(names.look_up("c.d", ExchangeId(5), 31 * SECOND_NS + 1), Known::Nothing);
        assert_eq!(names.look_up("c.d", ExchangeId(6), 40 * SECOND_NS), Known::Later);
        assert_eq!(names.questions().len(), 1);
    }

    #[test]
    fn name_in_use_keeps_its_addresses_while_it_is_looked_up_again() {
        let mut names = Names::default();
        let look_up = |names: &mut Names, number, seconds| {
            let known = names.look_up("a.b", ExchangeId(number), seconds * SECOND_NS);
            let asked = std::mem::take(names.questions()).len();
            (matches!(known, Known::Addresses(_)), asked)
        };
        assert_eq!(look_up(&mut names, 1, 0), (false, 1));
        names.learn(&"a.b".into(), some(), 0);
        let known = (true, 0);
        assert_eq!(look_up(&mut names, 2, 29), known);
        // It is asked for once, also if there is no answer for long.
        assert_eq!(look_up(&mut names, 3, 31), (true, 1));
        assert_eq!(look_up(&mut names, 4, 50), known);
        assert_eq!(look_up(&mut names, 5, 61), (true, 1));
        // Nobody has used it for long: it may be another server by now.
        assert_eq!(look_up(&mut names, 6, 91), (false, 1));
        assert_eq!(look_up(&mut names, 7, 92), known);
        assert_eq!(names.learn(&"a.b".into(), some(), 93 * SECOND_NS), [ExchangeId(6)]);
        assert_eq!(look_up(&mut names, 8, 200), (false, 1));
    }

    #[test]
    fn addresses_outlive_a_name_service_that_fails_for_an_hour() {
        let mut names = Names::default();
        names.look_up("a.b", ExchangeId(1), 0);
        names.learn(&"a.b".into(), some(), 0);
        let known = Known::Addresses(some().expect("an address"));
        let kept_s = NAME_KEPT.as_secs();
        for seconds in [31, kept_s - 1] {
            names.look_up("a.b", ExchangeId(2), seconds * SECOND_NS);
            names.learn(&"a.b".into(), None, seconds * SECOND_NS);
            assert_eq!(names.look_up("a.b", ExchangeId(3), seconds * SECOND_NS), known);
        }
        names.learn(&"a.b".into(), None, kept_s * SECOND_NS);
        assert_eq!(names.look_up("a.b", ExchangeId(4), kept_s * SECOND_NS), Known::Nothing);
    }

    #[test]
    fn addresses_without_a_server_are_looked_up_at_once_and_not_too_often() {
        let mut names = Names::default();
        names.look_up("a.b", ExchangeId(1), 0);
        names.learn(&"a.b".into(), some(), 0);
        names.questions().clear();
        assert!(!names.doubt("a.b", SECOND_NS), "they were found just now");
        assert!(!names.doubt("unknown", SECOND_NS));
        assert!(names.doubt("a.b", 2 * SECOND_NS));
        assert_eq!(names.look_up("a.b", ExchangeId(2), 2 * SECOND_NS), Known::Later);
        assert_eq!(names.look_up("a.b", ExchangeId(3), 2 * SECOND_NS), Known::Later);
        assert_eq!(names.questions().len(), 1);
        // Without an answer they are all that is known.
        let waited = names.learn(&"a.b".into(), None, 3 * SECOND_NS);
        assert_eq!(waited, [ExchangeId(2), ExchangeId(3)]);
        assert!(!names.doubt("a.b", 4 * SECOND_NS), "it was asked for just now");
        let known = Known::Addresses(some().expect("an address"));
        assert_eq!(names.look_up("a.b", ExchangeId(2), 3 * SECOND_NS), known);
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
