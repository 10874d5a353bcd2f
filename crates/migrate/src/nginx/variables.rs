//! Texts with variables of nginx as targets of ours.
//!
//! Owns which variables have a counterpart. Never decides where a text is used.

/// A target of ours for a redirect; `None` if a variable has no counterpart. `captures` is how many of `$1` to `$9`
/// there are.
pub(super) fn target(text: &str, name: Option<&str>, captures: usize) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let (variable, after) = variable(after)?;
        match variable {
            "scheme" => out.push_str("$scheme"),
            "host" | "http_host" => out.push_str("$host"),
            "server_name" => out.push_str(name.unwrap_or("$host")),
            "request_uri" => out.push_str("$path$query"),
            "uri" | "document_uri" => out.push_str("$path"),
            "args" | "query_string" if out.ends_with('?') => {
                out.pop();
                out.push_str("$query");
            }
            "args" | "query_string" if out.ends_with("$is_args") => {
                out.truncate(out.len() - "$is_args".len());
                out.push_str("$query");
            }
            // Its partner follows.
            "is_args" => out.push_str("$is_args"),
            digit => {
                let number: usize = digit.parse().ok()?;
                (1..=captures.min(9)).contains(&number).then_some(())?;
                out.push_str(&format!("${number}"));
            }
        }
        rest = after;
    }
    out.push_str(rest);
    (!out.contains("$is_args")).then_some(out)
}

/// The variable at the beginning, without its `$`, and what follows.
fn variable(text: &str) -> Option<(&str, &str)> {
    if let Some(after) = text.strip_prefix('{') {
        return after.split_once('}');
    }
    if text.starts_with(|sign: char| sign.is_ascii_digit()) {
        return text.split_at_checked(1);
    }
    let size =
        text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    text.split_at_checked(size).filter(|(name, _)| !name.is_empty())
}

/// Whether a text has no variable.
pub(super) fn is_plain(text: &str) -> bool {
    !text.contains('$')
}
