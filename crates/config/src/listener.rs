//! `[[listener]]`: the addresses to listen on.
//!
//! Owns the keys of that section and the check that no two listeners use the same address. Never
//! opens a socket.

use std::path::Path;

use toml::de::DeValue;
use wire::network::Network;

use crate::acme::DEFAULT_LISTENERS;
use crate::address::ListenerAddress;
use crate::item::Item;
use crate::key::{SectionKeys, section, show_duration, show_text, show_texts};
use crate::model::channel_settings::ChannelKeyFiles;
use crate::model::config::{Authentication, Config, ListenerSettings, Protocol};
use crate::overrides::{CertificatesOverride, Overrides};
use crate::problem::Problems;
use crate::section::Section;
use crate::value::{boolean, borrowed_text, cannot_be, duration, whole};
use crate::{limits, listener_tls};

/// The default address: only this machine.
const DEFAULT: std::net::SocketAddr =
    std::net::SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);

impl ListenerSettings {
    /// A listener at `address`, with defaults for everything else.
    pub fn on(address: ListenerAddress) -> Self {
        Self {
            place: None,
            address,
            protocol: Protocol::default(),
            authentication: Authentication::default(),
            proxy_protocol_from: Vec::new(),
            backlog: limits::BACKLOG,
            defer_accept: limits::DEFER_ACCEPT,
            mode: limits::UNIX_SOCKET_MODE,
            tls: None,
            http2: true,
            h2c: false,
        }
    }
}

impl Default for ListenerSettings {
    fn default() -> Self {
        Self::on(ListenerAddress::Tcp(DEFAULT))
    }
}

/// Reads all listeners. Those of the command line replace those of the file, which are checked anyway.
pub(super) fn read(
    top: &Section<'_>,
    overrides: &Overrides,
    keys: &ChannelKeyFiles,
    base: &Path,
    problems: &mut Problems,
) -> Vec<ListenerSettings> {
    let sections = top.sections("listener", &LISTENER, problems);
    let mut listeners: Vec<ListenerSettings> =
        sections.iter().filter_map(|section| read_one(section, keys, base, problems)).collect();
    check_conflicts(&listeners, problems);
    if !overrides.listen.is_empty() {
        listeners = overrides.listen.iter().cloned().map(ListenerSettings::on).collect();
        check_conflicts(&listeners, problems);
    }
    if listeners.is_empty() && top.has("acme") {
        listeners.extend(DEFAULT_LISTENERS.into_iter().filter_map(ListenerSettings::of_acme));
    }
    if listeners.is_empty() {
        listeners.push(ListenerSettings::default());
    }
    if overrides.certificates == CertificatesOverride::SelfSigned {
        listeners.iter_mut().for_each(ListenerSettings::sign_itself);
    }
    if !overrides.listen_resp.is_empty() {
        let resp = |address| ListenerSettings {
            protocol: Protocol::Resp,
            ..ListenerSettings::on(address)
        };
        listeners.extend(overrides.listen_resp.iter().cloned().map(resp));
        check_conflicts(&listeners, problems);
    }
    listeners
}

fn read_one(
    section: &Section<'_>,
    keys: &ChannelKeyFiles,
    base: &Path,
    problems: &mut Problems,
) -> Option<ListenerSettings> {
    let Some(item) = section.item("address") else {
        problems.at(section.offset(), "[[listener]] has no `address`; write \"127.0.0.1:8080\"");
        return None;
    };
    // The rows refer to a configuration, of which only the listener is used.
    let mut config = Config::defaults("", base);
    let before = problems.len();
    section.apply(&mut config, base, problems);
    let listener = config.listeners.pop()?;
    let listener = listener_tls::with_clients(section, listener, base, problems);
    // The kind of an invalid address is unknown.
    if address(&item).is_ok() {
        check_kind(section, &listener, problems);
    }
    if let Some(item) = section.item("authenticate")
        && listener.authentication == Authentication::Required
        && *keys == ChannelKeyFiles::default()
    {
        let why = "`authenticate` needs something that clients can show; add `api_keys` or `token_keys` to \
                   [channels]";
        problems.at(item.key_offset, why);
    }
    let place = Some(problems.place(item.offset));
    (problems.len() == before).then_some(ListenerSettings { place, ..listener })
}

const PROTOCOLS: [(&str, Protocol); 2] = [("http", Protocol::Http), ("resp", Protocol::Resp)];

