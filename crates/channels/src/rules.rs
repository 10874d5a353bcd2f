//! The configured rules of channels.
//!
//! Owns which rules a name has: those of the first matching pattern. Never reads a file.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use runtime::transport::ClientCertificate;

use crate::glob::ChannelGlob;
use crate::limits;
use crate::ruled::{RuleNumber, Ruled};

/// The access of clients to an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Every client.
    Open,
    /// Clients whose token names the channel.
    Token,
    /// No client. Pages and the server itself may.
    Closed,
}

/// The certificates of clients that an action needs, besides its access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateRule {
    /// Any that the listener accepts.
    Any,
    /// Those that one of these names: a subject or a fingerprint.
    These(Arc<[Box<str>]>),
}

impl CertificateRule {
    /// Whether the certificate of a connection is among them.
    pub fn have(&self, shown: Option<&ClientCertificate>) -> bool {
        shown.is_some_and(|certificate| match self {
            Self::Any => true,
            Self::These(names) => names.iter().any(|name| certificate.is_named(name)),
        })
    }
}

/// The treatment of a subscriber for which more than the limit waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowPolicy {
    /// Its connection ends with a code that says so.
    Disconnect,
    /// It misses the oldest messages: when it catches up, it gets what the history still has.
    DropOldest,
    /// It gets only the latest message.
    Latest,
}

/// Whether subscribers see which users are subscribed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// No.
    Off,
    /// They are told who joins and leaves, and may ask for all.
    On,
}

/// The limits of a history. If one is 0, nothing is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryRules {
    /// Maximum number of messages.
    pub count: u32,
    /// Maximum bytes of all of them.
    pub bytes: u64,
    /// Maximum milliseconds since a message was published.
    pub age_ms: u64,
}

impl HistoryRules {
    /// Whether anything is kept.
    pub fn keeps(&self) -> bool {
        self.count > 0 && self.bytes > 0 && self.age_ms > 0
    }
}

/// The rules of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelPolicy {
    /// The limits of the history.
    pub history: HistoryRules,
    /// The access of subscribers.
    pub subscribe: Access,
    /// The certificates that subscribers need besides; `None` for none.
    pub subscribe_certificate: Option<CertificateRule>,
    /// The access of publishers.
    pub publish: Access,
    /// The certificates that publishers need besides; `None` for none.
    pub publish_certificate: Option<CertificateRule>,
    /// Whether subscribers see which users are subscribed.
    pub presence: Presence,
    /// The treatment of slow subscribers.
    pub slow: SlowPolicy,
    /// Bytes that may wait for a subscriber.
    pub behind: u64,
    /// Maximum bytes of a message.
    pub message_size: u64,
    /// Messages per second of each publisher; `None` for no limit.
    pub rate: Option<u32>,
    /// The app module that decides about each subscription and message of a client. The connection that receives a
    /// message asks it first.
    pub module: Option<Arc<str>>,
}

impl Default for ChannelPolicy {
    fn default() -> Self {
        Self {
            history: HistoryRules { count: 0, bytes: 0, age_ms: 0 },
            subscribe: Access::Open,
            subscribe_certificate: None,
            publish: Access::Open,
            publish_certificate: None,
            presence: Presence::Off,
            slow: SlowPolicy::Disconnect,
            behind: limits::BEHIND,
            message_size: limits::MESSAGE_SIZE,
            rate: None,
            module: None,
        }
    }
}

/// The rules of all channels.
#[derive(Clone, Debug, Default)]
pub struct Rulebook {
    /// Another one than that of all other rulebooks of the process, except those without rules.
    number: u32,
    rules: Vec<(ChannelGlob, Arc<ChannelPolicy>)>,
    unnamed: Arc<ChannelPolicy>,
}

impl Rulebook {
    /// In this order: the first pattern that matches a name applies.
    pub fn new(rules: impl IntoIterator<Item = (ChannelGlob, ChannelPolicy)>) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let rules = rules.into_iter().map(|(glob, rules)| (glob, Arc::new(rules))).collect();
        let number = MADE.fetch_add(1, Ordering::Relaxed) + 1;
        Self { number, rules, unnamed: Arc::default() }
    }

    /// Their patterns.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|(glob, _)| glob.as_str())
    }

    /// The pattern of the rules of a channel; empty if it has none.
    pub fn pattern_of(&self, name: &str) -> &str {
        self.section(self.find(name).rule()).map_or("", |(glob, _)| glob.as_str())
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether every client may subscribe to every channel.
    pub fn is_open(&self) -> bool {
        let is_open = |rules: &ChannelPolicy| {
            rules.subscribe == Access::Open
                && rules.subscribe_certificate.is_none()
                && rules.module.is_none()
        };
        self.rules.iter().all(|(_, rules)| is_open(rules))
    }

    /// Whether modules decide about any channel.
    pub fn asks(&self) -> bool {
        self.rules.iter().any(|(_, rules)| rules.module.is_some())
    }

    /// A channel with its rules.
    pub(crate) fn find<'n>(&self, name: &'n str) -> Ruled<'n> {
        let place = self.rules.iter().position(|(glob, _)| glob.matches(name));
        Ruled::new(name, RuleNumber::new(self.number, place.map_or(0, |place| place + 1)))
    }

    /// The rules of a channel with this name.
    pub(crate) fn of(&self, name: &str) -> &Arc<ChannelPolicy> {
        self.rules_of(self.find(name))
    }

    /// The same channel, with these rules: others were in force when it was found.
    pub(crate) fn renew<'n>(&self, channel: Ruled<'n>) -> Ruled<'n> {
        if channel.rule().is_of(self.number) { channel } else { self.find(channel.name()) }
    }

    /// The rules of a channel that was found in this rulebook, by default those of an unconfigured one.
    pub(crate) fn rules_of(&self, channel: Ruled<'_>) -> &Arc<ChannelPolicy> {
        self.section(channel.rule()).map_or(&self.unnamed, |(_, rules)| rules)
    }

    /// The rules with this number; `None` if it is of another rulebook.
    pub fn policy(&self, rule: RuleNumber) -> Option<&ChannelPolicy> {
        let is_own = rule.is_of(self.number);
        is_own.then(|| &**self.section(rule).map_or(&self.unnamed, |(_, rules)| rules))
    }

    fn section(&self, rule: RuleNumber) -> Option<&(ChannelGlob, Arc<ChannelPolicy>)> {
        self.rules.get(rule.section().checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_pattern_that_fits_counts() {
        let of = |behind| ChannelPolicy { behind, ..ChannelPolicy::default() };
        let book =
            Rulebook::new([(ChannelGlob::new("a.*"), of(1)), (ChannelGlob::new("*"), of(2))]);
        let behind = |book: &Rulebook, name| book.rules_of(book.find(name)).behind;
        assert_eq!((behind(&book, "a.b"), behind(&book, "b")), (1, 2));
        assert_eq!((book.pattern_of("a.b"), book.pattern_of("b")), ("a.*", "*"));
        let none = Rulebook::default();
        assert_eq!((none.pattern_of("a"), behind(&none, "a")), ("", limits::BEHIND));
    }
}
