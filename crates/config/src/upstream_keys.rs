//! `[[upstream]]`: other servers that answer requests.
//!
//! Owns how the keys of that section combine; their rows are in `upstream_rows`. Never looks up a name and opens no
//! file.

use std::path::Path;

use super::item::Item;
use super::section::Section;
use super::upstream_rows::UPSTREAM;
use super::value::{boolean, borrowed_text, cannot_be, deadline, path, whole, word};
use super::wording::{nearest, shown};
use super::{
    BalanceMethod, HashBy, PassiveHealth, Problems, ProxiedBodies, ProxyProtocol, UpstreamServer,
    UpstreamSettings, UpstreamTimeouts, UpstreamTls, choice, field, upstream_cache, upstream_check,
    upstream_server,
};
use crate::limits;

/// Reads all `[[upstream]]`, in their order.
pub(super) fn read(
    top: &Section<'_>,
    base: &Path,
    problems: &mut Problems,
) -> Vec<UpstreamSettings> {
    let sections = top.sections("upstream", &UPSTREAM, problems);
    if let Some(section) = sections.get(limits::UPSTREAMS_MAX) {
        let most = limits::UPSTREAMS_MAX;
        problems.at(section.offset, format!("there are more than {most} [[upstream]]"));
    }
    let mut upstreams: Vec<UpstreamSettings> = Vec::new();
    for section in &sections {
        let Some(upstream) = read_one(section, base, problems) else { continue };
        if upstreams.iter().any(|known| known.name == upstream.name) {
            let name = shown(&upstream.name);
            problems.at(section.offset, format!("there is another [[upstream]] named \"{name}\""));
        }
        if let Some(other) = sharer(&upstream, &upstreams) {
            let why = format!(
                "the cache of \"{}\" has this `directory`, is in it, or has it in its own; each needs one \
                 for itself",
                shown(&other.name)
            );
            problems.at(section.offset, why);
        }
        upstreams.push(upstream);
    }
    upstreams
}

/// The upstream whose cache has the same files as that of this one.
fn sharer<'u>(
    upstream: &UpstreamSettings,
    others: &'u [UpstreamSettings],
) -> Option<&'u UpstreamSettings> {
    let own = upstream.cache_directory()?;
    others.iter().find(|other| {
        let of_other = other.cache_directory();
        of_other.is_some_and(|other| other.starts_with(own) || own.starts_with(other))
    })
}

fn read_one(
    section: &Section<'_>,
    base: &Path,
    problems: &mut Problems,
) -> Option<UpstreamSettings> {
    let name = section.read("name", problems, name);
    for (key, mend) in [("name", "\"api\""), ("servers", "[\"127.0.0.1:9000\"]")] {
        if !section.has(key) {
            problems.at(section.offset, format!("[[upstream]] has no `{key}`; write {mend}"));
        }
    }
    let servers = servers(section, problems);
    let mut upstream = UpstreamSettings {
        place: problems.place(section.offset),
        name: String::new(),
        servers: Vec::new(),
        balance: balance(section, problems),
        sticky: section.read("sticky", problems, token),
        tls: tls(section, base, problems),
        proxy_protocol: section
            .read("proxy_protocol", problems, |item| choice::choice(item, &PROXY_VERSIONS)),
        timeouts: UpstreamTimeouts {
            connect: limits::UPSTREAM_CONNECT_TIMEOUT,
            first_byte: limits::UPSTREAM_FIRST_BYTE_TIMEOUT,
            idle: limits::UPSTREAM_IDLE_TIMEOUT,
            whole: section.read("timeout", problems, deadline),
        },
        connections: limits::UPSTREAM_CONNECTIONS,
        queue: limits::UPSTREAM_QUEUE,
        queue_timeout: limits::UPSTREAM_QUEUE_TIMEOUT,
        bodies: match section.read("buffer_request", problems, boolean) {
            Some(true) => ProxiedBodies::Buffered,
            Some(false) | None => ProxiedBodies::Streamed,
        },
        retries: limits::UPSTREAM_RETRIES,
        next_on: section.list("next_on", problems, error_status).unwrap_or_default(),
        slow_start: section.read("slow_start", problems, deadline),
        health: PassiveHealth {
            failures: limits::UPSTREAM_FAILURES,
            pause: limits::UPSTREAM_PAUSE,
            slow_after: section.read("slow_after", problems, deadline),
        },
        check: upstream_check::read(section, problems),
        cache: upstream_cache::read(section, base, problems),
    };
    read_times(section, &mut upstream, problems);
    read_numbers(section, &mut upstream, problems);
    Some(UpstreamSettings { name: name?, servers: servers?, ..upstream })
}

fn read_times(section: &Section<'_>, upstream: &mut UpstreamSettings, problems: &mut Problems) {
    let times = &mut upstream.timeouts;
    for (key, place) in [
        ("connect_timeout", &mut times.connect),
        ("first_byte_timeout", &mut times.first_byte),
        ("idle_timeout", &mut times.idle),
        ("queue_timeout", &mut upstream.queue_timeout),
        ("failure_pause", &mut upstream.health.pause),
    ] {
        section.read_into(key, place, problems, deadline);
    }
}

fn read_numbers(section: &Section<'_>, upstream: &mut UpstreamSettings, problems: &mut Problems) {
    for (key, place, range) in [
        ("connections", &mut upstream.connections, 1..=limits::UPSTREAM_CONNECTIONS_MAX),
        ("queue", &mut upstream.queue, 0..=limits::UPSTREAM_QUEUE_MAX),
        ("retries", &mut upstream.retries, 0..=limits::UPSTREAM_RETRIES_MAX),
        ("failures", &mut upstream.health.failures, 1..=1_000_000),
    ] {
        section.read_into(key, place, problems, |item| whole(item, range));
    }
}

