//! The statements of proxies about a client: `Forwarded` (RFC 7239) and the older `X-Forwarded-For`, `-Proto` and
//! `-Host`.
//!
//! Owns the syntax of these fields, and the walk from the last proxy back to the client. Everybody can send such
//! fields: who may is an argument here, and a connection decides it.

use std::net::{IpAddr, SocketAddr};

use super::head::Fields;
use super::head::{Initials, scan, trim};
use super::url::Scheme;
use crate::limits::FORWARDERS_MAX;

/// A field by which a proxy tells of its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardingField {
    /// `Forwarded`: address, scheme and host.
    Forwarded,
    /// `X-Forwarded-For`: the address.
    For,
    /// `X-Forwarded-Proto`: the scheme.
    Proto,
    /// `X-Forwarded-Host`: the host.
    Host,
}

impl ForwardingField {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Forwarded, Self::For, Self::Proto, Self::Host];

    /// The name of the field, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forwarded => "forwarded",
            Self::For => "x-forwarded-for",
            Self::Proto => "x-forwarded-proto",
            Self::Host => "x-forwarded-host",
        }
    }
}

/// The client behind proxies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forwarded<'b> {
    /// Its address, and its port if that is known, otherwise 0. `None`: no proxy told, so the peer is the client.
    pub client: Option<SocketAddr>,
    /// Whether it used encryption; `None` if no proxy told.
    pub scheme: Option<Scheme>,
    /// The host that it asked for; `None` if no proxy told.
    pub host: Option<&'b [u8]>,
}

/// Why the fields tell nothing: malformed, contradictory, or without the address that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedForwarded;

/// The first letters of all fields that tell of a client.
const FIRST: Initials = Initials::of(b"forwarded").and(Initials::of(b"x"));

/// Whether some of these fields may be there: one comparison, which excludes them for most requests.
#[inline(always)]
pub fn may_be_in(fields: &Fields<'_, '_>) -> bool {
    fields.may_begin_with(FIRST)
}

/// Whether a field tells of a client. Programs behind this server may take an underscore for a hyphen (RFC 3875,
/// 4.1.18), so both count.
pub fn is_one(name: &str) -> bool {
    const PREFIX: &[u8] = b"x-forwarded-";
    let same = |known: &[u8], bytes: &[u8]| {
        let lower = bytes.iter().map(|byte| match byte {
            b'_' => b'-',
            byte => byte.to_ascii_lowercase(),
        });
        lower.eq(known.iter().copied())
    };
    let name = name.as_bytes();
    same(b"forwarded", name)
        || same(b"x-real-ip", name)
        || name.get(..PREFIX.len()).is_some_and(|first| same(PREFIX, first))
}

/// Whether what a field means depends on who has sent the request: one that tells of a client, or the name that a proxy
/// has given to the request.
pub fn concerns_proxies(name: &str) -> bool {
    is_one(name) || name.eq_ignore_ascii_case("x-request-id")
}

/// Finds the client in the fields of a request that came from a trusted proxy: from the last address on back to the
/// first that is not one of a trusted proxy. Only `believed` fields count.
///
/// # Errors
/// If what counts is malformed, or if `Forwarded` and the older fields are there and name different clients: then
/// somebody who is not trusted has sent one of them through a proxy that knows only the other.
pub fn read<'b>(
    fields: &Fields<'b, '_>,
    believed: &[ForwardingField],
    is_trusted: impl Fn(IpAddr) -> bool,
) -> Result<Forwarded<'b>, MalformedForwarded> {
    let believes = |field| believed.contains(&field);
    let newer =
        if believes(ForwardingField::Forwarded) { read_newer(fields, &is_trusted)? } else { None };
    let older = read_older(fields, believes, &is_trusted)?;
    let Some(newer) = newer else { return Ok(older) };
    if newer.client.is_none() && older.client.is_some() {
        // Where a proxy hides the client, nobody else names it.
        return Err(MalformedForwarded);
    }
    Ok(Forwarded {
        client: one_of(newer.client, older.client, SocketAddr::ip)?,
        scheme: one_of(newer.scheme, older.scheme, |scheme| *scheme)?,
        host: one_of(newer.host, older.host, |host| *host)?,
    })
}

/// The value in one or both kinds of fields. Values in both must be the same.
fn one_of<T, C: PartialEq>(
    newer: Option<T>,
    older: Option<T>,
    compared: impl Fn(&T) -> C,
) -> Result<Option<T>, MalformedForwarded> {
    match (&newer, &older) {
        (Some(one), Some(other)) if compared(one) != compared(other) => Err(MalformedForwarded),
        _ => Ok(newer.or(older)),
    }
}

