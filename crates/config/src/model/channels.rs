//! `[[channel]]` as plain data.
//!
//! Owns the shape and the defaults. Never reads text: `channels` does.

use std::time::Duration;

use crate::limits;
use crate::model::access::AcceptedNames;
use crate::problem::TextPosition;

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
    /// The fate of a subscriber that is too slow.
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

/// The fate of a subscriber for which too much waits.
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
