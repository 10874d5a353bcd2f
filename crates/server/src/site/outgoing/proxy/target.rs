//! The target of a request for a server: the path as it came, or what is left of it.
//!
//! Owns when a path is passed on byte for byte. It is unless it was rewritten, or has dot segments or empty segments:
//! then the server gets the path by which the route was found, because it might read the other one differently.

use wire::http::target::percent_encode;

/// The target for a server: `path` is the decoded path, of which the bytes before `rest` are left out; `raw` is the
/// path as it came.
pub(in crate::site) fn target_of(
    raw: &str,
    query: Option<&str>,
    path: &str,
    rest: usize,
) -> String {
    let mut out = String::with_capacity(raw.len() + query.map_or(0, str::len) + 1);
    match raw_rest(raw, path, rest) {
        Some(raw) => out.push_str(raw),
        None => percent_encode(path.get(rest..).unwrap_or_default(), OF_PATHS, &mut out),
    }
    if !out.starts_with('/') {
        out.insert(0, '/');
    }
    if let Some(query) = query {
        out.push('?');
        out.push_str(query);
    }
    out
}

/// The part of a path as it came behind its first `rest` decoded bytes; `None` if it is not this path.
fn raw_rest<'r>(raw: &'r str, path: &str, rest: usize) -> Option<&'r str> {
    let mut start = if rest == 0 { Some(0) } else { None };
    let (mut at, mut expected) = (0, path.bytes().enumerate());
    let bytes = raw.as_bytes();
    while let Some(first) = bytes.get(at) {
        let (size, byte) = match first {
            b'%' => {
                let digits = raw.get(at + 1..at + 3)?;
                (3, u8::from_str_radix(digits, 16).ok()?)
            }
            byte => (1, *byte),
        };
        let (index, wanted) = expected.next()?;
        if byte != wanted {
            return None;
        }
        at += size;
        if index + 1 == rest {
            start = Some(at);
        }
    }
    if expected.next().is_some() { None } else { raw.get(start?..) }
}

/// The characters of a path that are not percent-encoded (RFC 3986 section 3.3), beside letters and digits.
const OF_PATHS: &[u8] = b"-._~!$&'()*+,;=:@/";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_passed_on_as_it_came_unless_its_segments_were_resolved() {
        for (raw, path, rest, target) in [
            ("/a/b", "/a/b", 0, "/a/b"),
            ("/%61/b%20c", "/a/b c", 0, "/%61/b%20c"),
            ("/%61pi/x%C3%A4", "/api/x\u{e4}", 4, "/x%C3%A4"),
            ("/api", "/api", 4, "/"),
            ("/api/", "/api/", 4, "/"),
            ("/x/../api/y", "/api/y", 0, "/api/y"),
            ("/api//y z", "/api/y z", 4, "/y%20z"),
            ("/old/x", "/new/x?", 0, "/new/x%3F"),
            ("", "/", 0, "/"),
        ] {
            assert_eq!(target_of(raw, None, path, rest), target, "{raw}");
            let with_query = format!("{target}?a=%20&b");
            assert_eq!(target_of(raw, Some("a=%20&b"), path, rest), with_query, "{raw}");
        }
        assert_eq!(target_of("/a", Some(""), "/a", 0), "/a?");
    }
}
