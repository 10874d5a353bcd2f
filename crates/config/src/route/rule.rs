//! One rule of the table: which requests it matches, and its action.
//!
//! Owns the comparison of a request with one rule. Never knows other rules.

use std::borrow::Cow;

use wire::http::method::Method;

use super::encode::{Filling, location, rewritten};
use super::{RouteRequest, RouteTerms};
use crate::glob::{Captures, PathGlob};
use crate::host_name::HostName;
use crate::model::file_settings::FileSettings;
use crate::model::route::{PathMatcher, RouteAction};
use crate::model::upstream::ProxiedPath;
use crate::model::when::RouteCondition;
use crate::problem::TextPosition;

/// A route of the file, or the action of a host if no route matches. Plain data, which a lookup only reads.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    /// Its place; `None` for the files of a host.
    pub(crate) place: Option<TextPosition>,
    pub(crate) paths: Paths,
    /// Empty for all. HEAD is there wherever GET is.
    pub(crate) methods: Vec<Method>,
    pub(crate) host: Option<HostName>,
    pub(crate) conditions: Vec<RouteCondition>,
    pub(crate) action: RouteAction,
    /// The settings that hold whatever the action is.
    pub(crate) terms: RouteTerms,
}

/// The paths a rule takes.
#[derive(Debug, Clone)]
pub(super) enum Paths {
    All,
    Exact(String),
    Prefix(String),
    Glob(PathGlob),
}

/// Whether a rule takes a request, or the first reason why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Takes,
    OtherHost,
    OtherPath,
    /// The condition with this number is not met.
    Unmet(usize),
    /// Its file does not have the path.
    NotInMap,
    OtherMethod,
}

impl Paths {
    pub(super) fn of(matcher: &PathMatcher) -> Self {
        match matcher {
            PathMatcher::Path(path) => Self::Exact(path.clone()),
            PathMatcher::Prefix(prefix) => Self::Prefix(prefix.clone()),
            PathMatcher::Glob(glob) => Self::Glob(glob.clone()),
        }
    }

    pub(super) fn take(&self, path: &str) -> bool {
        match self {
            Self::All => true,
            Self::Exact(exact) => exact == path,
            Self::Prefix(prefix) => rest_of_prefix(prefix, path).is_some(),
            Self::Glob(glob) => glob.is_match(path),
        }
    }

    fn captures(&self, path: &str) -> Captures {
        match self {
            Self::All | Self::Exact(_) => Captures::none(),
            Self::Prefix(prefix) => {
                let rest = rest_of_prefix(prefix, path).unwrap_or_default();
                Captures::of_rest(path.len() - rest.len()..path.len())
            }
            Self::Glob(glob) => glob.captures(path).unwrap_or_else(Captures::none),
        }
    }

    /// Whether every path that `other` takes is one that this takes, as far as that is plain to see.
    pub(super) fn cover(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, _) => true,
            (Self::Prefix(prefix), _) if prefix == "/" => true,
            (_, Self::Exact(path)) => self.take(path),
            (Self::Prefix(prefix), Self::Prefix(below)) => rest_of_prefix(prefix, below).is_some(),
            (Self::Glob(glob), Self::Glob(other)) => glob == other,
            _ => false,
        }
    }
}

/// The rest of `path` after the prefix, without a slash at its beginning. `/a` is a prefix of `/a` and `/a/b`, not of
/// `/ab`.
fn rest_of_prefix<'p>(prefix: &str, path: &'p str) -> Option<&'p str> {
    let rest = path.strip_prefix(prefix)?;
    if prefix.ends_with('/') || rest.is_empty() {
        return Some(rest);
    }
    rest.strip_prefix('/')
}

impl Rule {
    /// Whether it takes every request for its paths.
    pub(super) fn takes_every_request(&self) -> bool {
        let is_map = matches!(self.action, RouteAction::Map(_));
        let is_part = is_map || self.action.leads_on();
        self.methods.is_empty() && self.host.is_none() && self.conditions.is_empty() && !is_part
    }

