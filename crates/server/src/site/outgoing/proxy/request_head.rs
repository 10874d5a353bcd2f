//! The head of a request as a server of an upstream gets it.
//!
//! Owns which fields are passed on, and what the server is told of the client. Never chooses the server.

use std::borrow::Cow;
use std::fmt::Write;
use std::net::IpAddr;
use std::ops::Range;

use client::{ExchangeFailure, HeadWriter};
use config::{ForwardAuth, HeaderEdits, HeaderPart, ProxyRoute, RequestVariable, VariableHeader};
use http::Request;
use wire::http::head::{HttpVersion, RequestTarget};
use wire::http::trace_context::{TRACE_PARENT, TRACE_STATE};

use super::hop::{HopFields, begins_like};
use super::target::target_of;
use crate::limits::PROXY_ROUNDS;
use crate::site::exchange::address_of;
use crate::site::route::AnswerPlace;

/// `Via` of a request: the protocol in which it came and the name of this server, once more than it had that name (RFC
/// 9110 section 7.6.3). Nothing else of what came there is passed on.
fn via(request: &Request<'_>) -> Cow<'static, str> {
    let own = match request.version() {
        HttpVersion::Http10 => "1.0 velodrome",
        HttpVersion::Http11 => "1.1 velodrome",
        HttpVersion::Http2 => "2.0 velodrome",
    };
    match rounds_of(request) {
        0 => Cow::Borrowed(own),
        rounds => Cow::Owned(vec![own; rounds.min(PROXY_ROUNDS) + 1].join(", ")),
    }
}

fn rounds_of(request: &Request<'_>) -> usize {
    let is_own = |member: &&[u8]| member.trim_ascii_end().ends_with(b" velodrome");
    let fields = request.head.fields.iter();
    let lines = fields.filter(|(name, _)| name.eq_ignore_ascii_case("via"));
    lines.map(|(_, line)| line.split(|byte| *byte == b',').filter(is_own).count()).sum()
}

/// Whether a request has come through servers of this name so often that it goes round in a circle.
pub(in crate::site) fn goes_round(request: &Request<'_>) -> bool {
    rounds_of(request) >= PROXY_ROUNDS
}

/// Bytes of `Forwarded` besides the host, at most: an address of 45 characters and what stands around it.
const FORWARDED_ROOM: usize = 96;

/// Fields in which a client may claim to be another, besides those that begin with `x-forwarded-`; and `Proxy`, which
/// programs behind CGI take for a setting ("httpoxy"). The number of a request is the one in our log.
const CLAIMS: [&str; 5] = ["forwarded", "via", "x-real-ip", "x-request-id", "proxy"];

/// The target that a server is asked for, of a request with this decoded path: see [`target_of`].
pub(in crate::site) fn target_of_request(
    request: &Request<'_>,
    (path, rest): (&str, usize),
) -> String {
    let raw = match request.head.target {
        RequestTarget::Origin(_) => request.path(),
        RequestTarget::Asterisk => "*",
    };
    target_of(raw, request.query(), path, rest)
}

/// Writes the head, for this target. `place`: whom the rules of access have let in, and what a server has given it.
pub(in crate::site) fn head_of(
    request: &Request<'_>,
    place: &AnswerPlace,
    target: &str,
    route: &ProxyRoute,
) -> Result<HeadWriter, ExchangeFailure> {
    let fields = request.head.fields;
    let mut head = HeadWriter::new(request.method().as_str(), target, fields.lines().len() + 192)?;
    let edits = &route.request_headers;
    if !edits.drop_field("host") {
        // HTTP/1.0 knows no Host, and a server of HTTP/1.1 refuses a request without one.
        head.field("Host", request.host().unwrap_or(&route.upstream).as_bytes())?;
    }
    let hop = HopFields::of(&fields);
    let trace = request.parent_of_others();
    let has_key = request.version() != HttpVersion::Http2;
    for (name, value) in fields.iter() {
        let is_own = name.eq_ignore_ascii_case("host")
            || is_claim(name) && !place.has_given(name)
            || is_parent(name)
            // RFC 8441 section 5: the server is asked with a key of this one.
            || !has_key && name.eq_ignore_ascii_case("sec-websocket-key");
        let is_of_none = trace.is_none() && name.eq_ignore_ascii_case(TRACE_STATE);
        if is_own || is_of_none || hop.has(name) || drops(edits, name) {
            continue;
        }
        match name.eq_ignore_ascii_case("trailer") {
            true => head.declare_trailers(value),
            false => head.field(name, value)?,
        }
    }
    tell_of_trace(request, edits, &mut head)?;
    tell_of_client(request, |name| drops(edits, name) || place.has_given(name), &mut head)?;
    for header in &edits.set {
        head.field(&header.name, header.value.as_bytes())?;
    }
    for header in &edits.variable {
        if let Some(value) = filled(header, request, place.user()) {
            head.field(&header.name, value.as_bytes())?;
        }
    }
    Ok(head)
}

/// Fields that are about the answer to the request itself (RFC 9110 sections 13 and 14), not about another one.
const OF_ITS_ANSWER: [&str; 6] =
    ["if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range", "range"];

/// Writes the head of the question whether a request with this decoded path may pass: with the client's fields, and
/// what it wants (`X-Forwarded-Method` and `X-Forwarded-Uri`, as Traefik and Caddy tell it).
pub(in crate::site) fn question_of(
    request: &Request<'_>,
    path: &str,
    asked: &ForwardAuth,
) -> Result<HeadWriter, ExchangeFailure> {
    let fields = request.head.fields;
    let mut head = HeadWriter::new("GET", &asked.path, fields.lines().len() + 256)?;
    head.field("Host", request.host().unwrap_or(&asked.upstream).as_bytes())?;
    let hop = HopFields::of(&fields);
    for (name, value) in fields.iter() {
        let is_other = name.eq_ignore_ascii_case("host")
            || is_claim(name)
            || is_parent(name)
            || OF_ITS_ANSWER.iter().any(|of| name.eq_ignore_ascii_case(of));
        if !is_other && !hop.has(name) {
            head.field(name, value)?;
        }
    }
    tell_of_trace(request, &HeaderEdits::default(), &mut head)?;
    tell_of_client(request, |_| false, &mut head)?;
    // The path by which the route was found, so that both mean the same file.
    let target = target_of(request.path(), request.query(), path, 0);
    head.field("X-Forwarded-Method", request.method().as_str().as_bytes())?;
    head.field("X-Forwarded-Uri", target.as_bytes())?;
    Ok(head)
}

/// Whether the route removes or replaces a field. Most routes change none.
fn drops(edits: &HeaderEdits, name: &str) -> bool {
    !edits.is_empty() && edits.drop_field(name)
}

/// The value of a field with values of the request in it; `None` if the request has none for one of them.
fn filled(header: &VariableHeader, request: &Request<'_>, user: Option<&str>) -> Option<String> {
    let mut text = String::new();
    for part in &header.parts {
        match part {
            HeaderPart::Text(literal) => text.push_str(literal),
            HeaderPart::Variable(variable) => {
                let value = value_of(*variable, request, user).filter(|value| !value.is_empty())?;
                for letter in value.chars() {
                    // No certificate and no user makes another field of it.
                    match letter.is_control() {
                        true => text.push('?'),
                        false => text.push(letter),
                    }
                }
            }
        }
    }
    Some(text)
}

fn value_of<'a>(
    variable: RequestVariable,
    request: &Request<'a>,
    user: Option<&'a str>,
) -> Option<Cow<'a, str>> {
    let secured = request.secured;
    let certificate = secured.and_then(|agreed| agreed.client.as_ref());
    match variable {
        RequestVariable::Peer => address_of(request).map(|address| address.to_string().into()),
        RequestVariable::RequestId => Some(request.id()),
        RequestVariable::Host => request.host().map(Cow::Borrowed),
        RequestVariable::Scheme => Some(Cow::Borrowed(request.scheme().as_str())),
        RequestVariable::User => user.map(Cow::Borrowed),
        RequestVariable::Tls => secured.map(|agreed| Cow::Borrowed(agreed.version)),
        RequestVariable::TlsClientSubject => certificate.map(|it| Cow::Borrowed(&*it.subject)),
        RequestVariable::TlsClientIssuer => certificate.map(|it| Cow::Borrowed(&*it.issuer)),
        RequestVariable::TlsClientFingerprint => {
            certificate.map(|it| Cow::Borrowed(&*it.fingerprint))
        }
    }
}

