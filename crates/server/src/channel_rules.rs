//! The channel settings of the configuration, as rules for the crate `channels`.
//!
//! Owns the translation, and that both have the same defaults.

use std::sync::Arc;

use channels::{
    Access, CertificateRule, ChannelGlob, ChannelPolicy, HistoryRules, Presence, Rulebook,
    SlowPolicy,
};
use config::{AcceptedNames, ChannelAccess, ChannelRules, SlowSubscriber};
use runtime::clock::milliseconds;

// A channel without a section, which Redis clients may use, has the same defaults as one with a section.
const _: () = {
    assert!(config::limits::CHANNEL_BEHIND == channels::limits::BEHIND);
    assert!(config::limits::CHANNEL_MESSAGE_SIZE == channels::limits::MESSAGE_SIZE);
    assert!(
        config::limits::CHANNEL_HISTORY_SIZE_MAX < channels::limits::HISTORY_BYTES as u64,
        "no channel has all of it"
    );
    assert!(
        config::limits::CHANNEL_MESSAGE_SIZE_MAX < wire::limits::RESP_COMMAND_SIZE as u64,
        "a command can carry the largest message"
    );
};

pub(crate) fn rulebook(configured: &[ChannelRules]) -> Rulebook {
    Rulebook::new(configured.iter().map(|of| (ChannelGlob::new(&of.pattern), rules(of))))
}

fn rules(of: &ChannelRules) -> ChannelPolicy {
    let access = |access| match access {
        ChannelAccess::Open => Access::Open,
        ChannelAccess::Token => Access::Token,
        ChannelAccess::None => Access::Closed,
    };
    ChannelPolicy {
        history: HistoryRules {
            count: u32::try_from(of.history).unwrap_or(u32::MAX),
            bytes: of.history_size,
            age_ms: milliseconds(of.history_age),
        },
        subscribe: access(of.subscribe),
        subscribe_certificate: of.subscribe_certificate.as_ref().map(certificates),
        publish: access(of.publish),
        publish_certificate: of.publish_certificate.as_ref().map(certificates),
        presence: if of.presence { Presence::On } else { Presence::Off },
        slow: match of.slow {
            SlowSubscriber::Disconnect => SlowPolicy::Disconnect,
            SlowSubscriber::DropOldest => SlowPolicy::DropOldest,
            SlowSubscriber::Latest => SlowPolicy::Latest,
        },
        behind: of.behind,
        message_size: of.message_size,
        rate: of.rate.map(|rate| u32::try_from(rate).unwrap_or(u32::MAX)),
        module: of.module.as_deref().map(Arc::from),
    }
}

fn certificates(of: &AcceptedNames) -> CertificateRule {
    match of {
        AcceptedNames::Any => CertificateRule::Any,
        AcceptedNames::These(names) => {
            CertificateRule::These(names.iter().map(|name| (**name).into()).collect())
        }
    }
}
