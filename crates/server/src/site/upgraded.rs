//! The protocol to which an HTTP connection changes.
//!
//! Owns the choice, which the site makes and `conn` executes.

use std::net::IpAddr;

use channels::{KeptRight, Position, Rights};
use pages::KeptRequest;
use wire::websocket::Extension;

/// The change of a connection once its head is sent.
#[derive(Debug)]
pub(crate) struct Upgraded {
    /// The new protocol.
    pub(crate) to: Upgrade,
    /// The rights of its client.
    pub(crate) rights: Rights,
    /// The address of its client.
    pub(crate) address: IpAddr,
    /// The kept part of its request, if modules decide about channels.
    pub(crate) request: Option<Box<KeptRequest>>,
    /// The agreed compression of a WebSocket.
    pub(crate) extension: Extension,
}

/// The new protocol of a connection.
#[derive(Debug)]
pub(crate) enum Upgrade {
    /// A WebSocket that gets a channel's messages as they were published.
    Socket(KeptRight),
    /// A WebSocket with JSON objects, which subscribes to this channel at once if there is one.
    JsonSocket(Option<KeptRight>),
    /// A WebSocket whose client a module talks with.
    Talk,
    /// An event stream of a channel, starting at a position.
    Events(KeptRight, Option<Position>),
}
