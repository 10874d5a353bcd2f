//! The other protocols to which a client and a server may change their connection (RFC 9110 section 7.8).
//!
//! Owns which of those that a client offers reach the server: the ones that the route names. Behind any other, such as
//! a second HTTP, the server would get requests whose route, access and limits nobody has looked at. Owns also the
//! handshake with the server for a client of WebSocket that has none, because it came on a stream (RFC 8441 section 5).
//! Never changes a connection.

use client::{ExchangeFailure, HeadWriter};
use config::ProxyRoute;
use http::{FieldList, Fields, HttpVersion, Request};
use wire::websocket;

/// The protocols that a request offers and its route passes on, as the value of `Upgrade`. `None`: there are none.
pub(in crate::site) fn offered(request: &Request<'_>, route: &ProxyRoute) -> Option<String> {
    let offered = str::from_utf8(request.head.upgrade?).ok()?;
    let passes = |protocol: &&str| route.upgrade.iter().any(|known| is_of(protocol, known));
    let passed: Vec<&str> = offered.split(',').map(str::trim).filter(passes).collect();
    (!passed.is_empty()).then(|| passed.join(", "))
}

/// The protocol of a server's answer, if it is one of those that were offered.
pub(in crate::site) fn chosen<'h>(
    chosen: Option<&'h [u8]>,
    offered: Option<&str>,
) -> Option<&'h str> {
    let chosen = str::from_utf8(chosen?).ok()?.trim();
    let is_it = |one: &str| one.trim().eq_ignore_ascii_case(chosen);
    offered?.split(',').any(is_it).then_some(chosen)
}

/// The key with which the server is asked, if the client has none.
fn own_key(request: &Request<'_>) -> Option<String> {
    let is_websocket = request.head.upgrade?.eq_ignore_ascii_case(b"websocket");
    let has_none = request.version() == HttpVersion::Http2;
    (is_websocket && has_none).then(|| websocket::key_of(request.id().as_bytes()))
}

/// Adds to the head of an upgrade what the client has not sent, but the server needs.
pub(in crate::site) fn complete(
    request: &Request<'_>,
    head: &mut HeadWriter,
) -> Result<(), ExchangeFailure> {
    own_key(request).map_or(Ok(()), |key| head.field("Sec-WebSocket-Key", key.as_bytes()))
}

/// Whether a server has accepted the key that it was asked with. The key of a client is checked by the client.
pub(in crate::site) fn is_accepted(request: &Request<'_>, answer: Fields<'_, '_>) -> bool {
    let accepts = |key: String| {
        let token = websocket::accept_token(key.as_bytes());
        answer.first("sec-websocket-accept") == Some(&token)
    };
    own_key(request).is_none_or(accepts)
}

/// The fields of a server's acceptance, as the client gets them.
pub(in crate::site) fn for_client(request: &Request<'_>, answer: FieldList) -> FieldList {
    if own_key(request).is_none() {
        return answer;
    }
    let mut kept = FieldList::new();
    for (name, value) in answer.fields().iter() {
        if !name.eq_ignore_ascii_case("sec-websocket-accept") {
            // It fits, because the whole list did.
            let _fits = kept.add(name, value);
        }
    }
    kept
}

/// Whether a protocol is the known one, in any version.
fn is_of(protocol: &str, known: &str) -> bool {
    protocol.split('/').next().is_some_and(|name| name.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protocol_is_chosen_from_those_that_were_offered() {
        assert!(is_of("WebSocket/13", "websocket") && !is_of("websockets", "websocket"));
        assert_eq!(chosen(Some(b" x "), Some("websocket, X")), Some("x"));
        for (answer, offered) in
            [(Some(&b"h2c"[..]), Some("x")), (None, Some("x")), (Some(b"x"), None)]
        {
            assert_eq!(chosen(answer, offered), None, "{answer:?} {offered:?}");
        }
    }
}