/// Whether a field claims something about the client.
fn is_claim(name: &str) -> bool {
    begins_like(name, "x-forwarded-")
        || CLAIMS.iter().any(|claim| begins_like(name, claim) && name.len() == claim.len())
}

/// Whether a field says to which span a request belongs.
fn is_parent(name: &str) -> bool {
    name.eq_ignore_ascii_case(TRACE_PARENT)
}

/// Tells the server to which trace the request belongs: it is sent in the span of its answer.
fn tell_of_trace(
    request: &Request<'_>,
    edits: &HeaderEdits,
    head: &mut HeadWriter,
) -> Result<(), ExchangeFailure> {
    match request.parent_of_others().filter(|_| !drops(edits, TRACE_PARENT)) {
        Some(parent) => head.field(TRACE_PARENT, parent.to_string().as_bytes()),
        None => Ok(()),
    }
}

/// Tells the server who the client is and how it came. This is the one place that does: nothing that the client itself
/// has claimed is passed on.
fn tell_of_client(
    request: &Request<'_>,
    is_dropped: impl Fn(&str) -> bool,
    head: &mut HeadWriter,
) -> Result<(), ExchangeFailure> {
    let (proto, host) = (request.scheme().as_str(), request.host().unwrap_or_default());
    let (forwarded, address) = forwarded(address_of(request), host, proto);
    let via = via(request);
    for (name, value) in [
        ("X-Forwarded-For", &forwarded[address.clone()]),
        ("X-Real-IP", &forwarded[address]),
        ("X-Forwarded-Proto", proto),
        ("X-Forwarded-Host", host),
        ("Forwarded", &forwarded),
        ("Via", &via),
        ("X-Request-Id", &request.id()),
    ] {
        if !value.is_empty() && !is_dropped(name) {
            head.field(name, value.as_bytes())?;
        }
    }
    Ok(())
}

