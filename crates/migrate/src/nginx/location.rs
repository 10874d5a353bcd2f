//! The locations of a server of nginx as routes of ours.
//!
//! Owns what a location does, and the order of routes: nginx takes the longest prefix unless an expression fits, we
//! take the first route. A location that guards something in a way without counterpart is closed with 501.

use super::answers::{answer, rewrite};
use super::automatic::is_automatic;
use super::pattern::{self, Pattern, is_possible};
use super::settings::{Known, Own};
use super::tree::Directive;
use super::upstream::Upstreams;
use super::variables::{is_plain, target};
use crate::draft::{Action, Matcher, Route};
use crate::word::{list, quoted, seconds, size, table};

/// How nginx chooses among locations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// `location = /a`.
    Exact,
    /// `location ^~ /a`.
    Preferred,
    /// `location ~ a`, in the order of the file.
    Expression,
    /// `location /a`.
    Prefix,
}

/// A route with its place in nginx's order.
#[derive(Debug)]
pub(super) struct Ranked {
    pub(super) rank: Rank,
    pub(super) route: Route,
}

/// Directives that guard a location, or make it something that we cannot be.
const GUARDS: [&str; 19] = [
    "auth_request",
    "auth_jwt",
    "secure_link",
    "limit_except",
    "satisfy",
    "valid_referers",
    "internal",
    "fastcgi_pass",
    "uwsgi_pass",
    "scgi_pass",
    "grpc_pass",
    "memcached_pass",
    "stub_status",
    "perl",
    "js_content",
    "content_by_lua_block",
    "access_by_lua_block",
    "if",
    "dav_methods",
];

/// The route that one location becomes.
struct Reading<'r> {
    known: Known,
    own: Own,
    upstreams: &'r mut Upstreams,
    name: Option<&'r str>,
    action: Option<Action>,
    alias: Option<String>,
    /// The root of the blocks around it.
    outer_root: Option<String>,
    tries: Option<Directive>,
    /// Whom it proxies to, and the deadlines of that.
    authority: Option<String>,
    times: Vec<(&'static str, u64)>,
    guard: bool,
    keys: Vec<(String, String)>,
    notes: Vec<String>,
    /// Rewrites and redirects that come before the action.
    before: Vec<Route>,
}

/// The routes of a location, and of those in it.
pub(super) fn read(
    directive: &Directive,
    outer: &Known,
    name: Option<&str>,
    upstreams: &mut Upstreams,
) -> (Vec<Ranked>, Vec<String>) {
    let (sign, text) = match directive.arguments.as_slice() {
        [text] if text.starts_with('@') => {
            return (Vec::new(), vec![directive.told("named locations have no counterpart")]);
        }
        [text] => ("", text.as_str()),
        [sign, text] => (sign.as_str(), text.as_str()),
        _ => return (Vec::new(), vec![directive.told("no counterpart")]),
    };
    let (rank, matchers) = match sign {
        "=" => (Rank::Exact, vec![Matcher::Path(text.to_owned())]),
        "^~" => (Rank::Preferred, vec![Matcher::Prefix(text.to_owned())]),
        "~" | "~*" => match pattern::of(text) {
            Some(Pattern::Matchers(matchers)) => (Rank::Expression, matchers),
            Some(Pattern::DotFiles) => {
                let why = "not needed: names that begin with a dot are hidden";
                return (Vec::new(), vec![directive.told(why)]);
            }
            None => {
                return (Vec::new(), vec![directive.told("this expression has no counterpart")]);
            }
        },
        _ => (Rank::Prefix, vec![Matcher::Prefix(text.to_owned())]),
    };
    let mut reading = Reading {
        known: Known { notes: Vec::new(), ..outer.clone() },
        own: Own::default(),
        upstreams,
        name,
        action: None,
        alias: None,
        outer_root: outer.root.clone(),
        tries: None,
        authority: None,
        times: Vec::new(),
        guard: false,
        keys: Vec::new(),
        notes: Vec::new(),
        before: Vec::new(),
    };
    let mut ranked = Vec::new();
    for inner in directive.inner() {
        if inner.name == "location" {
            let (routes, notes) = read(inner, &reading.known, name, reading.upstreams);
            ranked.extend(routes);
            reading.notes.extend(notes);
        } else {
            reading.take(inner, &matchers);
        }
    }
    if sign == "~*" {
        reading.notes.push(directive.told("case matters here"));
    }
    reading.finish(directive, matchers, rank, &mut ranked);
    (ranked, Vec::new())
}

