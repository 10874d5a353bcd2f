//! All processes that come of one request: what it spawned, and what those spawned.
//!
//! Owns how many there may be. Never ends one.

use std::rc::Rc;

use crate::limits::PAGE_FAMILY_MAX;

/// What the processes of one request have in common. Each holds a share of it.
#[derive(Default)]
pub(super) struct Family {}

impl Family {
    /// Another member; none when there are too many.
    pub(super) fn join(self: &Rc<Self>) -> Option<Rc<Self>> {
        (Rc::strong_count(self) < PAGE_FAMILY_MAX).then(|| Rc::clone(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_has_so_many_members_and_no_more() {
        let family = Rc::new(Family::default());
        let mut members = Vec::new();
        while let Some(member) = family.join() {
            members.push(member);
        }
        assert_eq!(members.len() + 1, PAGE_FAMILY_MAX, "who began it is one of them");
        members.pop();
        assert!(family.join().is_some(), "one has ended");
    }
}
