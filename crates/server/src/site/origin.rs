//! Which pages in browsers may use channels.
//!
//! Owns the comparison of their origin with this site, and the header field that answers the
//! browser.

use http::{Reply, Request};

/// Whether a request comes from a page that may use the channels.
pub(super) enum Origin<'r> {
    /// From no page, or from a page of this server.
    Own,
    /// From a page of a configured site; its browser has to be told.
    Allowed(&'r [u8]),
    /// From any other page.
    Strange,
}

/// RFC 6454: a browser sends the origin of the page.
pub(super) fn origin_of<'r>(request: &Request<'r>, allowed: &[String]) -> Origin<'r> {
    let Some(origin) = request.field("origin") else { return Origin::Own };
    let host = request.host().unwrap_or_default();
    let authority = origin.splitn(2, |byte| *byte == b'/').nth(1);
    let authority = authority.and_then(|rest| rest.strip_prefix(b"/")).unwrap_or_default();
    if !host.is_empty() && authority.eq_ignore_ascii_case(host.as_bytes()) {
        return Origin::Own;
    }
    let is_allowed = |known: &String| known == "*" || origin.eq_ignore_ascii_case(known.as_bytes());
    if allowed.iter().any(is_allowed) { Origin::Allowed(origin) } else { Origin::Strange }
}

/// Tells the browser that a page of that origin may read the answer (Fetch, section 3.3).
pub(super) fn write_origin(origin: &Origin<'_>, reply: &mut Reply<'_>) {
    if let Origin::Allowed(origin) = origin {
        let _valid = reply.field("Access-Control-Allow-Origin", origin);
        reply.prepared_fields(b"Vary: Origin\r\n");
    }
}
