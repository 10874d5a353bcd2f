//! `[cluster]`: other servers that share their channels with this one, through NATS.
//!
//! Owns the keys of that section. Never connects, and reads no secret.

use std::path::PathBuf;
use std::time::Duration;

use toml::de::DeValue;

use super::item::Item;
use super::key::{Absent, ChangeEffect, ConfigKey, SectionKeys, Value, show_text, show_texts};
use super::value::{borrowed_text, cannot_be, path, word};
use super::{Config, Problems};
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
    #[must_use]
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

/// The port of NATS where none is written.
const PORT: u16 = 4222;

const WANTED: &str =
    "a URL in quotes such as \"nats://10.0.0.1:4222\" or \"tls://nats.example.org:4222\"";

/// What is wrong with the section as a whole.
pub(super) fn check(section: Option<&Item<'_>>, config: &Config, problems: &mut Problems) {
    let Some(Item { key_offset: offset, value, .. }) = section else { return };
    let (offset, cluster) = (*offset, &config.cluster);
    let names_servers = value.as_table().is_some_and(|table| table.contains_key("servers"));
    if !cluster.is_configured() && !names_servers {
        let why =
            "[cluster] has no `servers`; write those of NATS, such as [\"nats://127.0.0.1:4222\"]";
        problems.at(offset, why);
    }
    if cluster.user.is_some() != cluster.password_file.is_some() {
        let why = "[cluster] needs both `user` and `password_file`, or none of them";
        problems.at(offset, why);
    }
    let is_encrypted = |server: &ClusterServer| server.scheme == ClusterScheme::Tls;
    let is_plain = cluster.is_configured() && !cluster.servers.iter().any(is_encrypted);
    if cluster.ca.is_some() && is_plain {
        let why = "`ca` in [cluster] is for servers with TLS; write them as \"tls://HOST:PORT\"";
        problems.at(offset, why);
    }
}

fn server(item: &Item<'_>) -> Result<ClusterServer, String> {
    let text = borrowed_text(item, WANTED)?;
    let (scheme, rest) = text.split_once("://").unwrap_or(("nats", text));
    let scheme = match scheme {
        "nats" => ClusterScheme::Nats,
        "tls" => ClusterScheme::Tls,
        _ => return Err(cannot_be(item, text, "the scheme of a server is nats:// or tls://")),
    };
    if rest.contains('@') {
        let why =
            "credentials are in files: see `user`, `password_file`, `token_file` and `nkey_file`";
        return Err(format!("`{}` names a server with credentials; {why}", item.key));
    }
    let wrong = || cannot_be(item, text, &format!("write {WANTED}"));
    let (host, port) = match rest.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(Some((host, after))) => (host, after),
        Some(None) => return Err(wrong()),
        None => rest.split_at(rest.find(':').unwrap_or(rest.len())),
    };
    let port = match port.strip_prefix(':') {
        Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?,
        None if port.is_empty() => PORT,
        None => return Err(wrong()),
    };
    let is_host =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':');
    if host.is_empty() || host.len() > limits::HOST_NAME_SIZE_MAX || !host.bytes().all(is_host) {
        return Err(wrong());
    }
    Ok(ClusterServer { host: host.to_owned(), port, scheme })
}

fn prefix(item: &Item<'_>) -> Result<String, String> {
    let text = word(item)?;
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if text.len() <= limits::CLUSTER_PREFIX_SIZE && text.bytes().all(is_known) {
        return Ok(text);
    }
    let why = format!("write at most {} letters, digits, - and _", limits::CLUSTER_PREFIX_SIZE);
    Err(cannot_be(item, &text, &why))
}

/// A key that names a file.
macro_rules! file {
    ($field:ident, $absent:expr, $text:expr) => {
        ConfigKey {
            name: stringify!($field),
            value: Value::Own {
                takes: "path",
                read: |config, item, reading| {
                    config.cluster.$field = Some(path(item, reading.base)?);
                    Ok(())
                },
                show: |config| config.cluster.$field.as_ref().map(|path| show_text(path.display())),
            },
            absent: Absent::Words($absent),
            change: ChangeEffect::Restart,
            text: $text,
        }
    };
}

