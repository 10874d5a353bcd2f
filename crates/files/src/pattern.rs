//! Patterns of file names, for rules: `*.bak`, `velodrome.toml`, `private/*`.
//!
//! Owns the meaning of `*` and `/` in a rule. Never sees a directory: a pattern is compared, not
//! expanded.

use memchr::memmem;

/// A pattern; `*` matches any run of characters, including none.
///
/// Without a `/` it is compared with every name of a path, otherwise with the whole path below the root, where `*`
/// also matches slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern {
    text: Box<str>,
    scope: Scope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Name,
    Path,
}

impl NamePattern {
    /// A leading `/` only says that the pattern applies to the whole path.
    pub fn new(text: &str) -> Self {
        let scope = if text.contains('/') { Scope::Path } else { Scope::Name };
        Self { text: text.trim_start_matches('/').into(), scope }
    }

    /// Whether the pattern matches this path (without its leading slash), or a directory in it.
    pub fn covers(&self, relative: &str) -> bool {
        match self.scope {
            Scope::Name => relative.split('/').any(|name| self.fits(name)),
            Scope::Path => {
                self.fits(relative)
                    || relative.match_indices('/').any(|(at, _)| self.fits(&relative[..at]))
            }
        }
    }

    /// Whether the pattern matches this file: its last name, or its whole path.
    pub fn means(&self, relative: &str) -> bool {
        match self.scope {
            Scope::Name => self.fits(relative.rsplit('/').next().unwrap_or(relative)),
            Scope::Path => self.fits(relative),
        }
    }

    /// Every piece between stars is found as early as possible, so no backtracking is needed: the cost is at most
    /// the length of the text for each piece.
    fn fits(&self, text: &str) -> bool {
        let Some((start, rest)) = self.text.split_once('*') else { return *self.text == *text };
        let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
        let Some(text) = text.strip_prefix(start) else { return false };
        let Some(text) = text.strip_suffix(end) else { return false };
        let mut text = text.as_bytes();
        for piece in middle.split('*') {
            let Some(at) = memmem::find(text, piece.as_bytes()) else { return false };
            text = &text[at + piece.len()..];
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::NamePattern;

    #[test]
    fn stars_stand_for_any_run() {
        for (pattern, text, expected) in [
            ("a", "a", true),
            ("a", "b", false),
            ("*", "", true),
            ("*.bak", "x.bak", true),
            ("*.bak", ".bak", true),
            ("*.bak", "x.bak2", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("*.page.*", "index.page.html", true),
            ("*.page.*", "index.html", false),
            ("a*b*c*d", "a1b2b3c4d", true),
            ("a*b*c*d", "a1c2b3d", false),
            ("é*", "été", true),
        ] {
            assert_eq!(NamePattern::new(pattern).means(text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn a_name_is_compared_with_each_name_and_a_path_with_the_whole() {
        let name = NamePattern::new("secret");
        assert!(name.covers("a/secret/b") && name.covers("secret") && !name.covers("a/secrets"));
        let path = NamePattern::new("/private/*");
        assert!(path.covers("private/a/b") && !path.covers("a/private/b"));
        assert!(NamePattern::new("/a/b").covers("a/b/c"));
        assert!(!NamePattern::new("secret").means("secret/b"));
    }
}
