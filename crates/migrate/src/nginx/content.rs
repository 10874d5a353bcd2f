//! What answers in a location: files, or another server.
//!
//! Owns the paths that these see. Never knows what happens before.

use super::emitted::{Emitted, Leads};
use super::location::{Content, Location};
use super::place::Kind;
use super::variables::is_plain;
use crate::directive::Directive;
use crate::jump;
use crate::matcher::Matcher;
use crate::route::{Action, Route};
use crate::word::{list, quoted};

impl Location {
    /// What answers all paths, without its steps.
    pub(super) fn rest(&self, server: &dyn Others, jumps: &mut usize, routes: &mut Vec<Emitted>) {
        self.answer(&Matcher::all(), server, jumps, routes);
    }

    /// What answers these paths, without its steps.
    pub(super) fn answer(
        &self,
        matcher: &Matcher,
        server: &dyn Others,
        jumps: &mut usize,
        routes: &mut Vec<Emitted>,
    ) {
        let route = match self.content() {
            Content::Internal => Route::new(matcher.clone(), Action::status(404)),
            Content::Files => return self.files(matcher, server, routes),
            Content::Proxy { upstream, authority, path } => {
                let mut settings = self.settings().proxy(authority);
                let strips = self.text().ends_with('/') && matches!(matcher, Matcher::Prefix(_));
                match path.as_deref() {
                    None => {}
                    Some(path) if path == self.text() => {}
                    Some("/") if strips => {
                        settings.push(("strip_prefix".to_owned(), "true".to_owned()))
                    }
                    Some(path) => {
                        let place = jump::place(jumps);
                        let rest = if self.text().ends_with('/')
                            || !matches!(matcher, Matcher::Prefix(_))
                        {
                            matcher.rest()
                        } else {
                            // What follows the location begins with a slash, or is nothing.
                            return self.split(matcher, &place, path, routes);
                        };
                        self.lead(matcher.clone(), &format!("{place}{path}{rest}"), routes);
                        routes.push(Emitted::plain(self.answer_behind(&place)));
                        return;
                    }
                }
                Route::new(matcher.clone(), Action::Proxy(upstream.clone(), settings))
            }
        };
        routes.push(Emitted::plain(self.settings().dress(route)));
    }

    /// `location /a { proxy_pass http://b/c; }` makes `/c` of `/a`, and `/c/x` of `/a/x`.
    fn split(&self, matcher: &Matcher, place: &str, path: &str, routes: &mut Vec<Emitted>) {
        let exact = Matcher::Path(self.text().to_owned());
        self.lead(exact, &format!("{place}{path}"), routes);
        if path.ends_with('/') {
            let why = self.head().told("its server would get a path with `//`");
            routes.push(Emitted::plain(self.answer_behind(place)));
            return routes.push(Emitted::plain(Route::closed(matcher.clone(), &why)));
        }
        self.lead(matcher.clone(), &format!("{place}{path}/$1"), routes);
        routes.push(Emitted::plain(self.answer_behind(place)));
    }

    fn lead(&self, matcher: Matcher, to: &str, routes: &mut Vec<Emitted>) {
        if to.contains(['?', '%']) || to.contains("//") {
            let why = self.head().told("the path of its server has no counterpart");
            return routes.push(Emitted::plain(Route::closed(matcher, &why)));
        }
        let route = Route::new(matcher, Action::Rewrite { to: to.to_owned() });
        routes.push(Emitted::new(route, Leads::Jump, String::new()));
    }

    /// The answer for a path that a rewrite has put behind a place of its own.
    pub(super) fn answer_behind(&self, place: &str) -> Route {
        let matcher = Matcher::Prefix(place.to_owned());
        let action = match self.content() {
            Content::Proxy { upstream, authority, .. } => {
                let mut settings = self.settings().proxy(authority);
                settings.push(("strip_prefix".to_owned(), "true".to_owned()));
                Action::Proxy(upstream.clone(), settings)
            }
            Content::Files if self.alias().is_none() && self.tries().is_none() => {
                match self.settings().root() {
                    Some(root) => {
                        let mut settings = vec![("root".to_owned(), quoted(root))];
                        settings.extend(self.settings().files());
                        Action::Files(settings)
                    }
                    None => return Route::closed(matcher, &self.head().told("it has no root")),
                }
            }
            Content::Files | Content::Internal => {
                return Route::closed(
                    matcher,
                    &self.head().told("what answers a rewritten path has no counterpart"),
                );
            }
        };
        self.settings().dress(Route::new(matcher, action))
    }

