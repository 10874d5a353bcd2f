//! A location of nginx, or a server where no location is chosen, as routes of ours.
//!
//! Owns what answers there. `order` says which location a request goes to, `phases` what happens before it answers.

use super::phases::{End, Place, Steps};
use super::settings::Settings;
use super::upstream::Upstreams;
use super::variables::{Context, is_plain};
use crate::directive::Directive;
use crate::draft::{Action, Matcher, Route};
use crate::jump;
use crate::pattern::{Case, Pattern};
use crate::word::{list, quoted};

/// A location.
#[derive(Debug)]
pub(super) struct Location {
    kind: Kind,
    text: String,
    /// Its paths: as they are, and with the letters of an expression in no other case.
    places: [(Vec<Place>, Vec<Route>); 2],
    head: Directive,
    settings: Settings,
    alias: Option<String>,
    tries: Option<Directive>,
    steps: Vec<Directive>,
    content: Content,
    nested: Vec<Location>,
}

/// How nginx compares a location with a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// `= /a`
    Exact,
    /// `^~ /a`
    Preferred,
    /// `/a`
    Prefix,
    /// `~ a`
    Expression(Case),
    /// The server itself.
    Whole,
}

#[derive(Debug)]
enum Content {
    Files,
    /// It is not for requests from outside.
    Internal,
    Proxy {
        upstream: String,
        authority: String,
        path: Option<String>,
    },
}

/// A route, and where it leads if it is a rewrite.
#[derive(Debug, Clone)]
pub(super) struct Emitted {
    route: Route,
    leads: Leads,
    /// What is said of it if it cannot be.
    told: String,
}

/// Where a rewrite leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leads {
    /// It is none, or to the routes after it.
    On,
    /// To the choice of a location.
    Last,
    /// To the next route that is no rewrite.
    Jump,
}

impl Emitted {
    pub(super) fn new(route: Route, leads: Leads, told: String) -> Self {
        Self { route, leads, told }
    }

    pub(super) fn plain(route: Route) -> Self {
        Self::new(route, Leads::On, String::new())
    }

    pub(super) fn route(&self) -> &Route {
        &self.route
    }

    pub(super) fn leads(&self) -> Leads {
        self.leads
    }

    pub(super) fn into_route(self) -> Route {
        self.route
    }

    pub(super) fn close(&mut self) {
        let why = format!("{} where it stands", self.told);
        self.route = self.route.clone().into_closed(&why);
        self.leads = Leads::On;
    }
}

impl Location {
    /// Reads the directives of a location, and the locations in it.
    pub(super) fn read(directive: &Directive, outer: &Settings, upstreams: &mut Upstreams) -> Self {
        let (kind, text) = match directive.arguments() {
            [text] => (Kind::Prefix, text.clone()),
            [sign, text] => match sign.as_str() {
                "=" => (Kind::Exact, text.clone()),
                "^~" => (Kind::Preferred, text.clone()),
                "~" => (Kind::Expression(Case::Sensitive), text.clone()),
                "~*" => (Kind::Expression(Case::Ignored), text.clone()),
                // It may take anything.
                _ => (Kind::Expression(Case::Sensitive), "(".to_owned()),
            },
            _ => (Kind::Expression(Case::Sensitive), "(".to_owned()),
        };
        let mut location = Self::new(kind, text, directive, outer.inner());
        location.directives(directive.inner(), upstreams);
        location
    }

    pub(super) fn new(kind: Kind, text: String, head: &Directive, settings: Settings) -> Self {
        let places = [Case::Ignored, Case::Sensitive].map(|case| places(&kind, &text, head, case));
        Self {
            kind,
            text,
            places,
            head: head.head(),
            settings,
            alias: None,
            tries: None,
            steps: Vec::new(),
            content: Content::Files,
            nested: Vec::new(),
        }
    }

