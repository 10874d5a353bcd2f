//! `[channels]`: what holds for all channels.
//!
//! Owns the keys of that section. Never reads a file of keys.

use std::path::{Path, PathBuf};

use super::item::Item;
use super::key::{Absent, Change, Key, SectionKeys, Value, show_text, show_texts};
use super::value::{borrowed_text, cannot_be, path};

/// `[channels]`: what holds for all channels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelSettings {
    /// Other sites whose pages may use them; `*` for all.
    pub origins: Vec<String>,
    /// Whether messages of WebSockets are compressed.
    pub compress: bool,
    /// The files of their keys.
    pub keys: ChannelKeys,
}

/// The files of the keys of channels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelKeys {
    /// Those that tokens are signed with.
    pub token_keys: Option<PathBuf>,
    /// Those of programs that may do everything.
    pub api_keys: Option<PathBuf>,
}

pub(super) static CHANNELS: SectionKeys = SectionKeys {
    name: "[channels]",
    own: &[
        Key {
            name: "origins",
            value: Value::Own {
                takes: "list of origins",
                read: |config, item, reading| {
                    config.channel_settings.origins = item.list(reading.problems, origin)?;
                    Ok(())
                },
                show: |config| Some(show_texts(&config.channel_settings.origins)),
            },
            absent: Absent::Default,
            change: Change::Reload,
            text: "Sites whose pages may use the channels, and the WebSockets of modules, from a browser, beside those of the server itself: \
             `\"https://example.org\"`, or `\"*\"` for all. The browser of a page of another site is answered 403.",
        },
        Key {
            name: "compress",
            value: Value::Boolean(|config| &mut config.channel_settings.compress),
            absent: Absent::Default,
            change: Change::Reload,
            text: "Whether messages of 128 bytes and more are compressed for [WebSockets](channels.md#websocket) whose clients offer it (permessage-deflate, RFC 7692), \
             those of [modules](modules.md#websockets) included. Each is compressed by itself, a message of a channel once for all.",
        },
        Key {
            name: "token_keys",
            value: Value::Own {
                takes: "path",
                read: |config, item, reading| {
                    config.channel_settings.keys.token_keys = Some(path(item, reading.base)?);
                    Ok(())
                },
                show: |config| shown_path(config.channel_settings.keys.token_keys.as_deref()),
            },
            absent: Absent::Words("no token is good"),
            change: Change::Reload,
            text: "A text file outside of what is served, with what [tokens](channels.md#tokens) are signed with: each line a secret \
             of at least 32 bytes (HS256), or public keys of Ed25519 in PEM (EdDSA). Any of them will do.",
        },
        Key {
            name: "api_keys",
            value: Value::Own {
                takes: "path",
                read: |config, item, reading| {
                    config.channel_settings.keys.api_keys = Some(path(item, reading.base)?);
                    Ok(())
                },
                show: |config| shown_path(config.channel_settings.keys.api_keys.as_deref()),
            },
            absent: Absent::Words("no key is good"),
            change: Change::Reload,
            text: "A text file outside of what is served, each line a key of at least 32 bytes. A program that shows one may subscribe and \
             publish to every channel, whatever its rules say.",
        },
    ],
    shared: &[],
    shared_in: "",
};

fn shown_path(path: Option<&Path>) -> Option<String> {
    path.map(|path| show_text(path.display()))
}

fn origin(item: &Item<'_>) -> Result<String, String> {
    let text = borrowed_text(item, "an origin in quotes such as \"https://example.org\"")?;
    let is_origin = text == "*"
        || text.split_once("://").is_some_and(|(scheme, host)| {
            matches!(scheme, "http" | "https")
                && !host.is_empty()
                && host.bytes().all(|byte| byte.is_ascii_graphic() && !b"/?#@\\".contains(&byte))
        });
    if is_origin {
        Ok(text.to_ascii_lowercase())
    } else {
        Err(cannot_be(item, text, "write it as \"https://example.org\", without a path"))
    }
}
