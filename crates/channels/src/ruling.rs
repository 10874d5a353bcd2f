//! The rights that the rules of a channel give.
//!
//! Owns the one check of a client against the rules: no other code makes a right, and what the hub does for a client
//! takes one. A right names its channel with the rules already found, so that the hub does not look for them again.
//! Never asks the module of a channel: a [`Ruling`] gives its right only to a caller that does.

use std::sync::Arc;

use crate::outcome::ChannelRefusal;
use crate::question::{MembersOf, SubscriberQuery};
use crate::rights::{Rights, Sender};
use crate::ruled::{RuleNumber, Ruled};
use crate::rules::{ChannelPolicy, Rulebook};

/// The channels that a protocol offers its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelScope {
    /// Those with a section in the rules.
    Configured,
    /// Any.
    Any,
}

/// The right to publish to a channel.
#[derive(Clone, Copy, Debug)]
pub struct PublishRight<'r> {
    channel: Ruled<'r>,
    sender: Sender<'r>,
}

impl<'r> PublishRight<'r> {
    pub(crate) fn channel(&self) -> Ruled<'r> {
        self.channel
    }

    pub(crate) fn sender(&self) -> Sender<'r> {
        self.sender
    }
}

/// The right to subscribe to a channel, to read its history, and to know its members.
#[derive(Clone, Copy, Debug)]
pub struct SubscribeRight<'r> {
    channel: Ruled<'r>,
    rights: &'r Rights,
}

impl<'r> SubscribeRight<'r> {
    pub(crate) fn channel(&self) -> Ruled<'r> {
        self.channel
    }

    pub(crate) fn rights(&self) -> &'r Rights {
        self.rights
    }

    /// The rules of the channel.
    pub fn rule(&self) -> RuleNumber {
        self.channel.rule()
    }

    /// Asks for the members of the channel, at most this many.
    pub fn members(&self, most: usize) -> SubscriberQuery {
        SubscriberQuery::Members(MembersOf::new(self.channel.name(), most))
    }

    /// The same right for a process that begins later in this turn.
    pub fn keep(&self) -> KeptRight {
        let (name, rule) = (self.channel.name().into(), self.channel.rule());
        KeptRight { name, rule, rights: self.rights.clone() }
    }
}

/// A [`SubscribeRight`] that borrows nothing.
#[derive(Debug)]
pub struct KeptRight {
    name: Box<str>,
    rule: RuleNumber,
    rights: Rights,
}

impl KeptRight {
    /// The right.
    pub fn to_subscribe(&self) -> SubscribeRight<'_> {
        SubscribeRight { channel: Ruled::new(&self.name, self.rule), rights: &self.rights }
    }

    /// The name of the channel.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The rights of the server itself, for which the rules do not apply, to a channel with this name.
#[derive(Clone, Copy, Debug)]
pub struct ServerRight<N> {
    name: N,
    rule: RuleNumber,
}

impl<N: AsRef<str>> ServerRight<N> {
    /// The rules of the channel, which limit its messages also for the server.
    pub fn rule(&self) -> RuleNumber {
        self.rule
    }

    /// The right to publish.
    pub fn to_publish(&self) -> PublishRight<'_> {
        PublishRight { channel: Ruled::new(self.name.as_ref(), self.rule), sender: Sender::SERVER }
    }

    /// The right to subscribe.
    pub fn to_subscribe(&self) -> SubscribeRight<'_> {
        SubscribeRight { channel: Ruled::new(self.name.as_ref(), self.rule), rights: &Rights::ALL }
    }
}

/// A right that the rules of a channel give a client, and that the channel's module may still refuse.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Ruling<R> {
    right: R,
    /// The rules that name the module, if one decides.
    decided_by: Option<RuleNumber>,
}

impl<R> Ruling<R> {
    fn new(right: R, rule: RuleNumber, rules: &ChannelPolicy, rights: &Rights) -> Self {
        let has_module = rules.module.is_some() && !rights.are_all();
        Self { right, decided_by: has_module.then_some(rule) }
    }

