//! The users that subscribe to a channel.
//!
//! Owns who is present: on this scheduler by number of subscriptions, at the channel's home by
//! scheduler.

use std::collections::BTreeMap;
use std::sync::Arc;

use ahash::HashMap;
use runtime::mailbox::Endpoint;

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
pub(crate) enum Step {
    Comes,
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

/// The members of a channel on all schedulers, as its home knows them.
#[derive(Debug, Default)]
pub(crate) struct Everywhere(BTreeMap<Arc<str>, (Member, Vec<Endpoint>)>);

impl Everywhere {
    /// A member is now on a scheduler. `true`: it was on none before.
    pub(crate) fn come(&mut self, member: &Member, at: Endpoint) -> bool {
        let unknown = || (member.clone(), Vec::new());
        let (_, places) = self.0.entry(Arc::clone(&member.user)).or_insert_with(unknown);
        let is_first = places.is_empty();
        if !places.contains(&at) {
            places.push(at);
        }
        is_first
    }

    /// A member is no longer on a scheduler. If it is on none now, returns the member.
    pub(crate) fn leave(&mut self, user: &str, at: Endpoint) -> Option<Member> {
        let (_, places) = self.0.get_mut(user)?;
        places.retain(|place| *place != at);
        if !places.is_empty() {
            return None;
        }
        self.0.remove(user).map(|(member, _)| member)
    }

    pub(crate) fn held_bytes(&self) -> usize {
        self.0.values().map(|(member, _)| member.held_bytes()).sum()
    }

    pub(crate) fn some(&self, most: usize) -> Members {
        let some = self.0.values().take(most).map(|(member, _)| member.clone()).collect();
        Members { total: self.0.len() as u64, some }
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

        let mut everywhere = Everywhere::default();
        assert!(everywhere.come(&member, Endpoint(0)));
        assert!(!everywhere.come(&other, Endpoint(1)) && !everywhere.come(&member, Endpoint(1)));
        assert_eq!(everywhere.some(9), Members { total: 1, some: vec![member.clone()] });
        assert_eq!(everywhere.some(0), Members { total: 1, some: Vec::new() });
        assert_eq!(
            (everywhere.leave("ann", Endpoint(1)), everywhere.leave("bob", Endpoint(0))),
            (None, None)
        );
        assert_eq!(everywhere.leave("ann", Endpoint(0)), Some(member));
        assert_eq!((everywhere.leave("ann", Endpoint(0)), everywhere.held_bytes()), (None, 0));
    }
}
