//! Patterns in which `*` stands for any characters, as conditions and includes have them.
//!
//! Owns the comparison. Never knows paths: [`PathGlob`](crate::PathGlob) does.

/// Whether a value fits a pattern, in which `*` stands for any characters.
pub(super) fn fits(pattern: &str, value: &[u8]) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return value == pattern.as_bytes() };
    let Some(mut value) = value.strip_prefix(first.as_bytes()) else { return false };
    let mut pieces = rest.split('*').peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return value.ends_with(piece.as_bytes());
        }
        // The first place is as good as a later one, because what follows can be anywhere behind it.
        let Some(at) = memchr::memmem::find(value, piece.as_bytes()) else { return false };
        value = value.get(at + piece.len()..).unwrap_or_default();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, value, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("", "", true),
            ("*", "", true),
            ("*", "x", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c", "a", false),
            ("ab*ba", "aba", false),
            ("*b*", "abc", true),
            ("a*b*c", "axbxbxc", true),
            ("a*b*c", "axc", false),
            ("**", "x", true),
        ] {
            assert_eq!(fits(pattern, value.as_bytes()), expected, "{pattern} {value}");
        }
    }
}