    /// Reads what may stand in a location.
    pub(super) fn directives(&mut self, directives: &[Directive], upstreams: &mut Upstreams) {
        let mut passed = None;
        for inner in directives {
            match inner.name() {
                "return" | "rewrite" | "if" | "set" | "break" => self.steps.push(inner.clone()),
                "location" => {}
                "try_files" => self.tries = Some(inner.clone()),
                "internal" => self.content = Content::Internal,
                "alias" if is_plain(inner.argument(0)) => {
                    self.alias = Some(inner.argument(0).to_owned())
                }
                "proxy_pass" => passed = Some(inner.clone()),
                _ => self.settings.take(inner),
            }
        }
        if let Some(passed) = passed {
            self.proxy(&passed, upstreams);
        }
        if self.alias.is_some()
            && self.settings.closing().is_none()
            && directives.iter().any(|one| one.name() == "location")
        {
            self.settings
                .close(&self.head.clone(), "locations in one with `alias` have no counterpart");
        }
        for inner in directives.iter().filter(|inner| inner.name() == "location") {
            // A named one is reached by what is closed only.
            if !inner.argument(0).starts_with('@') {
                self.nested.push(Self::read(inner, &self.settings, upstreams));
            }
        }
    }

    /// `proxy_pass http://NAME[/path]`.
    fn proxy(&mut self, directive: &Directive, upstreams: &mut Upstreams) {
        let url = directive.argument(0);
        let (rest, is_encrypted) = match (url.strip_prefix("https://"), url.strip_prefix("http://"))
        {
            (Some(rest), _) => (rest, true),
            (None, Some(rest)) => (rest, false),
            (None, None) => ("", false),
        };
        if rest.is_empty() || !is_plain(url) || self.tries.is_some() {
            let why = if self.tries.is_some() {
                "behind `try_files`: no counterpart"
            } else {
                "no counterpart"
            };
            return self.settings.close(directive, why);
        }
        let (authority, path) = match rest.strip_prefix("unix:") {
            Some(socket) => {
                let end = socket.find(':').unwrap_or(socket.len());
                rest.split_at_checked(end + "unix:".len()).unwrap_or((rest, ""))
            }
            None => rest
                .split_at_checked(rest.find(['/', '?']).unwrap_or(rest.len()))
                .unwrap_or((rest, "")),
        };
        let path = path.strip_prefix(':').unwrap_or(path);
        let mut settings = self.settings.upstream().to_vec();
        if is_encrypted {
            settings.insert(0, ("tls", "true".to_owned()));
        } else {
            settings.retain(|(key, _)| key.ends_with("timeout"));
        }
        match upstreams.of(authority, &settings) {
            Ok(upstream) => {
                let path = (!path.is_empty()).then(|| path.to_owned());
                self.content = Content::Proxy { upstream, authority: authority.to_owned(), path };
            }
            Err(why) => self.settings.close(directive, &why),
        }
    }

