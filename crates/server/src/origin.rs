//! Which pages in browsers may use the endpoints of the server itself: channels, the store, forms with files, the admin
//! service.
//!
//! Owns the comparison of their origin with this site, and the header field that answers the
//! browser. Never decides what a client may do: keys, tokens and rules do.

use http::{Reply, Request};
use wire::http::method::Method;
use wire::http::url;

/// Whether a request comes from a page that may use an endpoint of the server.
pub(crate) enum Origin<'r> {
    /// From no page, or from a page of this server.
    Own,
    /// From a page of a configured site; its browser has to be told.
    Allowed(&'r [u8]),
    /// From any other page.
    Strange,
}

/// Where the browser says that a request comes from (Fetch Metadata, `Sec-Fetch-Site`). Pages cannot set the field.
#[derive(PartialEq, Eq)]
enum Site {
    Same,
    Other,
    Unknown,
}

/// RFC 6454: a browser sends the origin of the page with every request that may change something, and with those that
/// read from another site in a way that shows the answer to the page. A request that changes something is also refused
/// if the browser says that it comes from another site, even if it sends no origin.
pub(crate) fn origin_of<'r>(request: &Request<'r>, allowed: &[String]) -> Origin<'r> {
    let site = site_of(request);
    let is_suspicious = site == Site::Other && !is_safe(request.method());
    let for_all = allowed.iter().any(|known| known == "*");
    let Some(text) = request.field("origin") else {
        return if is_suspicious && !for_all { Origin::Strange } else { Origin::Own };
    };
    let host = request.host().unwrap_or_default();
    let origin = url::Origin::parse(text);
    let is_own = match origin {
        Some(origin) => !host.is_empty() && origin.is_of(host.as_bytes()),
        // A page that hides its address (Referrer-Policy) sends `null` to its own site as well.
        None => text == b"null" && site == Site::Same,
    };
    if is_own && !is_suspicious {
        return Origin::Own;
    }
    let is_known = |known: &String| {
        url::Origin::parse(known.as_bytes()).is_some_and(|known| Some(known) == origin)
    };
    if for_all || allowed.iter().any(is_known) { Origin::Allowed(text) } else { Origin::Strange }
}

/// Whether a request comes from a page of another site and may change something.
pub(crate) fn is_forged(request: &Request<'_>, allowed: &[String]) -> bool {
    !is_safe(request.method()) && matches!(origin_of(request, allowed), Origin::Strange)
}

/// Whether the browser says that a request comes from a page of another site.
pub(crate) fn is_of_another_site(request: &Request<'_>) -> bool {
    site_of(request) == Site::Other
}

/// Tells the browser that a page of that origin may read the answer (Fetch, section 3.3).
pub(crate) fn write_origin(origin: &Origin<'_>, reply: &mut Reply<'_>) {
    if let Origin::Allowed(origin) = origin {
        let _valid = reply.field("Access-Control-Allow-Origin", origin);
        let _valid = reply.field("Vary", b"Origin");
    }
}

/// Methods that only read (RFC 9110 section 9.2.1).
fn is_safe(method: Method) -> bool {
    matches!(method, Method::Get | Method::Head | Method::Options)
}

fn site_of(request: &Request<'_>) -> Site {
    match request.field("sec-fetch-site") {
        Some(b"same-origin") => Site::Same,
        Some(b"cross-site" | b"same-site") => Site::Other,
        _ => Site::Unknown,
    }
}
