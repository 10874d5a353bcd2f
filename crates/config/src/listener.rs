//! `[[listener]]`: where connections come in.
//!
//! Owns the keys of that section and the check that no two listeners want the same. Never opens a socket.

use super::choice::choice;
use super::section::{Item, Section};
use super::value::{borrowed_text, cannot_be, duration, whole, wrong_type};
use super::{Address, Listener, Overrides, Problems, Protocol, keys};
use crate::limits;
use toml::de::DeValue;
use wire::network::Network;

/// The address without any configuration: this machine alone.
const DEFAULT: std::net::SocketAddr =
    std::net::SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);

impl Listener {
    /// On `address`, everything else as by default.
    #[must_use]
    pub fn on(address: Address) -> Self {
        Self {
            place: None,
            address,
            protocol: Protocol::default(),
            proxy_protocol_from: Vec::new(),
            backlog: limits::BACKLOG,
            defer_accept: limits::DEFER_ACCEPT,
            mode: limits::UNIX_SOCKET_MODE,
        }
    }
}

/// Reads all listeners; the command line's replace the file's, which are checked all the same.
pub(super) fn read(
    top: &Section<'_>,
    overrides: &Overrides,
    problems: &mut Problems,
) -> Vec<Listener> {
    let sections = top.sections("listener", &keys::LISTENER, problems);
    let mut listeners: Vec<Listener> =
        sections.iter().filter_map(|section| listener(section, problems)).collect();
    check_conflicts(&listeners, problems);
    if !overrides.listen.is_empty() {
        listeners = overrides.listen.iter().cloned().map(Listener::on).collect();
        check_conflicts(&listeners, problems);
    }
    if listeners.is_empty() {
        listeners.push(Listener::on(Address::Tcp(DEFAULT)));
    }
    listeners
}

fn listener(section: &Section<'_>, problems: &mut Problems) -> Option<Listener> {
    let Some(address_item) = section.item("address") else {
        problems.at(section.offset, "[[listener]] has no `address`; write \"127.0.0.1:8080\"");
        return None;
    };
    let address = section.read("address", problems, address);
    let protocol =
        section.read("protocol", problems, |item| choice(item, &[("http", Protocol::Http)]));
    let networks = section.list("proxy_protocol_from", problems, network);
    if let (Some(item), true) =
        (section.item("proxy_protocol_from"), section.is_empty_list("proxy_protocol_from"))
    {
        problems.at(
            item.offset,
            "`proxy_protocol_from` has no network, so nobody could connect; leave it out for plain connections",
        );
    }
    let backlog = section.read("backlog", problems, |item| whole(item, 1..=limits::BACKLOG_MAX));
    let defer_accept = section.read("defer_accept", problems, defer_accept);
    let mode = section.read("mode", problems, mode);
    let address = address?;
    check_kind(section, &address, problems);
    let mut listener = Listener::on(address);
    listener.place = Some(problems.place(address_item.offset));
    listener.protocol = protocol.unwrap_or_default();
    listener.proxy_protocol_from = networks.unwrap_or_default();
    if let Some(backlog) = backlog {
        listener.backlog = u32::try_from(backlog).unwrap_or(limits::BACKLOG);
    }
    listener.defer_accept = defer_accept.unwrap_or(listener.defer_accept);
    listener.mode = mode.unwrap_or(listener.mode);
    Some(listener)
}

/// Keys that the kind of address has no use for would be a wish that is not granted.
fn check_kind(section: &Section<'_>, address: &Address, problems: &mut Problems) {
    let is_unix = matches!(address, Address::Unix(_));
    for (key, fits, why) in [
        ("mode", is_unix, "is for `unix:` addresses only"),
        ("defer_accept", !is_unix, "is not for `unix:` addresses"),
        (
            "proxy_protocol_from",
            !is_unix,
            "is not for `unix:` addresses, whose peers have no address to be trusted by",
        ),
    ] {
        if let (Some(item), false) = (section.item(key), fits) {
            problems.at(item.key_offset, format!("`{key}` {why}"));
        }
    }
}

fn address(item: &Item<'_>) -> Result<Address, String> {
    let text = borrowed_text(item, "an address in quotes such as \"127.0.0.1:8080\"")?;
    text.parse::<Address>().map_err(|error| cannot_be(item, text, &error.to_string()))
}

fn network(item: &Item<'_>) -> Result<Network, String> {
    let text = borrowed_text(item, "a network in quotes such as \"10.0.0.0/8\"")?;
    text.parse::<Network>().map_err(|error| cannot_be(item, text, &error.to_string()))
}

/// The kernel counts TCP_DEFER_ACCEPT in seconds.
fn defer_accept(item: &Item<'_>) -> Result<std::time::Duration, String> {
    let duration = duration(item)?;
    if duration.subsec_nanos() != 0 || duration.as_secs() > 3600 {
        return Err("`defer_accept` must be whole seconds, from 0 to 3600".to_owned());
    }
    Ok(duration)
}

/// Permissions in octal, as `"0660"` or `0o660`. A decimal number would mean something else than it looks like.
fn mode(item: &Item<'_>) -> Result<u32, String> {
    let (digits, is_octal) = match item.value {
        DeValue::String(text) => (text.as_ref(), true),
        DeValue::Integer(integer) => (integer.as_str(), integer.radix() == 8),
        _ => return Err(wrong_type(item, "permissions in quotes such as \"0660\"")),
    };
    u32::from_str_radix(digits, 8)
        .ok()
        .filter(|mode| is_octal && *mode <= 0o777 && !digits.starts_with('+'))
        .ok_or_else(|| "`mode` must be octal permissions in quotes such as \"0660\"".to_owned())
}

fn check_conflicts(listeners: &[Listener], problems: &mut Problems) {
    for (index, later) in listeners.iter().enumerate() {
        let earlier = listeners.iter().take(index).find(|earlier| is_same(earlier, later));
        let Some(earlier) = earlier else { continue };
        let message = match earlier.place {
            Some(place) => format!(
                "`{}` is taken by the listener in line {} already",
                later.address, place.line
            ),
            None => {
                format!("--listen {} conflicts with --listen {}", later.address, earlier.address)
            }
        };
        problems.add(later.place, message);
    }
}

fn is_same(earlier: &Listener, later: &Listener) -> bool {
    match (&earlier.address, &later.address) {
        // Port 0 is a free one each time.
        (Address::Tcp(first), Address::Tcp(second)) => first == second && first.port() != 0,
        (Address::Unix(first), Address::Unix(second)) => first == second,
        // Without a name it is all the sockets there are.
        (Address::Systemd(first), Address::Systemd(second)) => {
            first == second || first.is_none() || second.is_none()
        }
        _ => false,
    }
}
