//! `[cluster]`: other servers that share their channels with this one, through NATS.
//!
//! Owns the keys of that section. Never connects, and reads no secret.

use std::time::Duration;

use toml::de::DeValue;

use crate::item::Item;
use crate::key::{Reading, SectionKeys, section, show_text, show_texts};
use crate::limits;
use crate::model::cluster::{ClusterScheme, ClusterServer};
use crate::model::config::Config;
use crate::problem::Problems;
use crate::value::{borrowed_text, cannot_be, word};

/// The port of NATS where none is written.
const PORT: u16 = 4222;

const WANTED: &str =
    "a URL in quotes such as \"nats://10.0.0.1:4222\" or \"tls://nats.example.org:4222\"";

/// The problems of the section as a whole.
pub(super) fn check(section: Option<&Item<'_>>, config: &Config, problems: &mut Problems) {
    let Some(Item { key_offset: offset, value, .. }) = section else { return };
    let (offset, cluster) = (*offset, &config.cluster);
    // Of each of its entries that is wrong there is a problem already.
    let is_written = |servers: &DeValue<'_>| servers.as_array().is_none_or(|list| !list.is_empty());
    let servers = value.as_table().and_then(|table| table.get("servers"));
    let names_servers = servers.is_some_and(|servers| is_written(servers.get_ref()));
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

fn servers(config: &mut Config, item: &Item<'_>, reading: &mut Reading<'_>) -> Result<(), String> {
    let DeValue::Array(_) = item.value else {
        return Err(item.wrong_type("a list of URLs"));
    };
    config.cluster.servers = item.list(reading.problems, server)?;
    if config.cluster.servers.len() > limits::CLUSTER_SERVERS {
        return Err(format!("`servers` has more than {} entries", limits::CLUSTER_SERVERS));
    }
    Ok(())
}

fn show_servers(config: &mut Config) -> Option<String> {
    let servers = &config.cluster.servers;
    (!servers.is_empty())
        .then(|| show_texts(servers.iter().map(ToString::to_string).collect::<Vec<String>>()))
}

pub(super) static CLUSTER: SectionKeys = section! {
    "[cluster]";
    "servers": own("list of URLs such as `\"nats://10.0.0.1:4222\"`", servers, show_servers),
        "must be given", Restart,
        "The servers of NATS, of which each scheduler connects to one; others that they tell of are tried as well. `tls://` encrypts. All servers of a [cluster](cluster.md) have the same section.";
    "name": optional(cluster.name, word, "text"), "the name of the host", Restart,
        "The name of this server in its cluster, for people. Where several run on one host, give each one.";
    "prefix": set(
        cluster.prefix, "letters, digits, `-` and `_`",
        |item, _| prefix(item)?,
        |value| Some(show_text(value)),
    ), default, Restart,
        "The beginning of all subjects and streams in NATS, so that several clusters can share it.";
    "user": optional(cluster.user, word, "text"), "none", Restart,
        "The user for NATS, with `password_file`.";
    "password_file": path(cluster.password_file, "path"), "none", Restart,
        "The file with the password of `user`. Only its owner may be able to read it.";
    "token_file": path(cluster.token_file, "path"), "none", Restart,
        "The file with a token for NATS.";
    "nkey_file": path(cluster.nkey_file, "path"), "none", Restart,
        "The file with the seed of an nkey (`SU…`). A server of NATS takes those credentials that it knows.";
    "ca": path(cluster.ca, "path"), "the authorities of the system", Restart,
        "A PEM file with the authorities that servers of NATS prove themselves with.";
    "streams": whole(cluster.streams, 1..=limits::CLUSTER_STREAMS_MAX), default, Restart,
        "The number of streams over which channels with a history are spread. The same on all servers of a cluster: with another number, channels begin anew.";
    "replicas": whole(cluster.replicas, 1..=5), default, Restart,
        "On how many servers of NATS each stream is kept. It counts when the streams are made.";
    "history_bytes": size(cluster.history_bytes, limits::CLUSTER_HISTORY_LEAST..=i64::MAX.unsigned_abs()),
        default, Restart,
        "Bytes of all streams together, in the memory of NATS. Beyond, the oldest messages are dropped.";
    "publish_wait": duration(cluster.publish_wait, Duration::from_millis(100)..=Duration::from_secs(60)),
        default, Restart,
        "How long a publisher waits until its message is in a stream; then it gets 503, and the message may be published later or not.";
};
