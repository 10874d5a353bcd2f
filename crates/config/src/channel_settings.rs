//! `[channels]`: settings for all channels.
//!
//! Owns the keys of that section. Never reads a key file.

use std::path::Path;

use wire::http::url::Origin;

use crate::item::Item;
use crate::key::{SectionKeys, section, show_text};
use crate::value::{borrowed_text, cannot_be, path};

pub(super) static CHANNELS: SectionKeys = section! {
    "[channels]";
    "origins": list(channel_settings.origins, origin, "list of origins"), default, Reload,
        "Other sites whose pages may, from a browser, use the channels and the WebSockets of modules, change values of the [store](store.md#http) and send forms with files: `\"https://example.org\"`, or `\"*\"` for all. The port of the scheme may be written or not. Pages of sites that are not listed get 403.";
    "compress": boolean(channel_settings.compress), default, Live,
        "Whether messages of 128 bytes or more are compressed for [WebSockets](channels.md#websocket) whose clients offer it (permessage-deflate, RFC 7692), including those of [modules](modules.md#websockets). Each message is compressed separately, a channel message once for all subscribers.";
    "token_keys": set(
        channel_settings.keys.token_keys, "path",
        |item, reading| Some(path(item, reading.base)?),
        |value| shown_path(value.as_deref()),
    ), "no token is good", Reload,
        "The keys that sign [tokens](channels.md#tokens): a text file outside the served directories, each line a secret of at least 32 bytes (HS256), or Ed25519 public keys in PEM (EdDSA). A token may be signed with any of them.";
    "api_keys": set(
        channel_settings.keys.api_keys, "path",
        |item, reading| Some(path(item, reading.base)?),
        |value| shown_path(value.as_deref()),
    ), "no key is good", Reload,
        "API keys: a text file outside the served directories, each line a key of at least 32 bytes. A program with one may subscribe and publish to every channel, regardless of its rules.";
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
