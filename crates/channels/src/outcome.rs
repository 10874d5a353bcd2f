//! The outcome of a message or a subscription.
//!
//! Owns the words for it.

use std::fmt;

use crate::position::Position;

/// Why something was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelRefusal {
    /// The channel has no rules, and the protocol offers only those with rules.
    Unknown,
    /// The channel's rules do not allow it to this client.
    Denied,
    /// The channel's rules require a token, and the client has shown none.
    NoToken,
    /// The channel's rules require the certificate of a client, and that of the connection is none of them.
    NoCertificate,
    /// The message is larger than the channel's rules allow.
    TooLarge,
    /// The publisher exceeds the rate that the channel's rules allow.
    TooOften,
    /// There are too many channels or subscriptions on this scheduler.
    Full,
    /// Another scheduler is not taking what waits for it.
    Busy,
    /// The cluster has not confirmed the message in time. It may be published later, or not.
    Unconfirmed,
}

impl ChannelRefusal {
    /// The text for its client.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "no [[channel]] has a pattern for this name",
            Self::Denied => "the channel's rules do not allow it",
            Self::NoToken => "the channel requires a token",
            Self::NoCertificate => "the channel requires a certificate of the client",
            Self::TooLarge => "the message is larger than the channel's `message_size`",
            Self::TooOften => "too many messages; see the channel's `rate`",
            Self::Full => "there are too many channels or subscriptions",
            Self::Busy => "a scheduler is behind with messages; try again",
            Self::Unconfirmed => {
                "the cluster has not confirmed the message in time; it may be published later"
            }
        }
    }
}

impl fmt::Display for ChannelRefusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// The result of a published message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// Its position.
    pub position: Position,
    /// The number of subscribers, including those of patterns.
    pub receivers: u32,
}

/// The outcome of a message that a process published to a channel of another scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishOutcome {
    /// It waits for no message.
    None,
    /// The home has not answered.
    Awaited,
    /// The result; returned once.
    Known(Result<Published, ChannelRefusal>),
}
