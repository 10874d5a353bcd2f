//! Texts with placeholders of Caddy as targets of ours.
//!
//! Owns which placeholders have a counterpart. Never decides where a text is used.

/// A target of ours; `None` if a placeholder has no counterpart. `path` is the path that Caddy sees, as a target.
pub(super) fn target(text: &str, path: Option<&str>) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        // A dollar sign is a variable here.
        out.push_str(&before.replace('$', "$$"));
        let (name, after) = after.split_once('}')?;
        match name {
            "host" | "http.request.host" => out.push_str("$host"),
            "scheme" | "http.request.scheme" => out.push_str("$scheme"),
            "uri" | "http.request.uri" => out.push_str(&format!("{}$query", path?)),
            "path" | "http.request.uri.path" => out.push_str(path?),
            "query" | "http.request.uri.query" if out.ends_with('?') => {
                out.pop();
                out.push_str("$query");
            }
            "?query" => out.push_str("$query"),
            _ => return None,
        }
        rest = after;
    }
    out.push_str(&rest.replace('$', "$$"));
    Some(out)
}

/// Placeholders of a request, and the values of ours that mean the same.
const OF_REQUEST: [(&str, &str); 16] = [
    ("remote_host", "peer"),
    ("http.request.remote.host", "peer"),
    ("client_ip", "peer"),
    ("http.vars.client_ip", "peer"),
    ("host", "host"),
    ("http.request.host", "host"),
    ("scheme", "scheme"),
    ("http.request.scheme", "scheme"),
    ("http.request.uuid", "request_id"),
    ("http.auth.user.id", "user"),
    ("tls_client_subject", "tls_client_subject"),
    ("http.request.tls.client.subject", "tls_client_subject"),
    ("tls_client_issuer", "tls_client_issuer"),
    ("http.request.tls.client.issuer", "tls_client_issuer"),
    ("tls_client_fingerprint", "tls_client_fingerprint"),
    ("http.request.tls.client.fingerprint", "tls_client_fingerprint"),
];

/// A value of a field for a server; `None` if a placeholder has no counterpart.
pub(super) fn field_value(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        // A dollar sign is a variable here.
        out.push_str(&before.replace('$', "$$"));
        let (name, after) = after.split_once('}')?;
        let (_, ours) = OF_REQUEST.iter().find(|(theirs, _)| *theirs == name)?;
        if after.starts_with(|next: char| next.is_ascii_lowercase() || next == '_') {
            // It would be read as a part of the name.
            return None;
        }
        out.push('$');
        out.push_str(ours);
        rest = after;
    }
    out.push_str(&rest.replace('$', "$$"));
    Some(out)
}

/// Whether a text has no placeholder.
pub(super) fn is_plain(text: &str) -> bool {
    !text.contains('{')
}
