//! Rate limits of publishers.
//!
//! Owns the account of each publisher per rule section: a user by name, others by the address of
//! their client. It is the time at which the next message conforms to the rate (the generic cell
//! rate algorithm, ITU-T I.371), with a burst of one second.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use ahash::HashMap;

use crate::limits::PUBLISHERS;
use crate::rights::Sender;

const SECOND_US: u64 = 1_000_000;

/// A publisher.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum By {
    User(Arc<str>),
    Address(IpAddr),
}

impl By {
    /// `None` for the server, and for clients of a Unix socket, which cannot be told apart.
    fn of(sender: Sender<'_>) -> Option<Self> {
        let member = sender.rights.pass().and_then(|pass| pass.member.as_ref());
        if let Some(member) = member {
            return Some(Self::User(Arc::clone(&member.user)));
        }
        sender.address.filter(|address| !address.is_unspecified()).map(|address| {
            Self::Address(match address {
                IpAddr::V4(_) => address,
                // A host has a whole network of these (RFC 6177).
                IpAddr::V6(address) => {
                    let network = address.to_bits() >> 64 << 64;
                    IpAddr::V6(Ipv6Addr::from_bits(network))
                }
            })
        })
    }
}

/// The accounts of publishers.
#[derive(Debug, Default)]
pub(super) struct Rates {
    due_us: HashMap<(usize, By), u64>,
}

impl Rates {
    /// Whether a publisher may publish a message now, in a section with this rate per second.
    pub(super) fn admit(
        &mut self,
        section: usize,
        per_second: u32,
        sender: Sender<'_>,
        now_ms: u64,
    ) -> bool {
        let Some(by) = By::of(sender) else { return true };
        let (now_us, step_us) = (now_ms * 1_000, SECOND_US / u64::from(per_second.max(1)));
        let key = (section, by);
        if self.due_us.len() >= PUBLISHERS && !self.due_us.contains_key(&key) {
            self.make_room();
        }
        let due_us = self.due_us.entry(key).or_insert(now_us);
        let next_us = (*due_us).max(now_us) + step_us;
        let is_within = next_us <= now_us + SECOND_US;
        if is_within {
            *due_us = next_us;
        }
        is_within
    }

    fn make_room(&mut self) {
        // One of very many publishers may publish a second's worth more. A search for old ones would cost as much for
        // each new one.
        if let Some(one) = self.due_us.keys().next().cloned() {
            self.due_us.remove(&one);
        }
    }

    /// Removes those that may publish a whole second's worth.
    pub(super) fn forget_old(&mut self, now_ms: u64) {
        self.due_us.retain(|_, due_us| *due_us > now_ms * 1_000);
    }

    /// New rules are in force.
    pub(super) fn clear(&mut self) {
        self.due_us.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member::Member;
    use crate::rights::{Credential, Rights};
    use crate::token::Pass;

    #[test]
    fn a_publisher_has_a_second_at_once_and_then_its_rate() {
        let mut rates = Rates::default();
        let rights = Rights::ANYBODY;
        let admitted = |rates: &mut Rates, address: &str, now_ms| {
            let sender = Sender { rights: &rights, address: address.parse().ok() };
            (0..50).filter(|_| rates.admit(0, 10, sender, now_ms)).count()
        };
        assert_eq!(admitted(&mut rates, "10.0.0.1", 5_000), 10);
        assert_eq!(admitted(&mut rates, "10.0.0.2", 5_000), 10, "each has its own");
        assert_eq!(admitted(&mut rates, "10.0.0.1", 5_300), 3);
        assert_eq!(admitted(&mut rates, "10.0.0.1", 9_000), 10, "and no more than a second's");
        assert_eq!(admitted(&mut rates, "2001:db8::1", 9_000), 10);
        assert_eq!(admitted(&mut rates, "2001:db8::2", 9_000), 0, "of the same network");
        assert_eq!(admitted(&mut rates, "0.0.0.0", 9_000), 50, "a Unix socket");
        rates.forget_old(10_000);
        assert!(rates.due_us.is_empty());
    }

    #[test]
    fn a_user_is_one_publisher_wherever_it_is() {
        let mut rates = Rates::default();
        let user = |name: &str| Member { user: name.into(), info: None };
        let rights =
            |name| Rights::new(Credential::Token(Pass::of_user(user(name), u64::MAX).into()), None);
        let (ann, bob) = (rights("ann"), rights("bob"));
        let mut admits = |rights, address: &str, section| {
            let sender = Sender { rights, address: address.parse().ok() };
            rates.admit(section, 1, sender, 1_000)
        };
        assert!(admits(&ann, "10.0.0.1", 0) && !admits(&ann, "10.0.0.2", 0));
        assert!(admits(&bob, "10.0.0.1", 0) && admits(&ann, "10.0.0.1", 1));
        let server = Sender { rights: &Rights::ALL, address: None };
        assert!((0..10).all(|_| rates.admit(0, 1, server, 1_000)));
    }

    #[test]
    fn very_many_publishers_have_their_bound() {
        let mut rates = Rates::default();
        for number in 0..PUBLISHERS as u32 + 10 {
            let address = Some(IpAddr::V4(number.to_be().into()));
            rates.admit(0, 1, Sender { rights: &Rights::ANYBODY, address }, 1_000);
        }
        assert!(rates.due_us.len() <= PUBLISHERS);
    }
}