/// `Forwarded`; `None` if it is absent. Its elements are read in order, because only so it is known where a quoted text
/// ends. The one that counts is the last whose address is not one of a trusted proxy, or else the first. If it hides
/// the client (RFC 7239 sections 6.2 and 6.3), the last known hop is taken: the proxy that the next element names;
/// without one the client is `None`.
fn read_newer<'b>(
    fields: &Fields<'b, '_>,
    is_trusted: &impl Fn(IpAddr) -> bool,
) -> Result<Option<Forwarded<'b>>, MalformedForwarded> {
    let mut counts: Option<Element<'b>> = None;
    // The proxy behind it.
    let mut next = None;
    let mut elements = 0;
    for line in fields.all(ForwardingField::Forwarded.name()) {
        for element in (Elements { rest: line }) {
            let element = element?;
            elements += 1;
            if elements > FORWARDERS_MAX {
                return Err(MalformedForwarded);
            }
            let address = element.node.and_then(node);
            if counts.is_none() || address.is_none_or(|address| !is_trusted(address.ip())) {
                (counts, next) = (Some(element), None);
            } else {
                next = next.or(address);
            }
        }
    }
    let Some(element) = counts else { return Ok(None) };
    // An element without a node says nothing of who sent the request.
    let text = element.node.ok_or(MalformedForwarded)?;
    let client = if is_hidden(text) { next } else { Some(node(text).ok_or(MalformedForwarded)?) };
    let scheme = element.proto.map(scheme_of).transpose()?;
    Ok(Some(Forwarded { client, scheme, host: element.host.map(host_of).transpose()? }))
}

/// `X-Forwarded-*`. A scheme and a host count that are as far from the end as the address, or the first ones of a
/// shorter list: those were told by proxies, too.
fn read_older<'b>(
    fields: &Fields<'b, '_>,
    believes: impl Fn(ForwardingField) -> bool,
    is_trusted: &impl Fn(IpAddr) -> bool,
) -> Result<Forwarded<'b>, MalformedForwarded> {
    let mut client = None;
    let mut hops = 0;
    if believes(ForwardingField::For) {
        for (index, text) in from_the_end(fields, ForwardingField::For).enumerate() {
            if index == FORWARDERS_MAX {
                return Err(MalformedForwarded);
            }
            let address = node(text).ok_or(MalformedForwarded)?;
            (client, hops) = (Some(address), index);
            if !is_trusted(address.ip()) {
                break;
            }
        }
    }
    let told = |field| {
        let all = believes(field).then(|| from_the_end(fields, field));
        all.into_iter().flatten().take(hops + 1).last()
    };
    Ok(Forwarded {
        client,
        scheme: told(ForwardingField::Proto).map(scheme_of).transpose()?,
        host: told(ForwardingField::Host).map(host_of).transpose()?,
    })
}

/// The values of a list, in as many lines as it came, the last first. Empty ones do not count (RFC 9110, 5.6.1).
fn from_the_end<'b>(
    fields: &Fields<'b, '_>,
    field: ForwardingField,
) -> impl Iterator<Item = &'b [u8]> {
    let lines = fields.all(field.name()).rev();
    lines
        .flat_map(|line| line.rsplit(|byte| *byte == b','))
        .map(trim)
        .filter(|text| !text.is_empty())
}

/// `http` or `https`; some proxies tell `ws` or `wss` for a WebSocket.
fn scheme_of(text: &[u8]) -> Result<Scheme, MalformedForwarded> {
    let is = |known: &[u8]| text.eq_ignore_ascii_case(known);
    if is(b"https") || is(b"wss") {
        return Ok(Scheme::Https);
    }
    if is(b"http") || is(b"ws") { Ok(Scheme::Http) } else { Err(MalformedForwarded) }
}

fn host_of(text: &[u8]) -> Result<&[u8], MalformedForwarded> {
    let is_host = !text.is_empty() && super::head::authority::is_valid(text);
    if is_host { Ok(text) } else { Err(MalformedForwarded) }
}

/// Whether a node hides its address: `unknown`, or a name that begins with `_`, perhaps with a port (RFC 7239 section
/// 6).
fn is_hidden(text: &[u8]) -> bool {
    let colon = text.iter().position(|byte| *byte == b':');
    let (name, port) = text.split_at(colon.unwrap_or(text.len()));
    let is_name = |text: &[u8]| {
        let rest = text.strip_prefix(b"_").unwrap_or_default();
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
        !rest.is_empty() && rest.iter().all(is_part)
    };
    let is_port = match port.strip_prefix(b":") {
        Some(port) => {
            is_name(port) || (1..=5).contains(&port.len()) && port.iter().all(u8::is_ascii_digit)
        }
        None => true,
    };
    (name.eq_ignore_ascii_case(b"unknown") || is_name(name)) && is_port
}

