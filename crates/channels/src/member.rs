//! The users that subscribe to a channel.
//!
//! Owns who is present: on this scheduler by number of subscriptions, at the channel's home by
//! scheduler, and in a cluster by node.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use ahash::HashMap;
use runtime::mailbox::Endpoint;

use crate::node::{ClusterNode, Remainder};

/// Bytes that a member takes in addition to its texts.
const MEMBER_BYTES: usize = 128;

/// A user, and the public information about it: a JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The user.
    pub user: Arc<str>,
    /// The public information.
    pub info: Option<Arc<str>>,
}

impl Member {
    pub(crate) fn held_bytes(&self) -> usize {
        MEMBER_BYTES + self.user.len() + self.info.as_ref().map_or(0, |info| info.len())
    }
}

/// The change of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberStep {
    /// It comes.
    Comes,
    /// It leaves.
    Leaves,
}

/// Some of a channel's members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// The number of members.
    pub total: u64,
    /// The first of them, sorted by name.
    pub some: Vec<Member>,
}

/// The members of a channel on one scheduler.
#[derive(Debug, Default)]
pub(crate) struct Here(HashMap<Arc<str>, (Member, u32)>);

impl Here {
    /// A subscription of a user begins. `true`: it is the first.
    pub(crate) fn come(&mut self, member: &Member) -> bool {
        let unknown = || (member.clone(), 0);
        let (_, count) = self.0.entry(Arc::clone(&member.user)).or_insert_with(unknown);
        *count += 1;
        *count == 1
    }

    /// A subscription ends. If it was the last, returns the member.
    pub(crate) fn leave(&mut self, user: &str) -> Option<Member> {
        let (_, count) = self.0.get_mut(user)?;
        *count -= 1;
        if *count > 0 {
            return None;
        }
        self.0.remove(user).map(|(member, _)| member)
    }

    pub(crate) fn held_bytes(&self) -> usize {
        self.0.values().map(|(member, _)| member.held_bytes()).sum()
    }
}

/// Where a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whereabouts {
    /// On a scheduler of this node.
    Scheduler(Endpoint),
    /// On another node.
    Node(ClusterNode),
}

/// The scope in which a step of a member is the first or the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepReach {
    /// The member is still, or was already, on this node and perhaps on others.
    Nothing,
    /// It is the first or last on this node, and the member is on others.
    Node,
    /// The member is nowhere else, and this was on another node.
    Elsewhere,
    /// The member is nowhere else, and this was on this node.
    All,
}

/// A member, and whether it is still there.
#[derive(Debug)]
struct Placed {
    member: Member,
    places: Vec<Whereabouts>,
}

/// The members of a channel on all schedulers and nodes, as its home knows them.
#[derive(Debug, Default)]
pub(crate) struct Everywhere(BTreeMap<Arc<str>, Placed>);

impl Placed {
    fn is_on_this_node(&self) -> bool {
        self.places.iter().any(|place| matches!(place, Whereabouts::Scheduler(_)))
    }

    /// The scope of a step at this place, without regard to the place itself.
    fn reach(&self, at: Whereabouts) -> StepReach {
        match at {
            Whereabouts::Node(_) if self.places.is_empty() => StepReach::Elsewhere,
            Whereabouts::Scheduler(_) if self.places.is_empty() => StepReach::All,
            Whereabouts::Scheduler(_) if !self.is_on_this_node() => StepReach::Node,
            _ => StepReach::Nothing,
        }
    }
}

impl Everywhere {
    /// A member is now at this place.
    pub(crate) fn come(&mut self, member: &Member, at: Whereabouts) -> StepReach {
        let unknown = || Placed { member: member.clone(), places: Vec::new() };
        let placed = self.0.entry(Arc::clone(&member.user)).or_insert_with(unknown);
        let reach = placed.reach(at);
        if placed.places.contains(&at) {
            return StepReach::Nothing;
        }
        placed.places.push(at);
        reach
    }

    /// A member is no longer at this place.
    pub(crate) fn leave(&mut self, user: &str, at: Whereabouts) -> (StepReach, Option<Member>) {
        let Some(placed) = self.0.get_mut(user) else { return (StepReach::Nothing, None) };
        let before = placed.places.len();
        placed.places.retain(|place| *place != at);
        if placed.places.len() == before {
            return (StepReach::Nothing, None);
        }
        let reach = placed.reach(at);
        if !placed.places.is_empty() {
            return (reach, None);
        }
        (reach, self.0.remove(user).map(|placed| placed.member))
    }

    pub(crate) fn held_bytes(&self) -> usize {
        self.0.values().map(|placed| placed.member.held_bytes()).sum()
    }