    /// The files of a location, below its root or alias.
    fn files(&self, matcher: &Matcher, server: &dyn Others, routes: &mut Vec<Emitted>) {
        let mut close = |matcher: Matcher, why: &str| {
            routes.push(Emitted::plain(Route::closed(matcher, &self.head().told(why))));
        };
        for name in self.settings().index_names() {
            let elsewhere = server.answer_index(self, matcher, &name);
            if let Some(directory) = elsewhere {
                close(directory, &format!("another location answers `{name}` of a directory"));
            }
        }
        let mut settings = Vec::new();
        let taken = match (self.alias(), matcher) {
            (Some(alias), Matcher::Path(_)) if !alias.ends_with('/') => {
                settings.push(("alias".to_owned(), quoted(alias)));
                matcher.clone()
            }
            (Some(alias), Matcher::Prefix(_))
                if alias.starts_with('/')
                    && (alias.ends_with('/') || !self.text().ends_with('/'))
                    && *self.kind() != Kind::Exact =>
            {
                let root = alias.trim_end_matches('/');
                settings
                    .push(("root".to_owned(), quoted(if root.is_empty() { "/" } else { root })));
                matcher.clone()
            }
            (Some(_), matcher) => {
                return close(matcher.clone(), "such an alias has no counterpart");
            }
            (None, matcher) => {
                let Some(root) = self.settings().root() else {
                    return close(
                        matcher.clone(),
                        "it has no root: nginx would take one of its own",
                    );
                };
                settings.push(("root".to_owned(), quoted(root)));
                matcher.whole()
            }
        };
        settings.extend(self.settings().files());
        if let Some(directive) = self.tries() {
            match self.tried(directive, server) {
                Ok(tries) => settings.push(("try".to_owned(), list(&tries))),
                Err(why) => {
                    return routes.push(Emitted::plain(Route::closed(matcher.clone(), &why)));
                }
            }
        }
        let route = Route::new(taken, Action::Files(settings));
        routes.push(Emitted::plain(self.settings().dress(route)));
    }

    /// The paths of `try_files`.
    fn tried(&self, directive: &Directive, server: &dyn Others) -> Result<Vec<String>, String> {
        let Some((last, others)) = directive.arguments().split_last() else {
            return Err(directive.unknown());
        };
        let mut tries = Vec::new();
        for text in others {
            let rest = text.strip_prefix("$uri").or_else(|| text.strip_prefix("${uri}"));
            match rest {
                Some(rest) if is_plain(rest) && !rest.contains('?') => {
                    tries.push(format!("$path{rest}"))
                }
                _ => return Err(directive.unknown()),
            }
        }
        match last.as_str() {
            "=404" => {}
            path if path.starts_with('/')
                && is_plain(path)
                && !path.contains('?')
                && self.alias().is_none() =>
            {
                if !server.is_answered_as(self, path) {
                    return Err(directive.told(&format!("another location answers `{path}`")));
                }
                tries.push(path.to_owned());
            }
            _ => {
                return Err(directive.told("what answers when no file is there has no counterpart"));
            }
        }
        tries.dedup();
        Ok(tries)
    }
}

/// The other locations of a server.
pub(super) trait Others {
    /// Whether a path is answered by this location, or as if it were.
    fn is_answered_as(&self, location: &Location, path: &str) -> bool;

    /// The directories of a location whose index is answered by another one, in another way.
    fn answer_index(&self, location: &Location, matcher: &Matcher, name: &str) -> Option<Matcher>;
}
