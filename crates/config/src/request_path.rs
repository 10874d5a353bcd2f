//! Request paths in the configuration: decoded and normalised, like the paths they are compared
//! with.
//!
//! Owns what such a path may look like. A path that no request can have would be a rule that never
//! matches.

/// Checks a path; the error is the rest of a sentence.
pub(super) fn check(path: &str) -> Result<(), &'static str> {
    if !path.starts_with('/') {
        return Err("it must begin with `/`");
    }
    if path.contains(|character: char| character.is_control()) {
        return Err("it must not contain control characters");
    }
    if path.contains('?') {
        return Err("it does not include the query, from `?` on");
    }
    if has_escape(path) {
        return Err("it is compared with the decoded path: write the character itself for `%..`");
    }
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        if segment.is_empty() && segments.peek().is_some() {
            return Err("`//` never is in a normalised path");
        }
        if matches!(segment, "." | "..") {
            return Err("`.` and `..` never are in a normalised path");
        }
    }
    Ok(())
}

fn has_escape(path: &str) -> bool {
    path.as_bytes()
        .windows(3)
        .any(|window| matches!(window, [b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit()))
}
