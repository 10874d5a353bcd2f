//! Names that one process of all servers of a cluster has at a time.
//!
//! Owns which process of this scheduler wants or has which of them. The cluster says who holds a name; never ends a
//! process: it says which have lost theirs.

use std::collections::BTreeMap;

use runtime::slots::ProcessId;

use crate::limits::LEASED_NAMES_MAX;

/// Before the name in that of its lease, so that it is no module's: a module has no colon in its name.
const PREFIX: &str = "name:";

/// The holder of a lease, seen from one scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseStanding {
    /// This scheduler of this server.
    Ours,
    /// Another, which has renewed it.
    Others,
    /// It is not known yet.
    Unknown,
}

/// The fate of a name that a process wanted or had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NameNews {
    /// The process that wanted it has it.
    Given(ProcessId),
    /// The process that wanted it does not get it.
    Taken(ProcessId, Box<str>),
    /// The process that had it must end.
    Lost(ProcessId),
}

#[derive(Debug)]
struct LeasedName {
    process: ProcessId,
    is_held: bool,
}

/// The names of one scheduler, by those of their leases.
#[derive(Debug, Default)]
pub(super) struct LeasedNames {
    names: BTreeMap<Box<str>, LeasedName>,
}

impl LeasedNames {
    /// A process wants a name that it has on this server. Returns whether it has it already; an error if there are too
    /// many.
    pub(super) fn want(&mut self, name: &str, process: ProcessId) -> Result<bool, &'static str> {
        let lease = format!("{PREFIX}{name}");
        if let Some(known) = self.names.get(&*lease) {
            return Ok(known.is_held);
        }
        if self.names.len() >= LEASED_NAMES_MAX {
            return Err("too many processes have a name in the cluster");
        }
        self.names.insert(lease.into(), LeasedName { process, is_held: false });
        Ok(false)
    }

    /// A process has waited long enough. Returns the name that it wanted.
    pub(super) fn give_up(&mut self, process: ProcessId) -> Option<Box<str>> {
        let is_wanted = |name: &LeasedName| name.process == process && !name.is_held;
        let lease = self.names.iter().find(|(_, name)| is_wanted(name))?.0.clone();
        self.names.remove(&lease);
        Some(name_of(&lease))
    }

    /// A process has ended.
    pub(super) fn end(&mut self, process: ProcessId) {
        self.names.retain(|_, name| name.process != process);
    }

    /// The leases that are wanted, in their order.
    pub(super) fn leases(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(|lease| &**lease)
    }

    /// The cluster says who has them now.
    pub(super) fn hear(&mut self, standing: impl Fn(&str) -> LeaseStanding) -> Vec<NameNews> {
        let mut news = Vec::new();
        self.names.retain(|lease, name| {
            match (standing(lease), name.is_held) {
                (LeaseStanding::Ours, false) => {
                    name.is_held = true;
                    news.push(NameNews::Given(name.process));
                }
                (LeaseStanding::Others, false) => {
                    news.push(NameNews::Taken(name.process, name_of(lease)));
                    return false;
                }
                (LeaseStanding::Others | LeaseStanding::Unknown, true) => {
                    news.push(NameNews::Lost(name.process));
                    return false;
                }
                (LeaseStanding::Ours, true) | (LeaseStanding::Unknown, false) => {}
            }
            true
        });
        news
    }
}

fn name_of(lease: &str) -> Box<str> {
    lease.strip_prefix(PREFIX).unwrap_or(lease).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(number: u64) -> ProcessId {
        ProcessId::from_bits(number)
    }

    #[test]
    fn a_name_is_given_and_lost_and_one_of_another_is_refused() {
        let mut names = LeasedNames::default();
        assert_eq!(names.want("a", process(1)), Ok(false));
        assert_eq!(names.want("b", process(2)), Ok(false));
        assert_eq!(names.leases().collect::<Vec<_>>(), ["name:a", "name:b"]);
        assert_eq!(names.hear(|_| LeaseStanding::Unknown), []);
        let of_a = |lease: &str| match lease {
            "name:a" => LeaseStanding::Ours,
            _ => LeaseStanding::Others,
        };
        let expected = [NameNews::Given(process(1)), NameNews::Taken(process(2), "b".into())];
        assert_eq!(names.hear(of_a), expected);
        assert_eq!((names.hear(of_a), names.want("a", process(1))), (Vec::new(), Ok(true)));
        assert_eq!(names.hear(|_| LeaseStanding::Unknown), [NameNews::Lost(process(1))]);
        assert_eq!(names.leases().count(), 0);
    }

    #[test]
    fn a_name_goes_with_its_process_and_one_that_is_not_waited_for_is_not_wanted() {
        let mut names = LeasedNames::default();
        assert_eq!(names.want("a", process(1)), Ok(false));
        assert_eq!(names.hear(|_| LeaseStanding::Ours), [NameNews::Given(process(1))]);
        assert_eq!(names.want("b", process(1)), Ok(false));
        assert_eq!(names.give_up(process(1)), Some("b".into()), "not the one that it has");
        assert_eq!(names.give_up(process(1)), None);
        assert_eq!(names.leases().collect::<Vec<_>>(), ["name:a"]);
        names.end(process(1));
        assert_eq!(names.leases().count(), 0);
    }

    #[test]
    fn names_are_bounded() {
        let mut names = LeasedNames::default();
        for number in 0..LEASED_NAMES_MAX {
            assert_eq!(names.want(&format!("n{number}"), process(1)), Ok(false));
        }
        assert!(names.want("other", process(2)).is_err());
        assert_eq!(names.want("n0", process(1)), Ok(false), "it is wanted already");
    }
}
