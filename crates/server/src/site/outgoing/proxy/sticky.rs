//! The cookie that keeps a client at one server.
//!
//! Owns its form: the hash of the server's address, so it reveals none and stays valid when other servers come and go.
//! A client may make one up; then it chooses among servers that it could get anyway.

use http::Request;

/// The value of the cookie for a server with this identity.
pub(in crate::site) fn value_of(identity: u64) -> String {
    format!("{identity:016x}")
}

/// The field that sets it, for a client that came this way.
pub(in crate::site) fn field_of(name: &str, identity: u64, request: &Request<'_>) -> String {
    let secure = if request.secured.is_some() { "; Secure" } else { "" };
    format!("{name}={}; Path=/; HttpOnly; SameSite=Lax{secure}", value_of(identity))
}

/// The value of a cookie of a request (RFC 6265 section 5.4).
pub(in crate::site) fn cookie_of<'r>(request: &Request<'r>, name: &str) -> Option<&'r [u8]> {
    request.head.fields.all("cookie").find_map(|line| {
        line.split(|byte| *byte == b';').find_map(|pair| {
            let at = pair.iter().position(|byte| *byte == b'=')?;
            let (key, value) = pair.split_at_checked(at)?;
            (key.trim_ascii() == name.as_bytes()).then(|| value.trim_ascii().get(1..))?
        })
    })
}
