//! The pattern of the names of traced things.
//!
//! Owns the syntax: text in which `*` stands for anything.

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracePattern(Box<str>);

impl TracePattern {
    /// The pattern that is written so.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a name looks so. Each `*` takes as little as possible: no more steps than the product of both lengths.
    pub fn matches(&self, name: &str) -> bool {
        let Some((first, rest)) = self.0.split_once('*') else { return *self.0 == *name };
        let Some(mut left) = name.strip_prefix(first) else { return false };
        let Some((middle, last)) = rest.rsplit_once('*') else { return left.ends_with(rest) };
        for piece in middle.split('*') {
            let Some(at) = left.find(piece) else { return false };
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
            let matches = |name: &&&str| TracePattern::new(pattern).matches(name);
            assert!(names.iter().all(|name| matches(&name)), "{pattern}");
            assert!(!others.iter().any(|name| matches(&name)), "{pattern}");
        }
    }
}