    pub(super) fn kind(&self) -> &Kind {
        &self.kind
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn settings_mut(&mut self) -> &mut Settings {
        &mut self.settings
    }

    pub(super) fn steps(&self) -> &[Directive] {
        &self.steps
    }

    pub(super) fn nested(&self) -> &[Self] {
        &self.nested
    }

    pub(super) fn is_whole(&self) -> bool {
        self.kind == Kind::Whole
    }

    pub(super) fn has_alias(&self) -> bool {
        self.alias.is_some()
    }

    /// That its paths cannot be told from others.
    pub(super) fn unclear(&self) -> String {
        self.head.told("which of these paths it takes has no counterpart")
    }

    pub(super) fn is_proxy(&self) -> bool {
        matches!(self.content, Content::Proxy { .. })
    }

    /// Whether it and another serve the same files to the same clients.
    pub(super) fn serves_as(&self, other: &Self) -> bool {
        let is_simple = |one: &Self| {
            matches!(one.content, Content::Files)
                && one.steps.is_empty()
                && one.alias.is_none()
                && one.tries.is_none()
        };
        is_simple(self) && is_simple(other) && self.settings.serves_as(&other.settings)
    }

    /// Whether it lets nobody in.
    pub(super) fn is_shut(&self) -> bool {
        self.settings.access().is_shut() || self.settings.closing().is_some()
    }

    /// The paths that it takes; the second are to be closed, because they are more than it takes.
    pub(super) fn places(&self, case: Case) -> &(Vec<Place>, Vec<Route>) {
        let [ignored, sensitive] = &self.places;
        if case == Case::Ignored { ignored } else { sensitive }
    }

    /// The routes for these places.
    pub(super) fn routes(
        &self,
        places: &[Place],
        server: &dyn Others,
        context: &Context,
        jumps: &mut usize,
    ) -> Vec<Emitted> {
        if let Some(why) = self.settings.closing() {
            let closed = places.iter().map(|place| Route::closed(place.matcher().clone(), why));
            return closed.map(Emitted::plain).collect();
        }
        let (mut routes, end) = Steps::new(self, places, context, jumps).read();
        if end == End::GoesOn {
            for place in places {
                self.content(place.matcher(), server, jumps, &mut routes);
            }
        }
        routes
    }

    /// The routes of the steps alone.
    pub(super) fn first(&self, context: &Context, jumps: &mut usize) -> (Vec<Emitted>, End) {
        let places = [Place::new(Matcher::all(), &[])];
        if let Some(why) = self.settings.closing() {
            return (vec![Emitted::plain(Route::closed(Matcher::all(), why))], End::Answered);
        }
        Steps::new(self, &places, context, jumps).read()
    }

    /// What answers all paths, without its steps.
    pub(super) fn rest(&self, server: &dyn Others, jumps: &mut usize, routes: &mut Vec<Emitted>) {
        self.content(&Matcher::all(), server, jumps, routes);
    }

    fn content(
        &self,
        matcher: &Matcher,
        server: &dyn Others,
        jumps: &mut usize,
        routes: &mut Vec<Emitted>,
    ) {
        let route = match &self.content {
            Content::Internal => Route::new(matcher.clone(), Action::status(404)),
            Content::Files => return self.files(matcher, server, routes),
            Content::Proxy { upstream, authority, path } => {
                let mut settings = self.settings.proxy(authority);
                let strips = self.text.ends_with('/') && matches!(matcher, Matcher::Prefix(_));
                match path.as_deref() {
                    None => {}
                    Some(path) if path == self.text => {}
                    Some("/") if strips => {
                        settings.push(("strip_prefix".to_owned(), "true".to_owned()))
                    }
                    Some(path) => {
                        let place = jump::place(jumps);
                        let rest =
                            if self.text.ends_with('/') || !matches!(matcher, Matcher::Prefix(_)) {
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
        routes.push(Emitted::plain(self.settings.dress(route)));
    }

    /// `location /a { proxy_pass http://b/c; }` makes `/c` of `/a`, and `/c/x` of `/a/x`.
    fn split(&self, matcher: &Matcher, place: &str, path: &str, routes: &mut Vec<Emitted>) {
        let exact = Matcher::Path(self.text.clone());
        self.lead(exact, &format!("{place}{path}"), routes);
        if path.ends_with('/') {
            let why = self.head.told("its server would get a path with `//`");
            routes.push(Emitted::plain(self.answer_behind(place)));
            return routes.push(Emitted::plain(Route::closed(matcher.clone(), &why)));
        }
        self.lead(matcher.clone(), &format!("{place}{path}/$1"), routes);
        routes.push(Emitted::plain(self.answer_behind(place)));
    }

    fn lead(&self, matcher: Matcher, to: &str, routes: &mut Vec<Emitted>) {
        if to.contains(['?', '%']) || to.contains("//") {
            let why = self.head.told("the path of its server has no counterpart");
            return routes.push(Emitted::plain(Route::closed(matcher, &why)));
        }
        let route = Route::new(matcher, Action::Rewrite { to: to.to_owned() });
        routes.push(Emitted::new(route, Leads::Jump, String::new()));
    }

    /// The answer for a path that a rewrite has put behind a place of its own.
    pub(super) fn answer_behind(&self, place: &str) -> Route {
        let matcher = Matcher::Prefix(place.to_owned());
        let action = match &self.content {
            Content::Proxy { upstream, authority, .. } => {
                let mut settings = self.settings.proxy(authority);
                settings.push(("strip_prefix".to_owned(), "true".to_owned()));
                Action::Proxy(upstream.clone(), settings)
            }
            Content::Files if self.alias.is_none() && self.tries.is_none() => {
                match self.settings.root() {
                    Some(root) => {
                        let mut settings = vec![("root".to_owned(), quoted(root))];
                        settings.extend(self.settings.files());
                        Action::Files(settings)
                    }
                    None => return Route::closed(matcher, &self.head.told("it has no root")),
                }
            }
            Content::Files | Content::Internal => {
                return Route::closed(
                    matcher,
                    &self.head.told("what answers a rewritten path has no counterpart"),
                );
            }
        };
        self.settings.dress(Route::new(matcher, action))
    }

    /// The files of a location, below its root or alias.
    fn files(&self, matcher: &Matcher, server: &dyn Others, routes: &mut Vec<Emitted>) {
        let mut close = |matcher: Matcher, why: &str| {
            routes.push(Emitted::plain(Route::closed(matcher, &self.head.told(why))));
        };
        for name in self.settings.index_names() {
            let elsewhere = server.answer_index(self, matcher, &name);
            if let Some(directory) = elsewhere {
                close(directory, &format!("another location answers `{name}` of a directory"));
            }
        }
        let mut settings = Vec::new();
        let taken = match (&self.alias, matcher) {
            (Some(alias), Matcher::Path(_)) if !alias.ends_with('/') => {
                settings.push(("alias".to_owned(), quoted(alias)));
                matcher.clone()
            }
            (Some(alias), Matcher::Prefix(_))
                if alias.starts_with('/')
                    && (alias.ends_with('/') || !self.text.ends_with('/'))
                    && self.kind != Kind::Exact =>
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
                let Some(root) = self.settings.root() else {
                    return close(
                        matcher.clone(),
                        "it has no root: nginx would take one of its own",
                    );
                };
                settings.push(("root".to_owned(), quoted(root)));
                whole(matcher)
            }
        };
        settings.extend(self.settings.files());
        if let Some(directive) = &self.tries {
            match self.tries(directive, server) {
                Ok(tries) => settings.push(("try".to_owned(), list(&tries))),
                Err(why) => {
                    return routes.push(Emitted::plain(Route::closed(matcher.clone(), &why)));
                }
            }
        }
        let route = Route::new(taken, Action::Files(settings));
        routes.push(Emitted::plain(self.settings.dress(route)));
    }

    /// The paths of `try_files`.
    fn tries(&self, directive: &Directive, server: &dyn Others) -> Result<Vec<String>, String> {
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
                && self.alias.is_none() =>
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

/// The paths of a location; the second are to be closed, because they are more than it takes.
fn places(kind: &Kind, text: &str, head: &Directive, case: Case) -> (Vec<Place>, Vec<Route>) {
    let matchers = match kind {
        Kind::Exact => vec![Matcher::Path(text.to_owned())],
        Kind::Preferred | Kind::Prefix => Matcher::beginning(text),
        Kind::Whole => vec![Matcher::all()],
        Kind::Expression(own) => {
            let case = if case == Case::Ignored { *own } else { case };
            return places_of(&Pattern::of(text, case), head);
        }
    };
    if matchers.iter().all(Matcher::is_possible) && !text.contains('*') {
        let places = matchers.into_iter().map(|matcher| Place::new(matcher, &[]));
        return (places.collect(), Vec::new());
    }
    let literal = text.split(['*', '?', '%', '[', ']', '{', '}', '\\']).next().unwrap_or_default();
    let start = literal.rfind('/').and_then(|slash| literal.get(..=slash)).unwrap_or("/");
    let matcher = Some(Matcher::Prefix(start.to_owned())).filter(Matcher::is_possible);
    let why = head.told("these paths have no counterpart");
    (Vec::new(), vec![Route::closed(matcher.unwrap_or_else(Matcher::all), &why)])
}

fn places_of(pattern: &Pattern, head: &Directive) -> (Vec<Place>, Vec<Route>) {
    let why = head.told("this expression has no counterpart");
    let closed = |matcher: &Matcher| Route::closed(matcher.clone(), &why);
    if !pattern.is_exact() {
        let all = pattern.alternatives().iter().map(|one| closed(one.matcher()));
        return (Vec::new(), all.collect());
    }
    let places =
        pattern.alternatives().iter().map(|one| Place::new(one.matcher().clone(), one.groups()));
    (places.collect(), pattern.holes().iter().map(closed).collect())
}

/// The same paths as what has a root before them: below a prefix we would look for the rest only.
fn whole(matcher: &Matcher) -> Matcher {
    match matcher {
        Matcher::Prefix(text) if !text.ends_with('/') => Matcher::Glob(format!("{text}/**")),
        other => other.whole(),
    }
}

/// The other locations of a server.
pub(super) trait Others {
    /// Whether a path is answered by this location, or as if it were.
    fn is_answered_as(&self, location: &Location, path: &str) -> bool;

    /// The directories of a location whose index is answered by another one, in another way.
    fn answer_index(&self, location: &Location, matcher: &Matcher, name: &str) -> Option<Matcher>;
}
