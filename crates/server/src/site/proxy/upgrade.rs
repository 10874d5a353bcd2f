//! The other protocols to which a client and a server may change their connection (RFC 9110 section 7.8).
//!
//! Owns which of those that a client offers reach the server: the ones that the route names. Behind any other, such as a
//! second HTTP, the server would get requests whose route, access and limits nobody has looked at. Never changes a
//! connection.

use config::ProxyRoute;
use http::Request;

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
