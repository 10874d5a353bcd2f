//! What a node is in its cluster: the plan that all its links share.
//!
//! Owns its shape. Reads no file: whoever makes it has done so.

use std::fmt;

use channels::ClusterNode;

use crate::nkey::UserKey;

/// How a node proves that it may use NATS.
pub enum NatsCredentials {
    /// Not at all.
    None,
    /// With a name and a password.
    Password {
        /// The name.
        user: String,
        /// The password.
        password: String,
    },
    /// With a token.
    Token(String),
    /// With a signature.
    Key(UserKey),
}

impl fmt::Debug for NatsCredentials {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::None => "None",
            Self::Password { .. } => "Password",
            Self::Token(_) => "Token",
            Self::Key(_) => "Key",
        })
    }
}

/// Whether the connections to a server are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEncryption {
    /// They are plain.
    Plain,
    /// With TLS, after the server's first line.
    Tls,
}

/// A server of NATS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatsServer {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Whether connections to it are encrypted.
    pub encryption: LinkEncryption,
}

impl fmt::Display for NatsServer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(out, "[{}]:{}", self.host, self.port)
        } else {
            write!(out, "{}:{}", self.host, self.port)
        }
    }
}

/// The streams of channels with a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPlan {
    /// How many.
    pub count: u16,
    /// On how many servers of NATS each is kept.
    pub replicas: u8,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Messages of one channel.
    pub messages: u32,
    /// The time for which a message is kept.
    pub age_ms: u64,
}

/// What a node is in its cluster.
#[derive(Debug)]
pub struct ClusterPlan {
    /// The node, from its start to its end.
    pub node: ClusterNode,
    /// Its name, for people.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The number of its schedulers.
    pub schedulers: u16,
    /// The beginning of all subjects and streams.
    pub prefix: String,
    /// The servers of NATS.
    pub servers: Vec<NatsServer>,
    /// How it proves itself.
    pub credentials: NatsCredentials,
    /// The streams.
    pub streams: StreamPlan,
    /// How long a publisher waits for a message to be added.
    pub publish_wait_ms: u64,
}
