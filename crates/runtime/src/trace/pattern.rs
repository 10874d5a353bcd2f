//! The pattern of the names of traced things.
//!
//! Owns the syntax: text in which `*` stands for anything.

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracePattern {
    text: Box<str>,
    /// The bytes in front of its only `*`, at its end: the usual form, which is looked at for each request.
    begin: Option<usize>,
}

impl TracePattern {
    /// The pattern that is written so.
    pub fn new(text: &str) -> Self {
        let begin = text.strip_suffix('*').filter(|begin| !begin.contains('*')).map(str::len);
        Self { text: text.into(), begin }
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a name looks so. Each `*` takes as little as possible: no more steps than the product of both lengths.
    pub fn matches(&self, name: &[u8]) -> bool {
        if let Some(begin) = self.begin {
            return name.starts_with(&self.text.as_bytes()[..begin]);
        }
        let mut pieces = self.text.split('*').map(str::as_bytes);
        let first = pieces.next().unwrap_or_default();
        let Some(mut left) = name.strip_prefix(first) else { return false };
        let Some(last) = pieces.next_back() else { return left.is_empty() };
        for piece in pieces.filter(|piece| !piece.is_empty()) {
            let at = left.windows(piece.len()).position(|window| window == piece);
            let Some(at) = at else { return false };
            left = &left[at + piece.len()..];
        }
        left.ends_with(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, names, others) in [
            ("/a", &["/a"][..], &["/", "/ab", ""][..]),
            ("/a*", &["/a", "/abc"], &["/", "b/a"]),
            ("*a", &["a", "bca"], &["ab", ""]),
            ("a*a", &["aa", "aba"], &["a", "ab"]),
            ("*b*c*", &["bc", "abxc", "bcbc"], &["cb", "b"]),
            ("a**b", &["ab", "axb"], &["a", "abx"]),
            ("*", &["", "x"], &[]),
            ("", &[""], &["x"]),
            ("*ab*ab", &["abab", "xabyab"], &["ab", "aab"]),
        ] {
            let matches = |name: &&&str| TracePattern::new(pattern).matches(name.as_bytes());
            assert!(names.iter().all(|name| matches(&name)), "{pattern}");
            assert!(!others.iter().any(|name| matches(&name)), "{pattern}");
        }
    }
}
