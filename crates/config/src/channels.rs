//! `[[channel]]`: the channels for clients, and their rules.
//!
//! Owns the keys of that section. Never compares a name with a pattern.

use std::path::Path;
use std::time::Duration;

use super::access::{AcceptedNames, show_names, subjects};
use super::choice::choice;
use super::key::{Absent, ChangeEffect, ConfigKey, SectionKeys, Value, show_choice, show_text};
use super::section::Section;
use super::value::{module_name, whole, word};
use super::{ChannelKeyFiles, Config, Problems, TextPosition};
use crate::limits;

/// One `[[channel]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelRules {
    /// The names to which it applies.
    pub pattern: String,
    /// The access of subscribers.
    pub subscribe: ChannelAccess,
    /// The certificates that subscribers need besides.
    pub subscribe_certificate: Option<AcceptedNames>,
    /// The access of publishers.
    pub publish: ChannelAccess,
    /// The certificates that publishers need besides.
    pub publish_certificate: Option<AcceptedNames>,
    /// Maximum number of messages in the history.
    pub history: u64,
    /// Maximum bytes of the history.
    pub history_size: u64,
    /// How long a message is kept.
    pub history_age: Duration,
    /// Whether subscribers see which users subscribe.
    pub presence: bool,
    /// What happens to a subscriber that is too slow.
    pub slow: SlowSubscriber,
    /// Bytes that may wait for a subscriber.
    pub behind: u64,
    /// Maximum bytes of a message.
    pub message_size: u64,
    /// Messages per second of each publisher; `None` for no limit.
    pub rate: Option<u64>,
    /// The app module that decides about each subscription and message.
    pub module: Option<String>,
    /// Where the section is.
    pub place: TextPosition,
}

/// The access of clients to an action on a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelAccess {
    /// Every client.
    Open,
    /// Clients with a token that names the channel.
    Token,
    /// No client.
    None,
}

/// What happens to a subscriber for which too much waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlowSubscriber {
    /// Its connection is closed.
    Disconnect,
    /// It misses the oldest messages.
    DropOldest,
    /// It gets only the latest message.
    Latest,
}

impl Default for ChannelRules {
    fn default() -> Self {
        Self {
            pattern: String::new(),
            subscribe: ChannelAccess::Open,
            subscribe_certificate: None,
            publish: ChannelAccess::Open,
            publish_certificate: None,
            history: 0,
            history_size: limits::CHANNEL_HISTORY_SIZE,
            history_age: limits::CHANNEL_HISTORY_AGE,
            presence: false,
            slow: SlowSubscriber::Disconnect,
            behind: limits::CHANNEL_BEHIND,
            message_size: limits::CHANNEL_MESSAGE_SIZE,
            rate: None,
            module: None,
            place: TextPosition::default(),
        }
    }
}

const ACCESSES: [(&str, ChannelAccess); 3] =
    [("open", ChannelAccess::Open), ("token", ChannelAccess::Token), ("none", ChannelAccess::None)];

const SLOW: [(&str, SlowSubscriber); 3] = [
    ("disconnect", SlowSubscriber::Disconnect),
    ("drop_oldest", SlowSubscriber::DropOldest),
    ("latest", SlowSubscriber::Latest),
];

/// The rules being read or shown: the rows refer to a configuration, of which only these are used.
fn rules(config: &mut Config) -> &mut ChannelRules {
    if config.channels.is_empty() {
        config.channels.push(ChannelRules::default());
    }
    &mut config.channels[0]
}

/// Passes the rules to a function that shows them.
fn shown<T>(config: &Config, show: impl FnOnce(&ChannelRules) -> T) -> T {
    let default = ChannelRules::default();
    show(config.channels.first().unwrap_or(&default))
}

/// Reads all `[[channel]]`, in their order.
pub(super) fn read(
    top: &Section<'_>,
    keys: &ChannelKeyFiles,
    base: &Path,
    problems: &mut Problems,
) -> Vec<ChannelRules> {
    let sections = top.sections("channel", &CHANNEL, problems);
    sections.iter().filter_map(|section| read_one(section, keys, base, problems)).collect()
}

