//! `[channels]` as plain data.
//!
//! Owns the shape and the defaults. Never reads text: `channel_settings` does.

use std::path::PathBuf;

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