    /// The right, if the module of these rules allows it. Without a module, none is asked.
    ///
    /// # Errors
    /// Those of the module.
    pub fn decide<E>(self, ask: impl FnOnce(RuleNumber) -> Result<(), E>) -> Result<R, E> {
        if let Some(rule) = self.decided_by {
            ask(rule)?;
        }
        Ok(self.right)
    }
}

impl Rulebook {
    /// The rights of the server to a channel. They are found with the rules, and so are good as long as these.
    pub fn server_right<N: AsRef<str>>(&self, name: N) -> ServerRight<N> {
        let rule = self.find(name.as_ref()).rule();
        ServerRight { name, rule }
    }

    /// Whether a client may publish to a channel.
    pub(crate) fn may_publish<'r>(
        &self,
        name: &'r str,
        scope: ChannelScope,
        sender: Sender<'r>,
    ) -> Result<Ruling<PublishRight<'r>>, ChannelRefusal> {
        let (channel, rules) = self.find_within(name, scope)?;
        sender.rights.to_publish(name, rules)?;
        Ok(Ruling::new(PublishRight { channel, sender }, channel.rule(), rules, sender.rights))
    }

    /// Whether a client may subscribe to a channel.
    pub(crate) fn may_subscribe<'r>(
        &self,
        name: &'r str,
        scope: ChannelScope,
        rights: &'r Rights,
    ) -> Result<Ruling<SubscribeRight<'r>>, ChannelRefusal> {
        let (channel, rules) = self.find_within(name, scope)?;
        rights.to_subscribe(name, rules)?;
        Ok(Ruling::new(SubscribeRight { channel, rights }, channel.rule(), rules, rights))
    }

    fn find_within<'n>(
        &self,
        name: &'n str,
        scope: ChannelScope,
    ) -> Result<(Ruled<'n>, &Arc<ChannelPolicy>), ChannelRefusal> {
        let channel = self.find(name);
        if scope == ChannelScope::Configured && channel.rule().section() == 0 {
            return Err(ChannelRefusal::Unknown);
        }
        Ok((channel, self.rules_of(channel)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glob::ChannelGlob;

    fn book(rules: ChannelPolicy) -> Rulebook {
        Rulebook::new([
            (ChannelGlob::new("other"), ChannelPolicy::default()),
            (ChannelGlob::new("a*"), rules),
        ])
    }

    #[test]
    fn a_right_of_other_rules_is_found_again() {
        let small = book(ChannelPolicy { message_size: 3, ..ChannelPolicy::default() });
        let channel = small.find("ab");
        assert_eq!((channel.rule().section(), small.renew(channel).rule()), (2, channel.rule()));
        assert_eq!(small.policy(channel.rule()).map(|rules| rules.message_size), Some(3));
        let empty = Rulebook::default();
        assert_eq!(empty.policy(channel.rule()), None);
        assert_eq!(empty.renew(channel).rule().section(), 0);
        let renewed = small.renew(empty.find("ab"));
        assert_eq!(small.rules_of(renewed).message_size, 3);
    }

    #[test]
    fn a_module_decides_about_clients_and_not_about_the_server() {
        let module = Some("rooms".into());
        let book = book(ChannelPolicy { module, ..ChannelPolicy::default() });
        let ask = |name, rights| {
            let ruling = book.may_subscribe(name, ChannelScope::Any, rights)?;
            Ok::<_, ChannelRefusal>(ruling.decide(Err::<(), _>).map(|right| right.rule().section()))
        };
        let rule = book.find("a").rule();
        assert_eq!(ask("a", &Rights::ANYBODY), Ok(Err(rule)));
        assert_eq!(ask("a", &Rights::ALL), Ok(Ok(2)));
        assert_eq!(ask("other", &Rights::ANYBODY), Ok(Ok(1)));
        assert_eq!(ask("none", &Rights::ANYBODY), Ok(Ok(0)));
        let configured =
            book.may_subscribe("none", ChannelScope::Configured, &Rights::ALL).map(drop);
        assert_eq!(configured, Err(ChannelRefusal::Unknown));
    }
}