fn read_one(
    section: &Section<'_>,
    keys: &ChannelKeyFiles,
    base: &Path,
    problems: &mut Problems,
) -> Option<ChannelRules> {
    if !section.has("pattern") {
        problems.at(section.offset, "[[channel]] has no `pattern`; write \"chat.*\"");
        return None;
    }
    let mut config = Config::defaults("", base);
    let before = problems.len();
    section.apply(&mut config, base, problems);
    let mut read = rules(&mut config).clone();
    read.place = problems.place(section.offset);
    if read.history == 0 && read.slow != SlowSubscriber::Disconnect {
        let offset = section.item("slow").map_or(section.offset, |item| item.offset);
        let why = "`slow` needs a history to take messages from; add `history = 100`";
        problems.at(offset, why);
    }
    let certificates = [
        ("subscribe_certificate", read.subscribe, &read.subscribe_certificate),
        ("publish_certificate", read.publish, &read.publish_certificate),
    ];
    for (key, access, certificate) in certificates {
        if access == ChannelAccess::None && certificate.is_some() {
            let offset = section.item(key).map_or(section.offset, |item| item.key_offset);
            problems.at(offset, format!("`{key}` has no effect where no client may do it"));
        }
    }
    for (key, access) in [("subscribe", read.subscribe), ("publish", read.publish)] {
        if access == ChannelAccess::Token && keys.token_keys.is_none() {
            let offset = section.item(key).map_or(section.offset, |item| item.offset);
            let why = format!(
                "`{key}` needs keys to know tokens by; add `token_keys = \"FILE\"` to [channels]"
            );
            problems.at(offset, why);
        }
    }
    (problems.len() == before).then_some(read)
}

