//! All processes that descend from one request.
//!
//! Owns the CPU time that they share, how many there may be, and how many of their failures are told. Keeps the account
//! of the memory that they hold, which is their engine's. Never ends one.

use std::cell::Cell;
use std::rc::Rc;

use crate::limits::{FAMILY_FAILURES_TOLD, FAMILY_REST_FACTOR, FAMILY_TOLD_AGAIN, PAGE_FAMILY_MAX};
use runtime::clock::nanoseconds;

/// The processes of one request together: their CPU time, and the account of their memory.
pub struct Family<A> {
    members: Cell<usize>,
    spent_ns: Cell<u64>,
    /// The time at which all use is paid back.
    paid_until_ns: Cell<u64>,
    /// The time at which all reported failures are forgotten.
    told_until_ns: Cell<u64>,
    /// The account of the memory that spawned processes hold.
    account: A,
}

impl<A> Family<A> {
    fn new(now_ns: u64, account: A) -> Self {
        let (spent_ns, told_until_ns) = (Cell::new(0), Cell::new(0));
        let (members, paid_until_ns) = (Cell::new(0), Cell::new(now_ns));
        Self { members, spent_ns, paid_until_ns, told_until_ns, account }
    }

    /// The account of the memory of spawned processes.
    pub fn account(&self) -> &A {
        &self.account
    }

    /// The number of members.
    pub fn members(&self) -> usize {
        self.members.get()
    }

    /// CPU time that counts against its budget now. Use is forgotten over time.
    pub fn spent_ns(&self, now_ns: u64) -> u64 {
        let passed_ns = now_ns.saturating_sub(self.paid_until_ns.get());
        let paid_ns = passed_ns / FAMILY_REST_FACTOR;
        self.paid_until_ns.set(self.paid_until_ns.get() + paid_ns * FAMILY_REST_FACTOR);
        self.spent_ns.set(self.spent_ns.get().saturating_sub(paid_ns));
        self.spent_ns.get()
    }

    /// A member has run. At most `most_ns` is remembered: a member that uses too much is ended for it, and the others
    /// start with little debt.
    pub fn spend(&self, used_ns: u64, most_ns: u64) {
        self.spent_ns.set(self.spent_ns.get().saturating_add(used_ns).min(most_ns));
    }

    /// Whether another failure of a member may be logged.
    pub fn may_tell(&self, now_ns: u64) -> bool {
        let again_ns = nanoseconds(FAMILY_TOLD_AGAIN);
        let told_until_ns = self.told_until_ns.get().max(now_ns).saturating_add(again_ns);
        let may = told_until_ns - now_ns <= FAMILY_FAILURES_TOLD.saturating_mul(again_ns);
        if may {
            self.told_until_ns.set(told_until_ns);
        }
        may
    }
}

/// One process of a family. It is counted as long as it lives.
pub struct FamilyMember<A>(Rc<Family<A>>);

impl<A> FamilyMember<A> {
    /// The first member of a new family.
    pub fn first(now_ns: u64, account: A) -> Self {
        Self::of(&Rc::new(Family::new(now_ns, account)))
    }

    /// Another member; `None` if there are too many.
    pub fn join(&self) -> Option<Self> {
        (self.0.members.get() < PAGE_FAMILY_MAX).then(|| Self::of(&self.0))
    }

    fn of(family: &Rc<Family<A>>) -> Self {
        family.members.set(family.members.get() + 1);
        Self(Rc::clone(family))
    }

    /// Its family.
    pub fn family(&self) -> &Rc<Family<A>> {
        &self.0
    }
}

impl<A> Drop for FamilyMember<A> {
    fn drop(&mut self) {
        self.0.members.set(self.0.members.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn spent_time_decays() {
        let family = Family::new(5 * MS, ());
        family.spend(100 * MS, u64::MAX);
        assert_eq!(family.spent_ns(5 * MS), 100 * MS);
        assert_eq!(family.spent_ns(5 * MS + FAMILY_REST_FACTOR * 40 * MS), 60 * MS);
        // However often this is called, rounding loses nothing.
        let mut now_ns = 5 * MS + FAMILY_REST_FACTOR * 40 * MS;
        for _ in 0..FAMILY_REST_FACTOR * MS {
            now_ns += 1;
            family.spent_ns(now_ns);
        }
        assert_eq!(family.spent_ns(now_ns), 59 * MS);
        assert_eq!(family.spent_ns(u64::MAX), 0);
    }

    #[test]
    fn debts_are_bounded() {
        let family = Family::new(0, ());
        for _ in 0..10 {
            family.spend(100 * MS, 250 * MS);
        }
        assert_eq!(family.spent_ns(0), 250 * MS);
    }

    #[test]
    fn a_family_has_so_many_members_and_no_more() {
        let first = FamilyMember::first(0, ());
        // A reference to the family is not a member.
        let _looked_at = Rc::clone(first.family());
        let mut members = Vec::new();
        while let Some(member) = first.join() {
            members.push(member);
        }
        assert_eq!(members.len() + 1, PAGE_FAMILY_MAX, "who began it is one of them");
        members.pop();
        assert!(first.join().is_some(), "one has ended");
    }

    #[test]
    fn few_failures_are_told_and_never_none_for_long() {
        let family = Family::new(0, ());
        let told = |now_ns| (0..1_000).filter(|_| family.may_tell(now_ns)).count() as u64;
        assert_eq!(told(0), FAMILY_FAILURES_TOLD);
        let again_ns = nanoseconds(FAMILY_TOLD_AGAIN);
        assert_eq!(told(again_ns - 1), 0);
        assert_eq!(told(again_ns), 1);
        assert_eq!(told(1_000 * again_ns), FAMILY_FAILURES_TOLD);
    }
}