pub(super) static LISTENER: SectionKeys = section! {
    "[[listener]]";
    "address": set(
        first(listeners).address, "text",
        |item, _| address(item)?,
        |value| Some(show_text(value)),
    ), "must be given", Restart,
        "`\"127.0.0.1:8080\"`, `\"[::1]:8080\"`, `\"0.0.0.0:80\"` for all IPv4 addresses; `\"unix:/run/velodrome.sock\"`; `\"systemd:NAME\"` for a socket opened by systemd under that name, `\"systemd\"` for all of them. Host names are not resolved.";
    "protocol": choice(first(listeners).protocol, PROTOCOLS, "`\"http\"` or `\"resp\"`"), default, Restart,
        "The protocol: HTTP/2, HTTP/1.1 and HTTP/1.0, or RESP2 and RESP3 for Redis clients, which can use [channels](channels.md) and the [store](store.md).";
    "authenticate": set(
        first(listeners).authentication, "`true` or `false`",
        |item, _| match boolean(item)? { true => Authentication::Required, false => Authentication::Optional },
        |value| Some((*value == Authentication::Required).to_string()),
    ), default, Restart,
        "Whether RESP clients must first send `AUTH` with one of `api_keys` or a token. Only for `protocol = \"resp\"`.";
    "proxy_protocol_from": set(
        first(listeners).proxy_protocol_from, "list of networks",
        |item, reading| networks(item, reading.problems)?,
        |value| Some(show_texts(value)),
    ), "none", Reload,
        "Connections to this listener must come from one of these networks and begin with a PROXY header (version 1 or 2), which contains the client's address. All others are closed. Not for `unix:`.";
    "backlog": set(
        first(listeners).backlog, "whole number, 1 to 65535",
        |item, _| backlog(item)?,
        |value| Some(value.to_string()),
    ), default, Restart,
        "The accept queue of one socket; the kernel drops further handshakes. `net.core.somaxconn` of the kernel also limits it.";
    "defer_accept": set(
        first(listeners).defer_accept, "duration in whole seconds, up to an hour",
        |item, _| defer_accept(item)?,
        |value| Some(show_duration(*value)),
    ), default, Restart,
        "The kernel delivers a connection when its first byte has arrived, or after this time. The kernel rounds up to 1, 3, 7, 15, 31, 63 or 127 seconds, and beyond that in steps of two minutes. `\"0s\"` delivers it at once. Not for `unix:`.";
    "mode": set(
        first(listeners).mode, "octal permissions in quotes",
        |item, _| mode(item)?,
        |value| Some(format!("\"{:04o}\"", *value)),
    ), default, Restart,
        "The permissions of the file of a `unix:` address.";
    "tls": set(
        first(listeners).tls, "`{ certificate = \"site.pem\", key = \"site.key\" }`, a list of those, or `\"acme\"`",
        |item, reading| Some(listener_tls::read(item, reading)?),
        |value| value.as_ref().and_then(listener_tls::show),
    ), "connections are plain", Reload,
        "Encrypts the connections with TLS 1.2 or 1.3: see [TLS](tls.md). Both files are PEM: the server's certificate followed by those of its issuers, and the key without a password. Of several certificates a client gets the one for the name it asks for (also `*.example.org`), otherwise the first; for one name there may be an ECDSA and an RSA one. With `\"acme\"` they are those of [`[acme]`](#acme), which the server orders itself.";
    "http2": boolean(first(listeners).http2), default, Reload,
        "Whether clients of a listener with `tls` may choose HTTP/2 in the handshake. Browsers and most libraries do. `false`: they get HTTP/1.1.";
    "h2c": boolean(first(listeners).h2c), default, Reload,
        "Whether clients of a listener without `tls` may begin with HTTP/2, because they know that the server speaks it (`curl --http2-prior-knowledge`), such as a proxy or gRPC. HTTP/1.1 is served on the same listener. The field `Upgrade: h2c` has no effect (RFC 9113).";
    "client_ca": apart("path"), "clients show no certificates", Reload,
        "A PEM file with the authorities that issue the certificates of clients. Others are refused in the handshake.";
    "client_certificates": apart("`\"required\"` or `\"asked\"`"), "`\"required\"` with `client_ca`", Reload,
        "Whether a client without a certificate is refused in the handshake. With `\"asked\"` it is served, and pages see whether there was one.";
};

