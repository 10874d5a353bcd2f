//! The place of a node in its cluster: the plan that all its links share.
//!
//! Owns its shape. Reads no file: whoever makes it has done so.

use std::fmt;

use channels::ClusterNode;

use crate::nkey::UserKey;

/// How a node proves that it may use NATS. A server takes what it knows.
#[derive(Default)]
pub struct NatsCredentials {
    /// A user and its password.
    pub login: Option<NatsLogin>,
    /// A token.
    pub token: Option<String>,
    /// A key that signs what the server sends.
    pub key: Option<UserKey>,
}

/// A user and its password.
pub struct NatsLogin {
    /// The user.
    pub user: String,
    /// The password.
    pub password: String,
}

impl fmt::Debug for NatsCredentials {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.login.as_ref().map(|login| &login.user);
        out.debug_struct("NatsCredentials").field("user", &user).field("key", &self.key).finish()
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
    /// Which channels have a history, as [`sections_of`](Self::sections_of) gives it.
    pub sections: u64,
}

/// The scheduler that a link belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSeat {
    /// The number of the scheduler.
    pub number: u16,
    /// How many schedulers the node has.
    pub schedulers: u16,
}

/// The place of a node in its cluster.
#[derive(Debug)]
pub struct ClusterPlan {
    /// The node, from its start to its end.
    pub node: ClusterNode,
    /// Its name, for people.
    pub name: String,
    /// Its version.
    pub version: String,
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
