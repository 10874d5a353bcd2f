//! `[[upstream]]`: other servers that answer requests.
//!
//! Owns the rows of that section and how they combine. Never looks up a name and opens no file.

use std::path::Path;

use wire::proxy_header::ProxyVersion;

use crate::item::Item;
use crate::key::{SectionKeys, section};
use crate::model::upstream::{
    BalanceMethod, HashBy, PassiveHealth, ProxiedBodies, UpstreamServer, UpstreamSettings,
    UpstreamTimeouts, UpstreamTls, UpstreamVersion,
};
use crate::problem::Problems;
use crate::section::Section;
use crate::value::{boolean, borrowed_text, cannot_be, deadline, path, whole, word};
use crate::wording::{nearest, shown};
use crate::{choice, field, limits, upstream_cache, upstream_check, upstream_server};

/// Reads all `[[upstream]]`, in their order.
pub(super) fn read(
    top: &Section<'_>,
    base: &Path,
    problems: &mut Problems,
) -> Vec<UpstreamSettings> {
    let sections = top.sections("upstream", &UPSTREAM, problems);
    if let Some(section) = sections.get(limits::UPSTREAMS_MAX) {
        let most = limits::UPSTREAMS_MAX;
        problems.at(section.offset(), format!("there are more than {most} [[upstream]]"));
    }
    let mut upstreams: Vec<UpstreamSettings> = Vec::new();
    for section in &sections {
        let Some(upstream) = read_one(section, base, problems) else { continue };
        if upstreams.iter().any(|known| known.name == upstream.name) {
            let name = shown(&upstream.name);
            problems
                .at(section.offset(), format!("there is another [[upstream]] named \"{name}\""));
        }
        if let Some(other) = sharer(&upstream, &upstreams) {
            let why = format!(
                "the cache of \"{}\" has this `directory`, is in it, or has it in its own; each needs one \
                 for itself",
                shown(&other.name)
            );
            problems.at(section.offset(), why);
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
            problems.at(section.offset(), format!("[[upstream]] has no `{key}`; write {mend}"));
        }
    }
    let servers = servers(section, problems);
    let tls = tls(section, base, problems);
    let mut upstream = UpstreamSettings {
        place: problems.place(section.offset()),
        name: String::new(),
        servers: Vec::new(),
        balance: balance(section, problems),
        sticky: section.read("sticky", problems, token),
        version: version(tls.as_ref(), section, problems),
        tls,
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
    let offset = section.item("servers").map_or(section.offset(), |item| item.offset);
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

const PROXY_VERSIONS: [(&str, ProxyVersion); 2] =
    [("v1", ProxyVersion::V1), ("v2", ProxyVersion::V2)];

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

/// `http2` is for servers with TLS, which agree on it in the handshake, and `h2c` for those without.
fn version(
    tls: Option<&UpstreamTls>,
    section: &Section<'_>,
    problems: &mut Problems,
) -> UpstreamVersion {
    let mut version = UpstreamVersion::Http1;
    for (key, fits, mend) in [
        (
            "http2",
            tls.is_some(),
            "`http2` needs tls = true; for servers without TLS write h2c = true",
        ),
        ("h2c", tls.is_none(), "`h2c` is for servers without TLS; write http2 = true"),
    ] {
        let Some(item) = section.item(key) else { continue };
        if section.read(key, problems, boolean) != Some(true) {
            continue;
        }
        if !fits {
            problems.at(item.key_offset, mend);
        } else if section.has("proxy_protocol") {
            let why = format!(
                "`{key}` shares connections, and one with `proxy_protocol` tells of one client; remove \
                 one of them"
            );
            problems.at(item.key_offset, why);
        }
        version = UpstreamVersion::Http2;
    }
    version
}

pub(super) static UPSTREAM: SectionKeys = section! {
    "[[upstream]]";
    "name": apart("name"), "must be given", Reload,
        "The name for `proxy` of routes, for logs and for metrics.";
    "servers": apart("list"), "must be given", Reload,
        "The servers: `\"127.0.0.1:9000\"`, `\"app.internal:9000\"` (looked up again every 30 s), \
        `\"unix:/run/app.sock\"`, or `{ address = \"127.0.0.1:9000\", weight = 2 }` for one that gets \
        twice the requests. At most 64.";
    "balance": apart("`\"two-choices\"`, `\"round-robin\"`, `\"least\"` or `\"hash\"`"), "`\"two-choices\"`", Reload,
        "How a server is chosen: of two at random the one with fewer open requests; in turn; the one \
        with the fewest; or the same one for the same value of `hash`.";
    "hash": apart("`\"path\"`, `\"address\"`, `\"field:NAME\"` or `\"cookie:NAME\"`"), "none", Reload,
        "The value for `balance = \"hash\"`. If a server is added or removed, only its own part of the \
        values changes servers. A request without the field or cookie goes to any server.";
    "sticky": apart("name of a cookie"), "none", Reload,
        "Keeps a client at one server with a cookie of this name, as long as that server answers.";
    "tls": apart("true or false"), "`false`", Reload,
        "Connects to the servers over TLS.";
    "ca": apart("path"), "the authorities of the system", Reload,
        "A PEM file with the authorities that may have issued the certificates of the servers.";
    "certificate": apart("path"), "none", Reload,
        "A PEM file with the certificate that is shown to the servers. With `key`.";
    "key": apart("path"), "none", Reload,
        "A PEM file with the private key of `certificate`.";
    "server_name": apart("name"), "that of the address", Reload,
        "The name that the certificates of the servers must have, also sent as the name of the server \
        (SNI). Needed for addresses and Unix sockets.";
    "http2": apart("true or false"), "`false`", Reload,
        "With `tls`: offers HTTP/2 to the servers in the handshake. One that takes it gets the requests of \
        a scheduler over one connection, as far as it allows; any other gets HTTP/1.1. WebSockets always \
        have an HTTP/1.1 connection of their own.";
    "h2c": apart("true or false"), "`false`", Reload,
        "Without `tls`: speaks HTTP/2 with the servers from the first byte, because they are known to \
        understand it, such as servers of gRPC. One that does not is answered for with 502.";
    "proxy_protocol": apart("`\"v1\"` or `\"v2\"`"), "none", Reload,
        "Begins each connection to a server with a PROXY header, in front of TLS: the client's address \
        (after `trusted_proxies`), and that of the listener. Each request then has a connection of its \
        own.";
    "connect_timeout": apart("duration above zero"), "`\"5s\"`", Reload,
        "How long a connection may take: looking up the name and the handshakes.";
    "first_byte_timeout": apart("duration above zero"), "`\"60s\"`", Reload,
        "How long the first byte of an answer may take once the request was sent; 504 above.";
    "idle_timeout": apart("duration above zero"), "`\"60s\"`", Reload,
        "How long a server may pause within an answer, or while it reads a request. An event stream \
        without events is a pause; a WebSocket is not.";
    "timeout": apart("duration above zero"), "none", Reload,
        "How long a request may take as a whole, with its answer. A WebSocket or another tunnel is ended then, too.";
    "connections": apart("whole number, 1 to 65535"), "`1024`", Reload,
        "The most open requests of a scheduler at one server. More wait.";
    "queue": apart("whole number, 0 to 1000000"), "`1024`", Reload,
        "How many requests of a scheduler may wait for a server; 503 above.";
    "queue_timeout": apart("duration above zero"), "`\"10s\"`", Reload,
        "How long a request may wait for a server; 503 above.";
    "buffer_request": apart("true or false"), "`false`", Reload,
        "Collects the body of a request in memory, up to `body_size` of its route, before a server gets \
        it: a slow client holds no place at a server, and a longer body can be sent again.";
    "retries": apart("whole number, 0 to 10"), "`1`", Reload,
        "How many times a request may go to another server after a failure. Only a request of which \
        nothing was sent, or that does no harm twice: without a body, or with one of at most 64 KiB, \
        and one of GET, HEAD, PUT, DELETE, OPTIONS. All repetitions together are at most a fifth of \
        the requests.";
    "next_on": apart("list of statuses, 400 to 599"), "none", Reload,
        "Answers with one of these statuses count as failures of the server, and the request goes to \
        the next one by the rules of `retries`. If it cannot, the client gets the answer.";
    "failures": apart("whole number, 1 to 1000000"), "`3`", Reload,
        "Failures in a row after which a server gets no requests for `failure_pause`. The last server \
        always gets them.";
    "failure_pause": apart("duration above zero"), "`\"10s\"`", Reload,
        "How long a failed server gets no requests. Then it gets one; if that fails too, the pause is \
        twice as long, up to 32 times.";
    "slow_start": apart("duration above zero"), "none", Reload,
        "How long the share of a server grows that is well again, that was drained, or that a reload \
        has added: from a tenth of its weight to all of it.";
    "slow_after": apart("duration above zero"), "none", Reload,
        "A first byte that takes longer counts as a failure of the server; the client still gets the \
        answer.";
    "check": apart("path"), "none", Reload,
        "Each scheduler requests this path of each server regularly. A server that does not answer well \
        `failures` times in a row gets no requests until it does.";
    "check_interval": apart("duration, 100ms to 1h"), "`\"5s\"`", Reload,
        "How often. Each time is up to a tenth earlier or later, so that the requests of schedulers \
        spread.";
    "check_timeout": apart("duration above zero"), "`\"2s\"`", Reload,
        "How long the whole answer may take.";
    "check_status": apart("whole number, 200 to 599"), "200 to 399", Reload,
        "The status that the answer must have.";
    "check_body": apart("text"), "none", Reload,
        "A text that must be in the first 64 KiB of the answer.";
    "cache": section("table, see below"), "none", Reload,
        "Keeps answers of the servers and uses them again.";
};