/// Keys that have no effect for the kind of address are mistakes.
fn check_kind(section: &Section<'_>, listener: &ListenerSettings, problems: &mut Problems) {
    let is_unix = matches!(listener.address, ListenerAddress::Unix(_));
    for (key, fits, why) in [
        ("mode", is_unix, "is for `unix:` addresses only"),
        ("defer_accept", !is_unix, "is not for `unix:` addresses"),
        (
            "proxy_protocol_from",
            !is_unix,
            "is not for `unix:` addresses, because their peers have no IP address",
        ),
        (
            "authenticate",
            listener.protocol == Protocol::Resp
                || listener.authentication == Authentication::Optional,
            "belongs to RESP listeners: HTTP clients are checked by the rules of each channel",
        ),
        (
            "http2",
            listener.tls.is_some() || listener.http2,
            "is for listeners with `tls`: without it HTTP/2 is served with `h2c = true`",
        ),
        (
            "http2",
            listener.protocol == Protocol::Http || listener.http2,
            "is for listeners of HTTP only",
        ),
        (
            "h2c",
            listener.tls.is_none() || !listener.h2c,
            "is for listeners without `tls`: with it clients choose HTTP/2 in the handshake",
        ),
        (
            "h2c",
            listener.protocol == Protocol::Http || !listener.h2c,
            "is for listeners of HTTP only",
        ),
        (
            "proxy_protocol_from",
            listener.protocol == Protocol::Http,
            "is for listeners of HTTP only",
        ),
    ] {
        if let (Some(item), false) = (section.item(key), fits) {
            problems.at(item.key_offset, format!("`{key}` {why}"));
        }
    }
}

fn address(item: &Item<'_>) -> Result<ListenerAddress, String> {
    let text = borrowed_text(item, "an address in quotes such as \"127.0.0.1:8080\"")?;
    text.parse::<ListenerAddress>().map_err(|error| cannot_be(item, text, &error.to_string()))
}

fn networks(item: &Item<'_>, problems: &mut Problems) -> Result<Vec<Network>, String> {
    if item.is_empty_list() {
        return Err(
            "`proxy_protocol_from` has no network, so no client could connect; leave it out for \
                    plain connections"
                .to_owned(),
        );
    }
    item.list(problems, network)
}

fn backlog(item: &Item<'_>) -> Result<u32, String> {
    let number = whole(item, 1..=limits::BACKLOG_MAX)?;
    u32::try_from(number)
        .map_err(|_| format!("`backlog` must be from 1 to {}", limits::BACKLOG_MAX))
}

fn network(item: &Item<'_>) -> Result<Network, String> {
    let text = borrowed_text(item, "a network in quotes such as \"10.0.0.0/8\"")?;
    text.parse::<Network>().map_err(|error| cannot_be(item, text, &error.to_string()))
}

/// The kernel counts TCP_DEFER_ACCEPT in seconds.
fn defer_accept(item: &Item<'_>) -> Result<std::time::Duration, String> {
    let duration = duration(item)?;
    if !is_defer_accept(duration) {
        return Err("`defer_accept` must be whole seconds, from 0 to 3600".to_owned());
    }
    Ok(duration)
}

/// Whether the kernel supports this value.
pub(crate) fn is_defer_accept(duration: std::time::Duration) -> bool {
    duration.subsec_nanos() == 0 && duration.as_secs() <= 3600
}

/// Permissions in octal, as `"0660"` or `0o660`. A decimal number would not mean what it looks like.
fn mode(item: &Item<'_>) -> Result<u32, String> {
    let (digits, is_octal) = match item.value {
        DeValue::String(text) => (text.as_ref(), true),
        DeValue::Integer(integer) => (integer.as_str(), integer.radix() == 8),
        _ => return Err(item.wrong_type("permissions in quotes such as \"0660\"")),
    };
    u32::from_str_radix(digits, 8)
        .ok()
        .filter(|mode| is_octal && *mode <= 0o777 && !digits.starts_with('+'))
        .ok_or_else(|| "`mode` must be octal permissions in quotes such as \"0660\"".to_owned())
}

fn check_conflicts(listeners: &[ListenerSettings], problems: &mut Problems) {
    for (index, later) in listeners.iter().enumerate() {
        let earlier = listeners.iter().take(index).find(|earlier| is_same(earlier, later));
        let Some(earlier) = earlier else { continue };
        let message = match earlier.place {
            Some(place) => format!(
                "`{}` is taken by the listener in {} already",
                later.address,
                problems.names().line(place)
            ),
            None => {
                format!("--listen {} conflicts with --listen {}", later.address, earlier.address)
            }
        };
        problems.add(later.place, message);
    }
}

fn is_same(earlier: &ListenerSettings, later: &ListenerSettings) -> bool {
    match (&earlier.address, &later.address) {
        // Port 0 is a different free port each time.
        (ListenerAddress::Tcp(first), ListenerAddress::Tcp(second)) => {
            first == second && first.port() != 0
        }
        (ListenerAddress::Unix(first), ListenerAddress::Unix(second)) => first == second,
        // Without a name it means all sockets.
        (ListenerAddress::Systemd(first), ListenerAddress::Systemd(second)) => {
            first == second || first.is_none() || second.is_none()
        }
        _ => false,
    }
}
