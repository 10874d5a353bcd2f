//! The JSON objects of a channel's WebSocket, which have positions.
//!
//! Owns their text. Without them a message is the frame that was published, and a subscriber has no position.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The subprotocol.
pub(super) const PROTOCOL: &str = "velodrome.json";

/// A message of the server.
#[derive(Debug, Deserialize)]
struct Object<'a> {
    #[serde(borrow)]
    subscribed: Option<Cow<'a, str>>,
    #[serde(borrow)]
    since: Option<Cow<'a, str>>,
    recovered: Option<bool>,
    offset: Option<u64>,
    #[serde(borrow)]
    data: Option<Cow<'a, str>>,
    #[serde(borrow)]
    error: Option<Cow<'a, str>>,
}

/// The same message, in the terms of a subscriber.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard<'a> {
    /// It is subscribed to this channel, from this position on. It may be told so again, when it was too slow.
    Subscribed {
        channel: Cow<'a, str>,
        since: Cow<'a, str>,
        /// Whether it gets all messages after the position that it named.
        recovered: Option<bool>,
    },
    /// A message.
    Message {
        /// The number in its position.
        offset: u64,
        text: Cow<'a, str>,
    },
    /// Something was refused.
    Refused(Cow<'a, str>),
    /// Anything else.
    Nothing,
}

impl<'a> Heard<'a> {
    pub(super) fn read(text: &'a [u8]) -> Self {
        match serde_json::from_slice(text) {
            Ok(Object { error: Some(error), .. }) => Self::Refused(error),
            Ok(Object { subscribed: Some(channel), since: Some(since), recovered, .. }) => {
                Self::Subscribed { channel, since, recovered }
            }
            Ok(Object { offset: Some(offset), data: Some(text), .. }) => {
                Self::Message { offset, text }
            }
            _ => Self::Nothing,
        }
    }
}

/// A subscription from a position on.
pub(super) fn subscribe(channel: &str, since: &str) -> String {
    #[derive(Serialize)]
    struct Subscribe<'a> {
        subscribe: &'a str,
        since: &'a str,
    }
    as_text(&Subscribe { subscribe: channel, since })
}

/// A message for a channel.
pub(super) fn publish(channel: &str, data: &str) -> String {
    #[derive(Serialize)]
    struct Publish<'a> {
        publish: &'a str,
        data: &'a str,
    }
    as_text(&Publish { publish: channel, data })
}

fn as_text(object: &impl Serialize) -> String {
    serde_json::to_string(object).expect("an object of texts can be written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_read_as_the_server_writes_them() {
        let text = br#"{"subscribed":"a","since":"93f0-2","recovered":false}"#;
        let (channel, since) = ("a".into(), "93f0-2".into());
        assert_eq!(Heard::read(text), Heard::Subscribed { channel, since, recovered: Some(false) });
        let text = br#"{"channel":"a","offset":3,"data":"b"}"#;
        assert_eq!(Heard::read(text), Heard::Message { offset: 3, text: "b".into() });
        let text = br#"{"error":"no","channel":"a"}"#;
        assert_eq!(Heard::read(text), Heard::Refused("no".into()));
        for other in [&b"{\"pong\":true}"[..], b"x", b"{\"channel\":\"a\",\"offset\":3,\"data\":7}"]
        {
            assert_eq!(Heard::read(other), Heard::Nothing);
        }
    }

    #[test]
    fn orders_are_json() {
        assert_eq!(subscribe("a\"", "0-0"), r#"{"subscribe":"a\"","since":"0-0"}"#);
        assert_eq!(publish("a", "b"), r#"{"publish":"a","data":"b"}"#);
    }
}