/// A status that an answer may have when something is wrong (RFC 9110 sections 15.5 and 15.6).
pub(super) fn error_status(item: &Item<'_>) -> Result<u16, String> {
    let status = whole(item, 400..=599)?;
    Ok(u16::try_from(status).unwrap_or(u16::MAX))
}

fn servers(section: &Section<'_>, problems: &mut Problems) -> Option<Vec<UpstreamServer>> {
    let before = problems.len();
    let servers = section.list("servers", problems, upstream_server::read)?;
    let offset = section.item("servers").map_or(section.offset, |item| item.offset);
    if section.is_empty_list("servers") {
        problems.at(offset, "`servers` is empty; write [\"127.0.0.1:9000\"]");
    }
    if servers.len() > limits::UPSTREAM_SERVERS_MAX {
        let most = limits::UPSTREAM_SERVERS_MAX;
        problems.at(offset, format!("`servers` has more than {most} servers"));
    }
    let twice = servers.iter().enumerate().find(|(index, server)| {
        servers.iter().take(*index).any(|other| other.address == server.address)
    });
    if let Some((_, server)) = twice {
        let told = format!("`servers` has \"{}\" twice; write a `weight`", server.address);
        problems.at(offset, told);
    }
    (problems.len() == before).then_some(servers)
}

/// The name of an upstream: it appears in routes, in logs and as a label of metrics.
fn name(item: &Item<'_>) -> Result<String, String> {
    let name = word(item)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if name.len() <= limits::UPSTREAM_NAME_SIZE && name.bytes().all(is_plain) {
        return Ok(name);
    }
    let most = limits::UPSTREAM_NAME_SIZE;
    let why = format!("use at most {most} letters, digits, hyphens, underscores and dots");
    Err(cannot_be(item, &name, &why))
}

fn token(item: &Item<'_>) -> Result<String, String> {
    let name = word(item)?;
    field::check_token(&name)?;
    Ok(name)
}

const PROXY_VERSIONS: [(&str, ProxyProtocol); 2] =
    [("v1", ProxyProtocol::V1), ("v2", ProxyProtocol::V2)];

/// Makes the choice, with the value for `hash`.
type Chosen = fn(HashBy) -> BalanceMethod;

const BALANCES: [(&str, Chosen); 4] = [
    ("two-choices", |_| BalanceMethod::TwoChoices),
    ("round-robin", |_| BalanceMethod::RoundRobin),
    ("least", |_| BalanceMethod::Least),
    ("hash", BalanceMethod::Hash),
];

fn balance(section: &Section<'_>, problems: &mut Problems) -> BalanceMethod {
    let by = section.read("hash", problems, hash_by);
    let wanted = section.read("balance", problems, |item| choice::choice(item, &BALANCES));
    let Some(wanted) = wanted else {
        if let (Some(item), false) = (section.item("hash"), section.has("balance")) {
            problems.at(item.key_offset, "`hash` needs balance = \"hash\"");
        }
        return BalanceMethod::TwoChoices;
    };
    let balance = wanted(by.clone().unwrap_or(HashBy::Path));
    let is_hash = matches!(balance, BalanceMethod::Hash(_));
    match (section.item("hash"), section.item("balance")) {
        (Some(item), _) if !is_hash => {
            problems.at(item.key_offset, "`hash` needs balance = \"hash\"");
        }
        (None, Some(item)) if is_hash => problems.at(
            item.key_offset,
            "balance = \"hash\" needs `hash`: \"path\", \"address\", \"field:NAME\" or \"cookie:NAME\"",
        ),
        _ => {}
    }
    balance
}

fn hash_by(item: &Item<'_>) -> Result<HashBy, String> {
    let wanted = "\"path\", \"address\", \"field:NAME\" or \"cookie:NAME\"";
    let text = borrowed_text(item, wanted)?;
    let (kind, name) = text.split_once(':').map_or((text, None), |(kind, name)| (kind, Some(name)));
    let named = |name: Option<&str>| {
        let name = name.filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| cannot_be(item, text, "the name is missing"))?;
        field::check_token(name).map(|()| name.to_owned())
    };
    match (kind, name) {
        ("path", None) => Ok(HashBy::Path),
        ("address", None) => Ok(HashBy::Address),
        ("field", name) => named(name).map(|name| HashBy::Field(name.to_ascii_lowercase())),
        ("cookie", name) => named(name).map(HashBy::Cookie),
        _ => {
            let hint = match nearest(kind, &["path", "address", "field", "cookie"]) {
                Some(meant) if name.is_none() => format!("did you mean \"{meant}\"?"),
                _ => format!("write {wanted}"),
            };
            Err(cannot_be(item, text, &hint))
        }
    }
}

fn tls(section: &Section<'_>, base: &Path, problems: &mut Problems) -> Option<UpstreamTls> {
    let is_encrypted = section.read("tls", problems, boolean).unwrap_or_default();
    let mut file = |key| section.read(key, problems, |item| path(item, base));
    let authorities = file("ca");
    let (certificate, key) = (file("certificate"), file("key"));
    let server_name = section.read("server_name", problems, word);
    for key in ["ca", "certificate", "key", "server_name"] {
        if let (Some(item), false) = (section.item(key), is_encrypted) {
            problems.at(item.key_offset, format!("`{key}` needs tls = true"));
        }
    }
    for (key, other) in [("certificate", "key"), ("key", "certificate")] {
        if let (Some(item), false) = (section.item(key), section.has(other)) {
            problems
                .at(item.key_offset, format!("`{key}` needs `{other}`: the path of a PEM file"));
        }
    }
    let certificate = certificate.zip(key);
    is_encrypted.then_some(UpstreamTls { authorities, certificate, server_name })
}