pub(super) static CHANNEL: SectionKeys = SectionKeys {
    name: "[[channel]]",
    own: &[
        ConfigKey {
            name: "pattern",
            value: Value::Own {
                takes: "text",
                read: |config, item, _| {
                    rules(config).pattern = word(item)?;
                    Ok(())
                },
                show: |config| {
                    shown(config, |rules| {
                        (!rules.pattern.is_empty()).then(|| show_text(&rules.pattern))
                    })
                },
            },
            absent: Absent::Words("must be given"),
            change: ChangeEffect::Reload,
            text: "The channel names of this section: `\"news\"`; `\"chat.*\"` for every name that begins with `chat.`. `*` matches any characters, `?` one, `[a-z]` one of these, as in Redis. The first section that matches a name applies. HTTP clients can use only channels with a section.",
        },
        ConfigKey {
            name: "subscribe",
            value: Value::Own {
                takes: "`\"open\"`, `\"token\"` or `\"none\"`",
                read: |config, item, _| {
                    rules(config).subscribe = choice(item, &ACCESSES)?;
                    Ok(())
                },
                show: |config| shown(config, |rules| show_choice(&ACCESSES, &rules.subscribe)),
            },
            absent: Absent::Default,
            change: ChangeEffect::Reload,
            text: "Who may subscribe: every client, clients with a [token](channels.md#tokens) that names the channel, or none.",
        },
        ConfigKey {
            name: "subscribe_certificate",
            value: Value::Own {
                takes: "`\"any\"`, or a list of subjects or SHA-256 fingerprints",
                read: |config, item, _| {
                    rules(config).subscribe_certificate = Some(subjects(item)?);
                    Ok(())
                },
                show: |config| {
                    shown(config, |rules| rules.subscribe_certificate.as_ref().map(show_names))
                },
            },
            absent: Absent::Words("no certificate"),
            change: ChangeEffect::Reload,
            text: "Subscribers need this certificate of a client besides, as [`certificate` of `access`](#access) names it, over every protocol.",
        },
        ConfigKey {
            name: "publish",
            value: Value::Own {
                takes: "`\"open\"`, `\"token\"` or `\"none\"`",
                read: |config, item, _| {
                    rules(config).publish = choice(item, &ACCESSES)?;
                    Ok(())
                },
                show: |config| shown(config, |rules| show_choice(&ACCESSES, &rules.publish)),
            },
            absent: Absent::Default,
            change: ChangeEffect::Reload,
            text: "Who may publish: every client, clients with a [token](channels.md#tokens) that names the channel, or none. Pages may in any case.",
        },
        ConfigKey {
            name: "publish_certificate",
            value: Value::Own {
                takes: "`\"any\"`, or a list of subjects or SHA-256 fingerprints",
                read: |config, item, _| {
                    rules(config).publish_certificate = Some(subjects(item)?);
                    Ok(())
                },
                show: |config| {
                    shown(config, |rules| rules.publish_certificate.as_ref().map(show_names))
                },
            },
            absent: Absent::Words("no certificate"),
            change: ChangeEffect::Reload,
            text: "The same for publishers.",
        },
        ConfigKey {
            name: "history",
            value: Value::Whole(
                |config| &mut rules(config).history,
                0..=limits::CHANNEL_HISTORY_MAX,
            ),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "The number of recent messages to keep, so that a client that reconnects receives what it missed.",
        },
        ConfigKey {
            name: "history_size",
            value: Value::Size(
                |config| &mut rules(config).history_size,
                1..=limits::CHANNEL_HISTORY_SIZE_MAX,
            ),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "The size of the history of a channel. All histories of a scheduler together are limited to 64 MiB.",
        },
        ConfigKey {
            name: "history_age",
            value: Value::Deadline(|config| &mut rules(config).history_age),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "How long a message is kept.",
        },
        ConfigKey {
            name: "presence",
            value: Value::Boolean(|config| &mut rules(config).presence),
            absent: Absent::Default,
            change: ChangeEffect::Reload,
            text: "Whether subscribers see which users are subscribed (those whose token has a `sub`). They are notified of users that join and leave, and can [request the list](channels.md#presence).",
        },
        ConfigKey {
            name: "slow",
            value: Value::Own {
                takes: "`\"disconnect\"`, `\"drop_oldest\"` or `\"latest\"`",
                read: |config, item, _| {
                    rules(config).slow = choice(item, &SLOW)?;
                    Ok(())
                },
                show: |config| shown(config, |rules| show_choice(&SLOW, &rules.slow)),
            },
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "What happens to a subscriber with more than `behind` bytes waiting: its connection is closed (a WebSocket with code 4008), or it later receives the messages that the history still has, or only the latest one.",
        },
        ConfigKey {
            name: "behind",
            value: Value::Size(
                |config| &mut rules(config).behind,
                1024..=limits::CHANNEL_BEHIND_MAX,
            ),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "How many bytes may wait for a subscriber.",
        },
        ConfigKey {
            name: "message_size",
            value: Value::Size(
                |config| &mut rules(config).message_size,
                1..=limits::CHANNEL_MESSAGE_SIZE_MAX,
            ),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "The maximum size of a message; a longer one is refused.",
        },
        ConfigKey {
            name: "rate",
            value: Value::Own {
                takes: "whole number, 1 to 1000000",
                read: |config, item, _| {
                    rules(config).rate = Some(whole(item, 1..=limits::CHANNEL_RATE_MAX)?);
                    Ok(())
                },
                show: |config| shown(config, |rules| rules.rate.map(|rate| rate.to_string())),
            },
            absent: Absent::Words("any number"),
            change: ChangeEffect::Live,
            text: "How many messages per second, and in a burst, a publisher may publish on one scheduler. A publisher is the user of a token, or all clients of an address (IPv6: a /64 network) without a token. Further messages are refused, over HTTP with 429. Pages, programs with an API key, and clients of a Unix socket without a token are not limited.",
        },
        ConfigKey {
            name: "module",
            value: Value::Own {
                takes: "name",
                read: |config, item, _| {
                    rules(config).module = Some(module_name(item)?);
                    Ok(())
                },
                show: |config| shown(config, |rules| rules.module.as_ref().map(show_text)),
            },
            absent: Absent::Words("none"),
            change: ChangeEffect::Reload,
            text: "The [app module](channels.md#authorise-in-a-module) that authorises each subscription and each message of a client: `\"rooms\"` is `app/rooms.lua`. What it does not allow is refused. It is not asked about pages and programs with an API key.",
        },
    ],
    shared: &[],
    shared_in: "",
};
