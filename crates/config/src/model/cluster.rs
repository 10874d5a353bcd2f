//! `[cluster]` as plain data.
//!
//! Owns the shape and the defaults. Never reads text: `cluster` does.

use std::path::PathBuf;
use std::time::Duration;

use crate::limits;

/// `[cluster]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterSettings {
    /// The servers of NATS; none: there is no cluster.
    pub servers: Vec<ClusterServer>,
    /// The name of this node; `None`: that of the host.
    pub name: Option<String>,
    /// The beginning of all subjects and streams.
    pub prefix: String,
    /// The user, with `password_file`.
    pub user: Option<String>,
    /// The file with the password.
    pub password_file: Option<PathBuf>,
    /// The file with the token.
    pub token_file: Option<PathBuf>,
    /// The file with the seed of an nkey.
    pub nkey_file: Option<PathBuf>,
    /// A PEM file with the authorities that servers prove themselves with.
    pub ca: Option<PathBuf>,
    /// The number of streams.
    pub streams: u64,
    /// On how many servers of NATS each stream is kept.
    pub replicas: u64,
    /// Bytes of all streams together.
    pub history_bytes: u64,
    /// How long a publisher waits until its message is in a stream.
    pub publish_wait: Duration,
}

/// A server of NATS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterServer {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Whether connections to it are encrypted.
    pub scheme: ClusterScheme,
}

/// Whether connections to a server of NATS are encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterScheme {
    /// `nats://`: plain.
    Nats,
    /// `tls://`: with TLS.
    Tls,
}

impl Default for ClusterSettings {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            name: None,
            prefix: "velodrome".to_owned(),
            user: None,
            password_file: None,
            token_file: None,
            nkey_file: None,
            ca: None,
            streams: limits::CLUSTER_STREAMS,
            replicas: 1,
            history_bytes: limits::CLUSTER_HISTORY_BYTES,
            publish_wait: limits::CLUSTER_PUBLISH_WAIT,
        }
    }
}

impl ClusterSettings {
    /// Whether there is a cluster.
    pub fn is_configured(&self) -> bool {
        !self.servers.is_empty()
    }
}

impl std::fmt::Display for ClusterServer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = match self.scheme {
            ClusterScheme::Nats => "nats",
            ClusterScheme::Tls => "tls",
        };
        if self.host.contains(':') {
            write!(out, "{scheme}://[{}]:{}", self.host, self.port)
        } else {
            write!(out, "{scheme}://{}:{}", self.host, self.port)
        }
    }
}
