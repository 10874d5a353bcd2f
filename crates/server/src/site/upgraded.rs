//! What an HTTP connection becomes.
//!
//! Owns the choice, which the site makes and `conn` executes.

use std::net::IpAddr;

use channels::{Position, Rights};
use pages::KeptRequest;
use wire::websocket::Extension;

/// What a connection becomes once its head is sent.
#[derive(Debug)]
pub(crate) struct Upgraded {
    /// What it becomes.
    pub(crate) to: Upgrade,
    /// What its client may do.
    pub(crate) rights: Rights,
    /// The address of its client.
    pub(crate) address: IpAddr,
    /// What its request said, where modules are asked about channels.
    pub(crate) request: Option<Box<KeptRequest>>,
    /// What is agreed about the messages of a WebSocket.
    pub(crate) extension: Extension,
}

/// What a connection becomes.
#[derive(Debug)]
pub(crate) enum Upgrade {
    /// A WebSocket that gets a channel's messages as they were published.
    Socket(Box<str>),
    /// A WebSocket that speaks objects, and subscribes to this channel at once if there is one.
    JsonSocket(Option<Box<str>>),
    /// A WebSocket with whose client a module talks.
    Talk,
    /// An event stream of a channel, from a position on.
    Events(Box<str>, Option<Position>),
}