    pub(crate) fn some(&self, most: usize) -> Members {
        let some = self.0.values().take(most).map(|placed| placed.member.clone()).collect();
        Members { total: self.0.len() as u64, some }
    }

    fn after(&self, user: Option<&str>) -> impl Iterator<Item = &Placed> {
        let begin = user.map_or(Bound::Unbounded, Bound::Excluded);
        self.0.range::<str, _>((begin, Bound::Unbounded)).map(|(_, placed)| placed)
    }

    /// The members on this node after a user, as many as have at most so many bytes together, and one at least.
    pub(crate) fn here_after(
        &self,
        user: Option<&str>,
        most_bytes: usize,
    ) -> (Vec<Member>, Remainder) {
        let (mut members, mut bytes) = (Vec::new(), 0);
        for placed in self.after(user).filter(|placed| placed.is_on_this_node()) {
            bytes += placed.member.held_bytes();
            if bytes > most_bytes && !members.is_empty() {
                return (members, Remainder::Some);
            }
            members.push(placed.member.clone());
        }
        (members, Remainder::None)
    }

    /// The users on another node: those after one, up to and with another one, at most so many.
    pub(crate) fn of_node(
        &self,
        node: ClusterNode,
        (after, last): (Option<&str>, Option<&str>),
        most: usize,
    ) -> Vec<Arc<str>> {
        let range = self
            .after(after)
            .take_while(|placed| last.is_none_or(|last| *placed.member.user <= *last));
        let there = range.filter(|placed| placed.places.contains(&Whereabouts::Node(node)));
        there.take(most).map(|placed| Arc::clone(&placed.member.user)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_there_from_its_first_subscription_to_its_last() {
        let member = Member { user: "ann".into(), info: None };
        let other = Member { info: Some("1".into()), ..member.clone() };
        let mut here = Here::default();
        assert_eq!((here.come(&member), here.come(&other)), (true, false));
        assert_eq!(here.held_bytes(), member.held_bytes());
        assert_eq!((here.leave("ann"), here.leave("ann")), (None, Some(member.clone())));
        assert_eq!((here.leave("ann"), here.held_bytes()), (None, 0));

        let at = |number| Whereabouts::Scheduler(Endpoint(number));
        let mut everywhere = Everywhere::default();
        assert_eq!(everywhere.come(&member, at(0)), StepReach::All);
        assert_eq!(everywhere.come(&other, at(1)), StepReach::Nothing);
        assert_eq!(everywhere.come(&member, at(1)), StepReach::Nothing);
        assert_eq!(everywhere.some(9), Members { total: 1, some: vec![member.clone()] });
        assert_eq!(everywhere.some(0), Members { total: 1, some: Vec::new() });
        assert_eq!(everywhere.leave("ann", at(1)), (StepReach::Nothing, None));
        assert_eq!(everywhere.leave("bob", at(0)), (StepReach::Nothing, None));
        assert_eq!(everywhere.leave("ann", at(0)), (StepReach::All, Some(member)));
        let again = everywhere.leave("ann", at(0));
        assert_eq!((again, everywhere.held_bytes()), ((StepReach::Nothing, None), 0));
    }

    #[test]
    fn the_members_of_another_node_are_told_from_those_of_this_one() {
        let user = |name: &str| Member { user: name.into(), info: None };
        let here = Whereabouts::Scheduler(Endpoint(0));
        let there = Whereabouts::Node(ClusterNode(7));
        let mut all = Everywhere::default();
        assert_eq!(all.come(&user("b"), there), StepReach::Elsewhere);
        assert_eq!(all.come(&user("b"), here), StepReach::Node);
        assert_eq!(all.come(&user("a"), here), StepReach::All);
        assert_eq!(all.come(&user("a"), there), StepReach::Nothing);
        all.come(&user("c"), here);
        all.come(&user("d"), there);
        assert_eq!(all.leave("b", here), (StepReach::Node, None));
        assert_eq!(all.here_after(None, usize::MAX), (vec![user("a"), user("c")], Remainder::None));
        assert_eq!(all.here_after(None, 1), (vec![user("a")], Remainder::Some));
        assert_eq!(all.here_after(Some("a"), 1), (vec![user("c")], Remainder::None));
        let names = |after, last, most| {
            let names = all.of_node(ClusterNode(7), (after, last), most);
            names.iter().map(|name| name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names(None, None, 9), ["a", "b", "d"]);
        assert_eq!(names(Some("a"), Some("c"), 9), ["b"]);
        assert_eq!(names(None, None, 1), ["a"]);
    }
}