    /// Whether the rule takes a request; `host` is plain, and `path` is that of the request or what a rewrite made of
    /// it.
    #[inline]
    pub(super) fn judge(&self, host: &[u8], request: &RouteRequest<'_>, path: &str) -> Verdict {
        if self.host.as_ref().is_some_and(|name| !name.is_match(host)) {
            return Verdict::OtherHost;
        }
        if !self.paths.take(path) {
            return Verdict::OtherPath;
        }
        if let Some(number) = self.conditions.iter().position(|one| !one.is_met(request)) {
            return Verdict::Unmet(number);
        }
        if let RouteAction::Map(map) = &self.action
            && map.rows.find(path, request.query).is_none()
        {
            return Verdict::NotInMap;
        }
        if !self.takes_method(request.method) {
            return Verdict::OtherMethod;
        }
        Verdict::Takes
    }

    pub(super) fn takes_method(&self, method: &str) -> bool {
        self.methods.is_empty() || self.methods.iter().any(|known| known.as_str() == method)
    }

    /// The path to go on with, where the rule is a rewrite.
    pub(super) fn rewrite(&self, path: &str) -> Option<Option<String>> {
        let RouteAction::Rewrite { to } = &self.action else { return None };
        let captures = self.paths.captures(path);
        Some(rewritten(to, Filling { path, captures: &captures }))
    }

    /// The path, the start of its rest and the location, as the rule's action needs them. `None`: the location has no
    /// host.
    #[inline]
    pub(super) fn paths_of_action<'a>(
        &'a self,
        path: Cow<'a, str>,
        request: &RouteRequest<'_>,
    ) -> Option<(Cow<'a, str>, usize, Cow<'a, str>)> {
        Some(match &self.action {
            RouteAction::Files { rules: FileSettings { only: Some(only), .. }, .. } => {
                (Cow::Borrowed(only), 0, Cow::Borrowed(""))
            }
            RouteAction::Files { own_root: true, .. } => (self.rest_of(path), 0, Cow::Borrowed("")),
            RouteAction::Module(_) => {
                let rest = self.start_of_rest(&path);
                (path, rest, Cow::Borrowed(""))
            }
            RouteAction::Proxy(proxy) if proxy.path == ProxiedPath::Rest => {
                let rest = self.start_of_rest(&path);
                (path, rest, Cow::Borrowed(""))
            }
            RouteAction::Redirect { to, .. } => {
                let location = match to.constant() {
                    Some(constant) => Cow::Borrowed(constant),
                    None => {
                        let captures = self.paths.captures(&path);
                        let filling = Filling { path: &path, captures: &captures };
                        Cow::Owned(location(to, filling, request)?)
                    }
                };
                (path, 0, location)
            }
            RouteAction::Map(map) => {
                let row = map.rows.find(&path, request.query);
                let to = row.map_or("", |row| &row.to);
                (path, 0, Cow::Borrowed(to))
            }
            _ => (path, 0, Cow::Borrowed("")),
        })
    }

    /// The rest of the path after the prefix.
    fn rest_of<'a>(&self, path: Cow<'a, str>) -> Cow<'a, str> {
        let start = self.start_of_rest(&path);
        match path {
            _ if start == path.len() => Cow::Borrowed("/"),
            Cow::Borrowed(path) => Cow::Borrowed(path.get(start..).unwrap_or("/")),
            Cow::Owned(path) => Cow::Owned(path.get(start..).unwrap_or("/").to_owned()),
        }
    }

    /// The start of the path after the prefix, including the slash before it; the length of the path if nothing
    /// follows. Without a prefix it is the whole path.
    fn start_of_rest(&self, path: &str) -> usize {
        let Paths::Prefix(prefix) = &self.paths else { return 0 };
        match rest_of_prefix(prefix, path) {
            None => 0,
            Some("") => path.len(),
            // The slash before the rest belongs to it.
            Some(rest) => (path.len() - rest.len()).saturating_sub(1),
        }
    }
}
