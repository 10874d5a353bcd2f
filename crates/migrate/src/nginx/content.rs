//! The content handler of a location: files, or another server.
//!
//! Owns the paths that these see. Never knows what happens before.

use super::emitted::{Emitted, Leads};
use super::location::{Content, Kept, Location};
use super::place::Kind;
use super::variables::is_plain;
use crate::access::Access;
use crate::directive::Directive;
use crate::jump;
use crate::matcher::Matcher;
use crate::route::{Action, Route};
use crate::word::{list, quoted};

impl Location {
    /// The handler of all paths, without its steps.
    pub(super) fn rest(&self, server: &dyn Others, jumps: &mut usize, routes: &mut Vec<Emitted>) {
        self.answer(&Matcher::all(), server, jumps, routes);
    }

    /// The handler of these paths, without its steps.
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
            Content::Proxy { upstream, authority, path, kept } => {
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
                            // The rest behind the location begins with a slash, or is nothing.
                            return self.split(matcher, &place, path, routes);
                        };
                        self.lead(matcher.clone(), &format!("{place}{path}{rest}"), routes);
                        routes.extend(self.answer_behind(&place).into_iter().map(Emitted::plain));
                        return;
                    }
                }
                let all = self.proxied(matcher, (upstream, kept), &settings);
                return routes.extend(all.into_iter().map(Emitted::plain));
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
            routes.extend(self.answer_behind(place).into_iter().map(Emitted::plain));
            return routes.push(Emitted::plain(Route::closed(matcher.clone(), &why)));
        }
        self.lead(matcher.clone(), &format!("{place}{path}/$1"), routes);
        routes.extend(self.answer_behind(place).into_iter().map(Emitted::plain));
    }

    /// The routes of a server with these settings: first those for requests that pass its cache by.
    fn proxied(
        &self,
        matcher: &Matcher,
        (upstream, kept): (&str, &Kept),
        settings: &[(String, String)],
    ) -> Vec<Route> {
        let route = |settings: Vec<_>| {
            Route::new(matcher.clone(), Action::Proxy(upstream.to_owned(), settings))
        };
        let mut uncached = settings.to_vec();
        uncached.push(("cache".to_owned(), "false".to_owned()));
        let all = match kept {
            Kept::None => vec![route(settings.to_vec())],
            Kept::NotThese => vec![route(uncached)],
            Kept::AllBut(conditions) => {
                let passing = conditions
                    .iter()
                    .map(|condition| route(uncached.clone()).with_condition(condition.clone()));
                passing.chain([route(settings.to_vec())]).collect()
            }
        };
        all.into_iter().map(|route| self.settings().dress(route)).collect()
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
    pub(super) fn answer_behind(&self, place: &str) -> Vec<Route> {
        let matcher = Matcher::Prefix(place.to_owned());
        let closed = |matcher, why: &str| vec![Route::closed(matcher, &self.head().told(why))];
        let action = match self.content() {
            Content::Proxy { upstream, authority, kept, .. } => {
                let mut settings = self.settings().proxy(authority);
                settings.push(("strip_prefix".to_owned(), "true".to_owned()));
                return self.proxied(&matcher, (upstream, kept), &settings);
            }
            Content::Files if self.alias().is_none() && self.tries().is_none() => {
                match self.settings().root() {
                    Some(root) => {
                        let mut settings = vec![("root".to_owned(), quoted(root))];
                        settings.extend(self.settings().files());
                        Action::Files(settings)
                    }
                    None => return closed(matcher, "it has no root"),
                }
            }
            Content::Files | Content::Internal => {
                return closed(matcher, "an answer to a rewritten path has no counterpart");
            }
        };
        vec![self.settings().dress(Route::new(matcher, action))]
    }

    /// The files of a location, below its root or alias.
    fn files(&self, matcher: &Matcher, server: &dyn Others, routes: &mut Vec<Emitted>) {
        let closed =
            |matcher, why: &str| Emitted::plain(Route::closed(matcher, &self.head().told(why)));
        let tries = match self.tries().map(|directive| self.tried(directive, server)).transpose() {
            Ok(tries) => tries,
            Err(why) => return routes.push(Emitted::plain(Route::closed(matcher.clone(), &why))),
        };
        let (taken, place) = match self.below(matcher) {
            Ok(found) => found,
            Err(why) => return routes.push(closed(matcher.clone(), why)),
        };
        let mut settings = vec![place];
        // `try_files $uri` alone finds no directory.
        let has_directories =
            tries.as_ref().is_none_or(|tries| tries.iter().any(|path| path.ends_with('/')));
        if has_directories {
            for name in self.settings().index_names() {
                let why = format!("another location answers `{name}` of a directory");
                let directories = server.answer_index(self, matcher, &name).into_iter();
                routes.extend(directories.map(|directory| closed(directory, &why)));
            }
            settings.extend(self.settings().files());
        } else {
            settings.push(("index".to_owned(), "[]".to_owned()));
        }
        settings.extend(tries.map(|tries| ("try".to_owned(), list(&tries))));
        let is_part = matches!((&taken, matcher), (Matcher::Path(_), Matcher::Prefix(_)));
        let route = Route::new(taken, Action::Files(settings)).with_notes(&self.lost(server));
        routes.push(Emitted::plain(self.settings().dress(route)));
        routes.extend(self.next(matcher, server).into_iter().map(Emitted::plain));
        if is_part {
            routes.push(closed(matcher.clone(), "only the first of these paths is a file"));
        }
    }

    /// The paths of a route for the files of these paths, and where they are.
    fn below(&self, matcher: &Matcher) -> Result<(Matcher, (String, String)), &'static str> {
        let root = |root: &str| {
            let root = root.trim_end_matches('/');
            ("root".to_owned(), quoted(if root.is_empty() { "/" } else { root }))
        };
        let Some(alias) = self.alias() else {
            let own = self.settings().root();
            let own = own.ok_or("it has no root: nginx would take one of its own")?;
            return Ok((matcher.whole(), root(own)));
        };
        let file = || ("alias".to_owned(), quoted(alias));
        let is_directory = alias.starts_with('/')
            && (alias.ends_with('/') || !self.text().ends_with('/'))
            && *self.kind() != Kind::Exact;
        match matcher {
            Matcher::Path(_) if !alias.ends_with('/') => Ok((matcher.clone(), file())),
            // `location /favicon.ico { alias /srv/favicon.ico; }`
            Matcher::Prefix(text) if is_file(alias, text) => {
                Ok((Matcher::Path(text.clone()), file()))
            }
            Matcher::Prefix(_) if is_directory => Ok((matcher.clone(), root(alias))),
            _ => Err("such an alias has no counterpart"),
        }
    }

    /// Fields that answers lose: nginx has another location answer with the last of `try_files`.
    fn lost(&self, server: &dyn Others) -> Vec<String> {
        let last = self.tries().and_then(|directive| directive.arguments().last());
        let path = last.filter(|path| path.starts_with('/') && !server.looks_as(self, path));
        let told = |(directive, path): (&Directive, &String)| {
            let why =
                format!("the fields that another location gives `{path}` are not in these answers");
            directive.told(&why)
        };
        self.tries().zip(path).map(told).into_iter().collect()
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
            // Rails, Django, Node.
            name if name.starts_with('@') => match server.named(name) {
                Some(named) if self.may_lead_to(named) => tries.push(NEXT.to_owned()),
                _ => {
                    let why = format!(
                        "`{name}` is no plain server without rules of access: write a route for the files with \
                         `\"next\"` in `try`, and one with `proxy` behind it"
                    );
                    return Err(directive.told(&why));
                }
            },
            _ => {
                return Err(directive.told("this answer to a missing file has no counterpart"));
            }
        }
        tries.dedup();
        Ok(tries)
    }

    /// Whether a route behind that of these files says what a named location does.
    fn may_lead_to(&self, named: &Self) -> bool {
        let is_open = |one: &Self| one.settings().access() == Access::default();
        matches!(named.content(), Content::Proxy { path: None, .. })
            && named.settings().closing().is_none()
            && named.settings().quotas() == self.settings().quotas()
            && named.steps().is_empty()
            && named.nested().is_empty()
            && is_open(named)
            && is_open(self)
    }

    /// The routes of the server that `try_files` leads to: those behind the files.
    fn next(&self, matcher: &Matcher, server: &dyn Others) -> Vec<Route> {
        let last = self.tries().and_then(|directive| directive.arguments().last());
        let Some(named) = last.and_then(|name| server.named(name)) else { return Vec::new() };
        let Content::Proxy { upstream, authority, kept, .. } = named.content() else {
            return Vec::new();
        };
        named.proxied(matcher, (upstream, kept), &named.settings().proxy(authority))
    }
}

/// The last word of `try` of a route that leads on.
const NEXT: &str = "next";

fn is_file(alias: &str, path: &str) -> bool {
    let extension = |text: &str| {
        let name = text.rsplit('/').next().unwrap_or_default();
        name.rsplit_once('.').map(|(_, extension)| extension.to_owned())
    };
    extension(path).is_some_and(|own| extension(alias) == Some(own))
}

/// The other locations of a server.
pub(super) trait Others {
    /// The location of this name.
    fn named(&self, name: &str) -> Option<&Location>;

    fn is_answered_as(&self, location: &Location, path: &str) -> bool;

    /// Whether the location that answers a path adds the same fields.
    fn looks_as(&self, location: &Location, path: &str) -> bool;

    /// The directories of a location whose index is answered by another one, in another way.
    fn answer_index(&self, location: &Location, matcher: &Matcher, name: &str) -> Vec<Matcher>;
}
