//! `[channels]`: settings for all channels.
//!
//! Owns the keys of that section. Never reads a key file.

use std::path::{Path, PathBuf};

use wire::http::url::Origin;

use super::item::Item;
use super::key::{Absent, ChangeEffect, ConfigKey, SectionKeys, Value, show_text, show_texts};
use super::value::{borrowed_text, cannot_be, path};

/// `[channels]`: settings for all channels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelSettings {
    /// Other sites whose pages may use channels and change values of the store; `*` means all.
    pub origins: Vec<String>,
    /// Whether WebSocket messages are compressed.
    pub compress: bool,
    /// The key files of channels.
    pub keys: ChannelKeyFiles,
}

/// The key files of channels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelKeyFiles {
    /// The keys that verify tokens.
    pub token_keys: Option<PathBuf>,
    /// The keys of programs, which may do everything.
    pub api_keys: Option<PathBuf>,
}

pub(super) static CHANNELS: SectionKeys = SectionKeys {
    name: "[channels]",
    own: &[
        ConfigKey {
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
            change: ChangeEffect::Reload,
            text: "Other sites whose pages may, from a browser, use the channels and the WebSockets of modules, change values of the [store](store.md#http) and send forms with files: `\"https://example.org\"`, or `\"*\"` for all. The port of the scheme may be written or not. Pages of sites that are not listed get 403.",
        },
        ConfigKey {
            name: "compress",
            value: Value::Boolean(|config| &mut config.channel_settings.compress),
            absent: Absent::Default,
            change: ChangeEffect::Live,
            text: "Whether messages of 128 bytes or more are compressed for [WebSockets](channels.md#websocket) whose clients offer it (permessage-deflate, RFC 7692), including those of [modules](modules.md#websockets). Each message is compressed separately, a channel message once for all subscribers.",
        },
        ConfigKey {
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
            change: ChangeEffect::Reload,
            text: "The keys that sign [tokens](channels.md#tokens): a text file outside the served directories, each line a secret of at least 32 bytes (HS256), or Ed25519 public keys in PEM (EdDSA). A token may be signed with any of them.",
        },
        ConfigKey {
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
            change: ChangeEffect::Reload,
            text: "API keys: a text file outside the served directories, each line a key of at least 32 bytes. A program with one may subscribe and publish to every channel, regardless of its rules.",
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
    if text == "*" || Origin::parse(text.as_bytes()).is_some() {
        Ok(text.to_ascii_lowercase())
    } else {
        Err(cannot_be(item, text, "write it as \"https://example.org\", without a path"))
    }
}