impl Reading<'_> {
    fn take(&mut self, directive: &Directive, matchers: &[Matcher]) {
        let captures = matchers.iter().map(Matcher::captures).min().unwrap_or(0);
        match &*directive.name {
            _ if self.known.take_own(directive, &mut self.own) => {}
            "return" if self.action.is_none() => {
                self.action = answer(directive, self.name, captures);
                self.guard |= self.action.is_none();
                if self.action.is_none() {
                    self.notes.push(directive.told("no counterpart"));
                }
            }
            "proxy_pass" => self.proxy(directive, matchers),
            "alias" if is_plain(directive.argument(0)) => {
                self.alias = Some(directive.argument(0).to_owned());
            }
            "try_files" => self.tries = Some(directive.clone()),
            "rewrite" => match rewrite(directive, self.name) {
                Some(routes) => self.before.extend(routes),
                None => self.notes.push(directive.told("no counterpart")),
            },
            "client_max_body_size" => {
                let size = size(directive.argument(0)).unwrap_or_else(|| "0".to_owned());
                self.keys.push(("body_size".to_owned(), size));
            }
            "proxy_connect_timeout" => {
                self.times
                    .extend(seconds(directive.argument(0)).map(|time| ("connect_timeout", time)));
            }
            "proxy_read_timeout" => {
                self.times.extend(
                    seconds(directive.argument(0)).map(|time| ("first_byte_timeout", time)),
                );
            }
            name if is_automatic(name) => {}
            name => {
                self.guard |= GUARDS.contains(&name) || name.ends_with("_by_lua_block");
                self.notes.push(directive.told("no counterpart"));
            }
        }
    }

    /// `proxy_pass http://NAME[/path]`.
    fn proxy(&mut self, directive: &Directive, matchers: &[Matcher]) {
        let url = directive.argument(0);
        let (is_encrypted, rest) = match (url.strip_prefix("https://"), url.strip_prefix("http://"))
        {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => (false, ""),
        };
        if rest.is_empty() || !is_plain(url) {
            self.guard = true;
            self.notes.push(directive.told("no counterpart"));
            return;
        }
        let end = if rest.starts_with("unix:") {
            rest.len()
        } else {
            rest.find('/').unwrap_or(rest.len())
        };
        let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let upstream = self.upstreams.name_of(authority, is_encrypted);
        let mut settings = Vec::new();
        match (path, matchers) {
            ("", _) => {}
            ("/", [Matcher::Prefix(prefix)]) if prefix == "/" => {}
            ("/", [Matcher::Prefix(_)]) => {
                settings.push(("strip_prefix".to_owned(), "true".to_owned()))
            }
            (path, [Matcher::Prefix(prefix)]) if path == prefix => {}
            (path, [Matcher::Prefix(prefix)]) if is_possible(&Matcher::Prefix(path.to_owned())) => {
                let to = format!("{}/$1", path.trim_end_matches('/'));
                let again = Matcher::Prefix(path.trim_end_matches('/').to_owned());
                let mut route = Route::new(Matcher::Prefix(prefix.clone()), Action::Rewrite { to });
                route.notes.push(directive.told("its path, which the route after it takes"));
                self.before.push(route);
                let action = Action::Proxy { upstream: upstream.clone(), settings: Vec::new() };
                self.before.push(Route::new(again, action));
            }
            _ => {
                self.guard = true;
                self.notes.push(directive.told("this path has no counterpart"));
            }
        }
        self.action = Some(Action::Proxy { upstream, settings });
        self.authority = Some(authority.to_owned());
    }

    /// The deadlines of a proxy are those of its upstream, and its `Host` is what nginx would send.
    fn finish_proxy(&mut self) {
        let Some(authority) = self.authority.take() else { return };
        for (key, time) in std::mem::take(&mut self.times) {
            self.upstreams.set(&authority, key, format!("\"{time}s\""));
        }
        if !self.known.sets_host && !authority.starts_with("unix:") {
            self.known.request_headers.push(("Host".to_owned(), authority));
        }
    }

    fn finish(
        mut self,
        directive: &Directive,
        matchers: Vec<Matcher>,
        rank: Rank,
        ranked: &mut Vec<Ranked>,
    ) {
        self.finish_proxy();
        self.notes.append(&mut self.known.notes);
        let refusal = self.guard.then(|| Action::refuse(501));
        let is_closed = self.known.access == ["{ deny = \"all\" }"] && self.known.users.is_none();
        let refusal = refusal.or_else(|| is_closed.then(|| Action::refuse(403)));
        for route in self.before.drain(..) {
            ranked.push(Ranked { rank, route });
        }
        for matcher in matchers {
            let action = refusal.clone().or_else(|| self.action.clone());
            let action = action.unwrap_or_else(|| self.files(&matcher));
            let mut route = Route::new(matcher, self.with_headers(action));
            route.notes = std::mem::take(&mut self.notes);
            if !is_possible(&route.matcher) {
                route.notes.push(directive.told("no request has such a path"));
            }
            route.keys.extend(self.keys.iter().cloned());
            if refusal.is_none()
                && let Some(access) = self.known.access_rules()
            {
                route.keys.push(("access".to_owned(), access));
            }
            if let Some(value) = &self.known.cache_control {
                route.keys.push(("cache_control".to_owned(), quoted(value)));
            }
            if !matches!(route.action, Action::Drop) {
                // The host says `hsts` for all of its routes.
                let others = self.known.headers.iter();
                let others = others
                    .filter(|(name, _)| !name.eq_ignore_ascii_case("strict-transport-security"));
                route.headers.extend(others.cloned());
            }
            ranked.push(Ranked { rank, route });
        }
    }

    /// A proxy with the fields of its requests and answers.
    fn with_headers(&self, action: Action) -> Action {
        let Action::Proxy { upstream, mut settings } = action else { return action };
        if !self.known.request_headers.is_empty() {
            let fields = self.known.request_headers.iter();
            let fields = table(fields.map(|(name, value)| (&**name, quoted(value))));
            settings.push(("request_headers".to_owned(), fields));
        }
        if !self.known.removed_headers.is_empty() {
            let removed = list(&self.known.removed_headers);
            settings.push(("remove_response_headers".to_owned(), removed));
        }
        Action::Proxy { upstream, settings }
    }

    /// A root that the blocks around it do not have.
    fn own_root(&self) -> Option<&str> {
        self.known.root.as_deref().filter(|_| self.known.root != self.outer_root)
    }

    /// The files of a location.
    fn files(&mut self, matcher: &Matcher) -> Action {
        let mut settings = Vec::new();
        if let Some(alias) = &self.alias {
            let is_file = matches!(matcher, Matcher::Path(_));
            let key = if is_file { "alias" } else { "root" };
            settings.push((key.to_owned(), quoted(alias.trim_end_matches('/'))));
        } else if let Some(root) = self.own_root() {
            // nginx puts the whole path behind a root; for a prefix we put what follows it.
            let root = match matcher {
                Matcher::Prefix(prefix) => format!("{}{prefix}", root.trim_end_matches('/')),
                Matcher::Path(_) | Matcher::Glob(_) => root.to_owned(),
            };
            let root = root.trim_end_matches('/');
            settings.push(("root".to_owned(), quoted(if root.is_empty() { "/" } else { root })));
        }
        settings.extend(self.known.files());
        if let Some(directive) = self.tries.clone() {
            let tries = self.tries(&directive, matcher);
            if !tries.is_empty() {
                settings.push(("try".to_owned(), list(&tries)));
            }
        }
        Action::Files(settings)
    }

    /// The paths of `try_files`, below the root of the route.
    fn tries(&mut self, directive: &Directive, matcher: &Matcher) -> Vec<String> {
        let mut tries = Vec::new();
        let is_below = self.alias.is_some() || self.own_root().is_some();
        for (index, text) in directive.arguments.iter().enumerate() {
            let is_last = index + 1 == directive.arguments.len();
            let path = target(text, None, 0).filter(|path| !path.contains(['?']));
            match path {
                _ if text == "=404" => {}
                Some(path) if path.starts_with("$path") || path.starts_with('/') => {
                    let inner = match matcher {
                        Matcher::Prefix(prefix)
                            if is_below && path.starts_with(&**prefix) && prefix != "/" =>
                        {
                            let rest = path.get(prefix.len()..).unwrap_or_default();
                            format!("/{}", rest.trim_start_matches('/'))
                        }
                        _ => path,
                    };
                    tries.push(inner);
                }
                _ if is_last => {
                    self.notes.push(
                        directive.told("what is no file gets 404: the last has no counterpart"),
                    );
                }
                _ => self.notes.push(directive.told("a part has no counterpart")),
            }
        }
        tries.dedup();
        tries
    }
}
