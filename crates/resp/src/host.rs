//! The questions of sessions to the server around them.
//!
//! Owns the questions. The server answers them, and knows the keys, the modules and the pages.

use std::net::IpAddr;

use channels::{Channels, Credential, Payload, Rights, RuleNumber, TokenProblem};
use runtime::clock::Now;
use runtime::mailbox::Endpoint;
use runtime::slots::ProcessId;

/// The server around the sessions.
pub trait RespHost {
    /// Whether any key is configured with which a client could authenticate.
    fn has_keys(&self) -> bool;

    /// The credential in a text: a key or a token.
    ///
    /// # Errors
    /// If it is neither a key nor a valid token.
    fn read_shown(&self, text: &[u8], unix_seconds: u64) -> Result<Credential, TokenProblem>;

    /// Whether the module of a channel allows a client what it wants.
    ///
    /// # Errors
    /// If it does not, or has not decided yet: the process is resumed then, and asks again.
    fn ask_module(&mut self, question: &ChannelQuestion<'_>) -> Result<(), NotAllowed>;

    /// A client whose question is not answered yet has closed.
    fn forget_question(&mut self, process: ProcessId);

    /// Publishes what others have published earlier in this turn: a client that got a page's answer may publish next,
    /// and subscribers see both in that order.
    fn publish_earlier(&mut self, channels: &mut Channels, now_ms: u64);
}

/// Why a client may not do something now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAllowed {
    /// The error for the client.
    Never(String),
    /// The module has not decided.
    Yet,
}

/// A question to the module of a channel.
#[derive(Clone, Copy, Debug)]
pub struct ChannelQuestion<'q> {
    /// The process of the client.
    pub process: ProcessId,
    /// Its scheduler.
    pub here: Endpoint,
    /// The name of the channel.
    pub channel: &'q str,
    /// Its rules, which name the module.
    pub rule: RuleNumber,
    /// The message that the client wants to publish; `None`: it wants to subscribe.
    pub message: Option<&'q Payload>,
    /// The rights of the client.
    pub rights: &'q Rights,
    /// Its address.
    pub address: IpAddr,
    /// The time of the turn.
    pub now: Now,
}
