//! Regular expressions of nginx as matchers of ours, as far as they say the same.
//!
//! Owns the few forms that configurations use: a beginning, an ending, names of files by extension, and segments in
//! between. Never compares a path.

use crate::draft::Matcher;
use crate::limits::ALTERNATIVES_MAX;

/// The paths that a regular expression takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pattern {
    /// Each of these matchers; their `$1` to `$9` are its groups.
    Matchers(Vec<Matcher>),
    /// Names that begin with a dot, which are hidden anyway.
    DotFiles,
}

/// The matchers of a regular expression; `None` if there are none that say the same.
pub(super) fn of(regex: &str) -> Option<Pattern> {
    if [
        "/\\.",
        "\\/\\.",
        "/\\.ht",
        "/\\.git",
        "/\\.(?!well-known)",
        "/\\.(?!well-known).*",
        "(^|/)\\.",
    ]
    .contains(&regex)
    {
        return Some(Pattern::DotFiles);
    }
    let matchers = match regex.strip_prefix('^') {
        Some(anchored) => vec![beginning(anchored)?],
        None => ending(regex)?,
    };
    let is_fine = matchers.len() <= ALTERNATIVES_MAX && matchers.iter().all(is_possible);
    is_fine.then_some(Pattern::Matchers(matchers))
}

/// `\.php$`, `\.(?:css|js)$`: files by their extension.
fn ending(regex: &str) -> Option<Vec<Matcher>> {
    let inner = regex.strip_prefix(".*").unwrap_or(regex);
    let inner = inner.strip_prefix("\\.")?;
    let inner = inner.strip_suffix('$').or_else(|| inner.strip_suffix("(/|$)"))?;
    let inner = inner.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(inner);
    let inner = inner.strip_prefix("?:").unwrap_or(inner);
    let mut endings = Vec::new();
    for name in inner.split('|') {
        // `jpe?g` is `jpg` and `jpeg`.
        match name.split_once('?') {
            None => endings.push(literal(name)?),
            Some((with, after)) => {
                let without = with.get(..with.len().checked_sub(1)?)?;
                endings.push(literal(&format!("{with}{after}"))?);
                endings.push(literal(&format!("{without}{after}"))?);
            }
        }
    }
    Some(endings.into_iter().map(|name| Matcher::Glob(format!("/**/*.{name}"))).collect())
}

/// A text without the signs of regular expressions.
fn literal(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => out.push(signs.next().filter(|next| !next.is_ascii_alphanumeric())?),
            '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '^' | '$' => {
                return None;
            }
            sign => out.push(sign),
        }
    }
    Some(out)
}

/// A path from its beginning: a literal part, and groups that are whole segments or the rest.
fn beginning(regex: &str) -> Option<Matcher> {
    let (regex, is_ended) = match regex.strip_suffix('$').filter(|rest| !rest.ends_with('\\')) {
        Some(regex) => (regex, true),
        None => (regex, false),
    };
    // The rest of a path, which a prefix has as `$1`.
    for rest in ["/?(.*)", "(.*)", "(.+)", "/?(.+)", ".*"] {
        if let Some(before) = regex.strip_suffix(rest)
            && let Some(before) = literal(before)
        {
            let is_border = before.ends_with('/') || rest.starts_with('/');
            return is_border.then_some(Matcher::Prefix(before));
        }
    }
    if let Some(text) = literal(regex) {
        return Some(if is_ended { Matcher::Path(text) } else { Matcher::Prefix(text) });
    }
    let regex = regex.strip_suffix("/?").unwrap_or(regex);
    let mut glob = String::new();
    let mut rest = regex;
    while let Some((before, after)) = rest.split_once('(') {
        glob.push_str(&literal(before)?);
        let (group, after) = after.split_once(')')?;
        let is_segment =
            ["[^/]+", "[^/]*", "\\d+", "[0-9]+", "\\w+", "[a-z0-9-]+", "[a-zA-Z0-9_-]+", "[\\w-]+"]
                .contains(&group);
        if !is_segment {
            return None;
        }
        glob.push('*');
        rest = after;
    }
    glob.push_str(&literal(rest)?);
    is_ended.then_some(Matcher::Glob(glob))
}

/// Whether requests can have such a path.
pub(super) fn is_possible(matcher: &Matcher) -> bool {
    let (text, may_star) = match matcher {
        Matcher::Path(text) | Matcher::Prefix(text) => (text, false),
        Matcher::Glob(text) => (text, true),
    };
    text.starts_with('/')
        && !text.contains("//")
        && !text.contains(['?', '%'])
        && (may_star || !text.contains('*'))
        && !text.split('/').any(|part| matches!(part, "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::{Pattern, of};
    use crate::draft::Matcher;

    fn told(regex: &str) -> Option<Vec<String>> {
        match of(regex)? {
            Pattern::DotFiles => Some(vec!["dots".to_owned()]),
            Pattern::Matchers(list) => Some(
                list.into_iter()
                    .map(|matcher| match matcher {
                        Matcher::Path(text) => format!("={text}"),
                        Matcher::Prefix(text) => format!("{text}.."),
                        Matcher::Glob(text) => text,
                    })
                    .collect(),
            ),
        }
    }

    #[test]
    fn the_usual_expressions_are_matchers() {
        for (regex, expected) in [
            ("\\.php$", Some("/**/*.php")),
            ("\\.(css|js)$", Some("/**/*.css /**/*.js")),
            ("\\.(?:jpe?g|png)$", Some("/**/*.jpeg /**/*.jpg /**/*.png")),
            ("^/old/(.*)$", Some("/old/..")),
            ("^/old/?(.*)$", Some("/old..")),
            ("^/api/", Some("/api/..")),
            ("^/about$", Some("=/about")),
            ("^/a\\.b$", Some("=/a.b")),
            ("^/user/([^/]+)/?$", Some("/user/*")),
            ("^/(\\d+)/x-([^/]+)$", Some("/*/x-*")),
            ("/\\.", Some("dots")),
            ("^/old(.*)$", None),
            ("^/(a|b)/", None),
            ("^(.*)$", None),
            ("^/x{2}$", None),
            ("admin", None),
            ("", None),
        ] {
            let found = told(regex).map(|list| list.join(" "));
            assert_eq!(found.as_deref(), expected, "{regex}");
        }
    }
}
