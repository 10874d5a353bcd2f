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

/// Whether a text has no placeholder.
pub(super) fn is_plain(text: &str) -> bool {
    !text.contains('{')
}
