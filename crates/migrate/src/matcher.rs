//! The paths of a route.
//!
//! Owns what two matchers have in common, as far as that is certain: where it is not, they are taken to meet. The
//! comparison with a path is that of `config`.

use std::fmt;

use config::PathGlob;

/// The paths of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Matcher {
    Path(String),
    Prefix(String),
    Glob(String),
}

impl fmt::Display for Matcher {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(text) => write!(out, "={text}"),
            Self::Prefix(text) => write!(out, "{text}.."),
            Self::Glob(text) => write!(out, "{text}"),
        }
    }
}

impl Matcher {
    /// All paths.
    pub(crate) fn all() -> Self {
        Self::Prefix("/".to_owned())
    }

    /// All paths that begin with a text: `/a` takes `/ab/c` too. The first of them takes `/a` and what is below it.
    pub(crate) fn beginning(text: &str) -> Vec<Self> {
        let prefix = Self::Prefix(text.to_owned());
        if text.ends_with('/') {
            return vec![prefix];
        }
        vec![prefix, Self::Glob(format!("{text}*")), Self::Glob(format!("{text}*/**"))]
    }

    /// The key of a route and its value.
    pub(crate) fn key(&self) -> (&'static str, &str) {
        match self {
            Self::Path(text) => ("path", text),
            Self::Prefix(text) => ("prefix", text),
            Self::Glob(text) => ("glob", text),
        }
    }

    fn text(&self) -> &str {
        self.key().1
    }

    /// The same paths as one that a root is put before: what a prefix takes is removed, what a glob takes is not.
    pub(crate) fn whole(&self) -> Self {
        match self {
            Self::Prefix(text) if text == "/" => self.clone(),
            Self::Prefix(text) => Self::Glob(format!("{}/**", text.trim_end_matches('/'))),
            other => other.clone(),
        }
    }

    /// The rest behind the literal beginning, as a text of a target.
    pub(crate) fn rest(&self) -> &'static str {
        match self {
            Self::Path(_) => "",
            Self::Prefix(_) => "$1",
            Self::Glob(text) if text.ends_with("*/**") => "$1/$2",
            Self::Glob(_) => "$1",
        }
    }

    pub(crate) fn takes(&self, path: &str) -> bool {
        match self {
            Self::Path(text) => text == path,
            Self::Prefix(text) => path.strip_prefix(&**text).is_some_and(|rest| {
                text.ends_with('/') || rest.is_empty() || rest.starts_with('/')
            }),
            Self::Glob(text) => PathGlob::parse(text).is_ok_and(|glob| glob.is_match(path)),
        }
    }

    /// The beginning that each of its paths has.
    pub(crate) fn literal(&self) -> &str {
        match self {
            Self::Glob(text) => text.split('*').next().unwrap_or_default(),
            other => other.text(),
        }
    }

    /// The end that each of its paths has.
    fn ending(&self) -> &str {
        match self {
            Self::Path(text) => text,
            Self::Prefix(_) => "",
            Self::Glob(text) => text.rsplit('*').next().unwrap_or_default(),
        }
    }

    /// Whether a path of it may end with a slash and this name. `false` only where that is certain.
    pub(crate) fn may_end_with(&self, name: &str) -> bool {
        let last = self.text().rsplit('/').next().unwrap_or_default();
        match self {
            Self::Path(_) => last == name,
            Self::Glob(_) if !last.contains("**") => {
                Self::Glob(format!("/{last}")).takes(&format!("/{name}"))
            }
            _ => true,
        }
    }

    /// How many slashes its paths have at least, and at most.
    fn slashes(&self) -> (usize, usize) {
        let text = self.text();
        let count = text.replace("/**/", "/").matches('/').count();
        match self {
            Self::Path(_) => (count, count),
            Self::Prefix(_) => (count, usize::MAX),
            Self::Glob(_) if text.contains("**") => (count, usize::MAX),
            Self::Glob(_) => (count, count),
        }
    }

    /// Whether a path may be taken by both. `false` only where that is certain.
    pub(crate) fn may_meet(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Path(path), other) | (other, Self::Path(path)) => other.takes(path),
            (one, other) => {
                let (a, b) = (one.literal(), other.literal());
                let (c, d) = (one.ending(), other.ending());
                let ((least, most), (at_least, at_most)) = (one.slashes(), other.slashes());
                (a.starts_with(b) || b.starts_with(a))
                    && (c.ends_with(d) || d.ends_with(c))
                    && least.max(at_least) <= most.min(at_most)
            }
        }
    }

    /// Whether a rewrite to this target may lead to a path of it.
    pub(crate) fn may_take_target(&self, target: &str) -> bool {
        let Some((before, _)) = target.split_once('$') else { return self.takes(target) };
        let literal = self.literal();
        let count = before.matches('/').count();
        match self {
            Self::Path(path) => path.starts_with(before),
            other => {
                (literal.starts_with(before) || before.starts_with(literal))
                    && count <= other.slashes().1
            }
        }
    }

    /// Whether every path of `other` is one of this, where that is certain.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Path(path)) => self.takes(path),
            (Self::Prefix(prefix), other) => {
                let literal = other.literal();
                literal.strip_prefix(&**prefix).is_some_and(|rest| {
                    prefix.ends_with('/')
                        || rest.starts_with('/')
                        || rest.is_empty() && matches!(other, Self::Prefix(_))
                })
            }
            (one, other) => one == other,
        }
    }

    /// The paths that both take; `None` if no matchers can say so.
    pub(crate) fn within(&self, other: &Self) -> Option<Vec<Self>> {
        if !self.may_meet(other) {
            return Some(Vec::new());
        }
        if self.covers(other) {
            return Some(vec![other.clone()]);
        }
        if other.covers(self) {
            return Some(vec![self.clone()]);
        }
        let (Self::Prefix(prefix), Self::Glob(glob)) = (self, other) else {
            let (Self::Glob(_), Self::Prefix(_)) = (self, other) else { return None };
            return other.within(self);
        };
        // Names anywhere, below a prefix that has no such name itself.
        let name = glob.strip_prefix("/**/")?;
        let first = name.split_once('/').map(|(first, _)| Self::Glob(format!("/{first}")));
        let is_inside =
            |first: Self| prefix.split('/').any(|segment| first.takes(&format!("/{segment}")));
        if first.is_some_and(is_inside) {
            return None;
        }
        let slash = if prefix.ends_with('/') { "" } else { "/" };
        let mut all = vec![Self::Glob(format!("{prefix}{slash}**/{name}"))];
        if slash == "/" && other.takes(prefix) {
            all.push(Self::Path(prefix.clone()));
        }
        Some(all)
    }

    /// Whether a configuration can say it and requests can have such a path.
    pub(crate) fn is_possible(&self) -> bool {
        let text = self.text();
        let is_hex = |byte: &u8| byte.is_ascii_hexdigit();
        let is_escape =
            |part: &[u8]| matches!(part, [b'%', high, low] if is_hex(high) && is_hex(low));
        let is_path = text.starts_with('/')
            && !text.contains("//")
            && !text.contains('?')
            && !text.chars().any(char::is_control)
            && !text.as_bytes().windows(3).any(is_escape)
            && !text.split('/').any(|part| matches!(part, "." | ".."));
        let is_glob = matches!(self, Self::Glob(_));
        is_path && text.len() <= 1024 && (!is_glob || PathGlob::parse(text).is_ok())
    }
}