/// The value of `Forwarded` (RFC 7239 sections 4 and 6), and where in it the address lies: nowhere for a client of a
/// Unix socket.
fn forwarded(address: Option<IpAddr>, host: &str, proto: &str) -> (String, Range<usize>) {
    let mut text = String::with_capacity(FORWARDED_ROOM + host.len());
    let (before, after) = match address {
        Some(IpAddr::V6(_)) => ("for=\"[", "]\""),
        Some(IpAddr::V4(_)) => ("for=", ""),
        None => ("for=unknown", ""),
    };
    text.push_str(before);
    let begin = text.len();
    // Text takes whatever is written into it.
    let _ = address.map(|address| write!(text, "{address}"));
    let place = begin..text.len();
    text.push_str(after);
    // A host has no quotation mark or backslash in it.
    let quoted = if host.is_empty() { ["", "", ""] } else { [";host=\"", host, "\""] };
    for piece in quoted.into_iter().chain([";proto=", proto]) {
        text.push_str(piece);
    }
    (text, place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwarded_names_the_client_in_the_form_of_its_address() {
        let of = |address: Option<&str>, host: &str| {
            let address = address.map(|text| text.parse().expect("an address"));
            let (text, place) = forwarded(address, host, "https");
            (text.clone(), text[place].to_owned())
        };
        let told = |text: &str, address: &str| (text.to_owned(), address.to_owned());
        let v4 = told("for=192.0.2.1;host=\"a.org\";proto=https", "192.0.2.1");
        assert_eq!(of(Some("192.0.2.1"), "a.org"), v4);
        let v6 = told("for=\"[2001:db8::1]\";proto=https", "2001:db8::1");
        assert_eq!(of(Some("2001:db8::1"), ""), v6);
        assert_eq!(of(None, ""), told("for=unknown;proto=https", ""));
    }

    #[test]
    fn forwarding_fields_are_recognised_in_any_spelling() {
        for name in [
            "Forwarded",
            "VIA",
            "X-Forwarded-For",
            "x_forwarded-for",
            "X-Forwarded-Whatever",
            "X_Real_IP",
            "X-Request-ID",
            "Proxy",
        ] {
            assert!(is_claim(name), "{name}");
        }
        for name in ["X-Forward", "X-Forwarded", "Vi", "Proxy-Authorization", "Host", "X-Real"] {
            assert!(!is_claim(name), "{name}");
        }
    }
}
