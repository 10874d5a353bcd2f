//! `[[channel]]`: the channels for clients, and their rules.
//!
//! Owns the keys of that section. Never compares a name with a pattern.

use std::path::Path;

use crate::access::{show_names, subjects};
use crate::key::{SectionKeys, section, show_text};
use crate::limits;
use crate::model::channel_settings::ChannelKeyFiles;
use crate::model::channels::{ChannelAccess, ChannelRules, SlowSubscriber};
use crate::model::config::Config;
use crate::problem::Problems;
use crate::section::Section;
use crate::value::{module_name, whole, word};

const ACCESSES: [(&str, ChannelAccess); 3] =
    [("open", ChannelAccess::Open), ("token", ChannelAccess::Token), ("none", ChannelAccess::None)];

const SLOW: [(&str, SlowSubscriber); 3] = [
    ("disconnect", SlowSubscriber::Disconnect),
    ("drop_oldest", SlowSubscriber::DropOldest),
    ("latest", SlowSubscriber::Latest),
];

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
        problems.at(section.offset(), "[[channel]] has no `pattern`; write \"chat.*\"");
        return None;
    }
    let mut config = Config::defaults("", base);
    let before = problems.len();
    section.apply(&mut config, base, problems);
    let mut read = config.channels.pop()?;
    read.place = problems.place(section.offset());
    if read.history == 0 && read.slow != SlowSubscriber::Disconnect {
        let offset = section.item("slow").map_or(section.offset(), |item| item.offset);
        let why = "`slow` needs a history to take messages from; add `history = 100`";
        problems.at(offset, why);
    }
    let certificates = [
        ("subscribe_certificate", read.subscribe, &read.subscribe_certificate),
        ("publish_certificate", read.publish, &read.publish_certificate),
    ];
    for (key, access, certificate) in certificates {
        if access == ChannelAccess::None && certificate.is_some() {
            let offset = section.item(key).map_or(section.offset(), |item| item.key_offset);
            problems.at(offset, format!("`{key}` has no effect where no client may do it"));
        }
    }
    for (key, access) in [("subscribe", read.subscribe), ("publish", read.publish)] {
        if access == ChannelAccess::Token && keys.token_keys.is_none() {
            let offset = section.item(key).map_or(section.offset(), |item| item.offset);
            let why = format!(
                "`{key}` needs keys to know tokens by; add `token_keys = \"FILE\"` to [channels]"
            );
            problems.at(offset, why);
        }
    }
    (problems.len() == before).then_some(read)
}

pub(super) static CHANNEL: SectionKeys = section! {
    "[[channel]]";
    "pattern": set(
        first(channels).pattern, "text",
        |item, _| word(item)?,
        |value| (!value.is_empty()).then(|| show_text(value)),
    ), "must be given", Reload,
        "The channel names of this section: `\"news\"`; `\"chat.*\"` for every name that begins with `chat.`. `*` matches any characters, `?` one, `[a-z]` one of these, as in Redis. The first section that matches a name applies. HTTP clients can use only channels with a section.";
    "subscribe": choice(first(channels).subscribe, ACCESSES, "`\"open\"`, `\"token\"` or `\"none\"`"), default, Reload,
        "Who may subscribe: every client, clients with a [token](channels.md#tokens) that names the channel, or none.";
    "subscribe_certificate": set(
        first(channels).subscribe_certificate, "`\"any\"`, or a list of subjects or SHA-256 fingerprints",
        |item, _| Some(subjects(item)?),
        |value| value.as_ref().map(show_names),
    ), "no certificate", Reload,
        "Subscribers need this certificate of a client besides, as [`certificate` of `access`](#access) names it, over every protocol.";
    "publish": choice(first(channels).publish, ACCESSES, "`\"open\"`, `\"token\"` or `\"none\"`"), default, Reload,
        "Who may publish: every client, clients with a [token](channels.md#tokens) that names the channel, or none. Pages may in any case.";
    "publish_certificate": set(
        first(channels).publish_certificate, "`\"any\"`, or a list of subjects or SHA-256 fingerprints",
        |item, _| Some(subjects(item)?),
        |value| value.as_ref().map(show_names),
    ), "no certificate", Reload,
        "The same for publishers.";
    "history": whole(first(channels).history, 0..=limits::CHANNEL_HISTORY_MAX), default, Live,
        "The number of recent messages to keep, so that a client that reconnects receives what it missed.";
    "history_size": size(first(channels).history_size, 1..=limits::CHANNEL_HISTORY_SIZE_MAX), default, Live,
        "The size of the history of a channel. All histories of a scheduler together are limited to 64 MiB.";
    "history_age": deadline(first(channels).history_age), default, Live,
        "How long a message is kept.";
    "presence": boolean(first(channels).presence), default, Reload,
        "Whether subscribers see which users are subscribed (those whose token has a `sub`). They are notified of users that join and leave, and can [request the list](channels.md#presence).";
    "slow": choice(first(channels).slow, SLOW, "`\"disconnect\"`, `\"drop_oldest\"` or `\"latest\"`"), default, Live,
        "What happens to a subscriber with more than `behind` bytes waiting: its connection is closed (a WebSocket with code 4008), or it later receives the messages that the history still has, or only the latest one.";
    "behind": size(first(channels).behind, 1024..=limits::CHANNEL_BEHIND_MAX), default, Live,
        "How many bytes may wait for a subscriber.";
    "message_size": size(first(channels).message_size, 1..=limits::CHANNEL_MESSAGE_SIZE_MAX), default, Live,
        "The maximum size of a message; a longer one is refused.";
    "rate": set(
        first(channels).rate, "whole number, 1 to 1000000",
        |item, _| Some(whole(item, 1..=limits::CHANNEL_RATE_MAX)?),
        |value| value.map(|rate| rate.to_string()),
    ), "any number", Live,
        "How many messages per second, and in a burst, a publisher may publish on one scheduler. A publisher is the user of a token, or all clients of an address (IPv6: a /64 network) without a token. Further messages are refused, over HTTP with 429. Pages, programs with an API key, and clients of a Unix socket without a token are not limited.";
    "module": optional(first(channels).module, module_name, "name"), "none", Reload,
        "The [app module](channels.md#authorise-in-a-module) that authorises each subscription and each message of a client: `\"rooms\"` is `app/rooms.lua`. What it does not allow is refused. It is not asked about pages and programs with an API key.";
};