/// A key that is a text which may be missing.
macro_rules! text {
    ($field:ident, $absent:expr, $text:expr) => {
        ConfigKey {
            name: stringify!($field),
            value: Value::Own {
                takes: "text",
                read: |config, item, _| {
                    config.cluster.$field = Some(word(item)?);
                    Ok(())
                },
                show: |config| config.cluster.$field.as_ref().map(show_text),
            },
            absent: Absent::Words($absent),
            change: ChangeEffect::Restart,
            text: $text,
        }
    };
}

pub(super) static CLUSTER: SectionKeys = SectionKeys {
    name: "[cluster]",
    own: &[
        ConfigKey {
            name: "servers",
            value: Value::Own {
                takes: "list of URLs such as `\"nats://10.0.0.1:4222\"`",
                read: |config, item, reading| {
                    let one = |part: &Item<'_>| server(part);
                    let DeValue::Array(_) = item.value else {
                        return Err(item.wrong_type("a list of URLs"));
                    };
                    config.cluster.servers = item.list(reading.problems, one)?;
                    if config.cluster.servers.len() > limits::CLUSTER_SERVERS {
                        return Err(format!(
                            "`servers` has more than {} entries",
                            limits::CLUSTER_SERVERS
                        ));
                    }
                    Ok(())
                },
                show: |config| {
                    let servers = &config.cluster.servers;
                    (!servers.is_empty()).then(|| {
                        show_texts(servers.iter().map(ToString::to_string).collect::<Vec<String>>())
                    })
                },
            },
            absent: Absent::Words("must be given"),
            change: ChangeEffect::Restart,
            text: "The servers of NATS, of which each scheduler connects to one; others that they tell of are tried as well. `tls://` encrypts. All servers of a [cluster](cluster.md) have the same section.",
        },
        text!(
            name,
            "the name of the host",
            "The name of this server in its cluster, for people. Where several run on one host, give each one."
        ),
        ConfigKey {
            name: "prefix",
            value: Value::Own {
                takes: "letters, digits, `-` and `_`",
                read: |config, item, _| {
                    config.cluster.prefix = prefix(item)?;
                    Ok(())
                },
                show: |config| Some(show_text(&config.cluster.prefix)),
            },
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "The beginning of all subjects and streams in NATS, so that several clusters can share it.",
        },
        text!(user, "none", "The user for NATS, with `password_file`."),
        file!(
            password_file,
            "none",
            "The file with the password of `user`. Only its owner may be able to read it."
        ),
        file!(token_file, "none", "The file with a token for NATS."),
        file!(
            nkey_file,
            "none",
            "The file with the seed of an nkey (`SU…`). A server of NATS takes those credentials that it knows."
        ),
        file!(
            ca,
            "the authorities of the system",
            "A PEM file with the authorities that servers of NATS prove themselves with."
        ),
        ConfigKey {
            name: "streams",
            value: Value::Whole(
                |config| &mut config.cluster.streams,
                1..=limits::CLUSTER_STREAMS_MAX,
            ),
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "The number of streams over which channels with a history are spread. The same on all servers of a cluster: with another number, channels begin anew.",
        },
        ConfigKey {
            name: "replicas",
            value: Value::Whole(|config| &mut config.cluster.replicas, 1..=5),
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "On how many servers of NATS each stream is kept. It counts when the streams are made.",
        },
        ConfigKey {
            name: "history_bytes",
            value: Value::Size(
                |config| &mut config.cluster.history_bytes,
                limits::CLUSTER_HISTORY_LEAST..=i64::MAX.unsigned_abs(),
            ),
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "Bytes of all streams together, in the memory of NATS. Beyond, the oldest messages are dropped.",
        },
        ConfigKey {
            name: "publish_wait",
            value: Value::Duration(
                |config| &mut config.cluster.publish_wait,
                Duration::from_millis(100)..=Duration::from_secs(60),
            ),
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "How long a publisher waits until its message is in a stream; then it gets 503, and the message may be published later or not.",
        },
    ],
    shared: &[],
    shared_in: "",
};