/// An address with or without a port (RFC 7239, 6), also an IPv6 address without brackets. `None`: the text is none, or
/// it is `unknown` or another name that hides an address, or an address that means nobody, or only one network knows
/// what it means (`fe80::1%eth0`).
fn node(text: &[u8]) -> Option<SocketAddr> {
    let text = str::from_utf8(text).ok()?;
    let (address, port) = if let Some(rest) = text.strip_prefix('[') {
        let (address, rest) = rest.split_once(']')?;
        let port = match rest {
            "" => None,
            rest => Some(rest.strip_prefix(':')?),
        };
        (IpAddr::V6(address.parse().ok()?), port)
    } else {
        match text.split_once(':') {
            Some((address, port)) if !port.contains(':') => {
                (IpAddr::V4(address.parse().ok()?), Some(port))
            }
            _ => (text.parse().ok()?, None),
        }
    };
    let port = match port {
        None => 0,
        // A port may be hidden, too.
        Some(hidden) if hidden.starts_with('_') => 0,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok()?,
        Some(_) => return None,
    };
    let address = address.to_canonical();
    let is_somebody = !address.is_unspecified() && !address.is_multicast();
    is_somebody.then_some(SocketAddr::new(address, port))
}

/// The statement of one proxy in `Forwarded`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Element<'b> {
    node: Option<&'b [u8]>,
    proto: Option<&'b [u8]>,
    host: Option<&'b [u8]>,
}

/// The elements of one line of `Forwarded`.
struct Elements<'b> {
    rest: &'b [u8],
}

impl<'b> Iterator for Elements<'b> {
    type Item = Result<Element<'b>, MalformedForwarded>;

    fn next(&mut self) -> Option<Self::Item> {
        while let [b' ' | b'\t' | b',', rest @ ..] = self.rest {
            self.rest = rest;
        }
        if self.rest.is_empty() {
            return None;
        }
        Some(self.element())
    }
}

impl<'b> Elements<'b> {
    /// Pairs with semicolons between them, up to a comma or the end.
    fn element(&mut self) -> Result<Element<'b>, MalformedForwarded> {
        let mut element = Element::default();
        loop {
            let (name, value) = self.pair()?;
            let place = match name {
                name if name.eq_ignore_ascii_case(b"for") => Some(&mut element.node),
                name if name.eq_ignore_ascii_case(b"proto") => Some(&mut element.proto),
                name if name.eq_ignore_ascii_case(b"host") => Some(&mut element.host),
                _ => None,
            };
            // RFC 7239, 4: each parameter once.
            if place.is_some_and(|place| place.replace(value).is_some()) {
                return Err(MalformedForwarded);
            }
            self.rest = trim(self.rest);
            match self.rest {
                [] | [b',', ..] => return Ok(element),
                [b';', rest @ ..] => self.rest = trim(rest),
                _ => return Err(MalformedForwarded),
            }
        }
    }

    /// A name, and a token or quoted text. Addresses with colons are accepted without quotes, as some proxies send
    /// them.
    fn pair(&mut self) -> Result<(&'b [u8], &'b [u8]), MalformedForwarded> {
        let (name, after) =
            self.rest.split_at_checked(scan::token(self.rest, 0)).ok_or(MalformedForwarded)?;
        let [b'=', value @ ..] = after else { return Err(MalformedForwarded) };
        if name.is_empty() {
            return Err(MalformedForwarded);
        }
        let (value, rest) = match value {
            [b'"', quoted @ ..] => {
                quoted.split_at_checked(end_of_quoted(quoted)?).ok_or(MalformedForwarded)?
            }
            _ => {
                let ends = |byte: &u8| matches!(byte, b',' | b';' | b' ' | b'\t' | b'"');
                let end = value.iter().position(ends).unwrap_or(value.len());
                let (value, rest) = value.split_at_checked(end).ok_or(MalformedForwarded)?;
                if value.is_empty() || rest.first() == Some(&b'"') {
                    return Err(MalformedForwarded);
                }
                self.rest = rest;
                return Ok((name, value));
            }
        };
        self.rest = rest.get(1..).unwrap_or_default();
        Ok((name, value))
    }
}

fn end_of_quoted(text: &[u8]) -> Result<usize, MalformedForwarded> {
    let mut bytes = text.iter().enumerate();
    while let Some((index, byte)) = bytes.next() {
        match byte {
            b'"' => return Ok(index),
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
    Err(MalformedForwarded)
}
