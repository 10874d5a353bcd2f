//! A WebSocket of one channel, whose messages are those of the channel.
//!
//! Owns its beginning, and the close codes for messages that are not published.

use channels::{ChannelRefusal, ChannelScope, KeptRight, Payload};
use wire::websocket::{CloseCode, Extension, MessageKind};

use super::{After, Lease, Speaks, WebSocket};
use crate::message::Context;
use crate::site::{Site, Withheld, wish_of};

const NOT_ALLOWED: &str = "publishing is not allowed";

impl WebSocket {
    /// A socket that gets the messages of one channel as they were published, and publishes what it sends.
    pub(in crate::conn) fn plain(
        right: KeptRight,
        client: (Lease, Extension),
        site: &mut Site,
        context: &mut Context<'_>,
    ) -> Result<Self, ChannelRefusal> {
        let mut socket = Self::new(Speaks::Plain(right.name().into()), client, context);
        socket.begin(&right, site, context)?;
        Ok(socket)
    }

    /// Publishes a message of the client.
    pub(super) fn publish_plain(
        &self,
        name: &str,
        (kind, bytes): (MessageKind, &[u8]),
        site: &mut Site,
        context: &Context<'_>,
    ) -> After {
        let body = match kind {
            MessageKind::Text => Payload::of_bytes(bytes),
            MessageKind::Binary => Payload::of_binary(bytes),
        };
        let ruling =
            site.channels().may_publish(name, ChannelScope::Configured, self.lease.sender());
        let ruling = match ruling {
            Ok(ruling) => ruling,
            Err(refusal) => return close_after(refusal),
        };
        let decided =
            ruling.decide(|rule| self.lease.ask((name, rule, wish_of(&body)), site, context));
        let right = match decided {
            Ok(right) => right,
            Err(Withheld::Refused(_)) => return After::Close(CloseCode::POLICY, NOT_ALLOWED),
            Err(Withheld::Undecided) => return After::Wait,
        };
        match site.publish_in_order(&right, body, None, context.now.monotonic_ms()) {
            Ok(_) => After::More,
            Err(refusal) => close_after(refusal),
        }
    }
}

fn close_after(refusal: ChannelRefusal) -> After {
    let (code, reason) = match refusal {
        ChannelRefusal::Unknown
        | ChannelRefusal::Denied
        | ChannelRefusal::NoToken
        | ChannelRefusal::NoCertificate => (CloseCode::POLICY, NOT_ALLOWED),
        ChannelRefusal::TooOften => (CloseCode::POLICY, "too many messages"),
        ChannelRefusal::TooLarge => (CloseCode::TOO_BIG, "message is too large"),
        ChannelRefusal::Full | ChannelRefusal::Busy | ChannelRefusal::Unconfirmed => {
            (CloseCode::TRY_AGAIN_LATER, "the channel has no room")
        }
    };
    After::Close(code, reason)
}
