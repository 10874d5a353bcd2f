//! A location of nginx, or a server where no location is chosen, as routes of ours.
//!
//! Owns what is read of it. `order` says which location a request goes to, `phases` what happens before it answers, and
//! `content` what answers.

use super::caching::Cached;
use super::place::{Kind, Place, places};
use super::quotas::{Quota, Quotas};
use super::settings::Settings;
use super::upstream::{Transport, Upstreams, of_transport};
use super::variables::is_plain;
use crate::condition::Condition;
use crate::directive::Directive;
use crate::matcher::Matcher;
use crate::pattern::Case;
use crate::route::{Action, Route};

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
    /// Whether it passes requests on, in whatever way.
    is_passed: bool,
    nested: Vec<Location>,
    /// Those that only `try_files` reaches.
    named: Vec<Location>,
}

/// The content handler of a location.
#[derive(Debug)]
pub(super) enum Content {
    Files,
    /// It is not for requests from outside.
    Internal,
    Proxy {
        upstream: String,
        authority: String,
        path: Option<String>,
        kept: Kept,
    },
}

/// The answers of a server that a cache keeps.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// There is no cache.
    None,
    /// The cache is for other locations.
    NotThese,
    /// All but those to these requests.
    AllBut(Vec<Condition>),
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
            is_passed: false,
            nested: Vec::new(),
            named: Vec::new(),
        }
    }

    /// Reads what may stand in a location.
    pub(super) fn directives(&mut self, directives: &[Directive], upstreams: &mut Upstreams) {
        let mut passed = None;
        let mut is_internal = false;
        self.is_passed = directives.iter().any(|inner| inner.name().ends_with("_pass"));
        for inner in directives {
            match inner.name() {
                "return" | "rewrite" | "if" | "set" | "break" => self.steps.push(inner.clone()),
                "location" => {}
                "try_files" => self.tries = Some(inner.clone()),
                "internal" => is_internal = true,
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
        if is_internal {
            // nginx looks at this before anything else of a location.
            self.content = Content::Internal;
            self.steps.clear();
        }
        if self.alias.is_some()
            && self.settings.closing().is_none()
            && directives.iter().any(|one| one.name() == "location")
        {
            self.settings
                .close(&self.head.clone(), "locations in one with `alias` have no counterpart");
        }
        for inner in directives.iter().filter(|inner| inner.name() == "location") {
            let read = Self::read(inner, &self.settings, upstreams);
            let is_named = read.text.starts_with('@');
            if is_named { &mut self.named } else { &mut self.nested }.push(read);
        }
    }

    /// `proxy_pass http://NAME[/path]`.
    fn proxy(&mut self, directive: &Directive, upstreams: &mut Upstreams) {
        let url = directive.argument(0);
        let (rest, transport) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
            (Some(rest), _) => (rest, Transport::Encrypted),
            (None, Some(rest)) => (rest, Transport::Plain),
            (None, None) => ("", Transport::Plain),
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
        let settings = of_transport(self.settings.upstream(), transport);
        let cached = self.settings.cached();
        match upstreams.of(authority, &settings, cached.as_ref().map(Cached::cache)) {
            Ok(upstream) => {
                let (authority, path) =
                    (authority.to_owned(), (!path.is_empty()).then(|| path.to_owned()));
                let passing = cached.map(Cached::into_passing);
                let kept = passing.map_or(Kept::None, Kept::AllBut);
                self.content = Content::Proxy { upstream, authority, path, kept };
            }
            Err(why) => self.settings.close(directive, &why),
        }
    }

    /// All locations were read: those without a cache keep out of those of others.
    pub(super) fn share_caches(&mut self, upstreams: &Upstreams) {
        if let Content::Proxy { upstream, kept: kept @ Kept::None, .. } = &mut self.content
            && upstreams.has_cache(upstream)
        {
            *kept = Kept::NotThese;
        }
        self.nested
            .iter_mut()
            .chain(&mut self.named)
            .for_each(|inner| inner.share_caches(upstreams));
    }

    /// nginx leads from `/a` to `/a/` where a location `/a/` passes requests on, before it looks at any other location
    /// but an exact one.
    pub(super) fn slash(&self) -> Option<Route> {
        let path = self.text.strip_suffix('/').filter(|path| self.is_passed && !path.is_empty())?;
        let to = format!("{}$query", self.text.replace('$', "$$"));
        let matcher = Matcher::Path(path.to_owned());
        let route = Route::new(matcher, Action::Redirect { to, status: 301 });
        Some(route).filter(|route| route.matcher().is_possible())
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

    /// The location of this name in it, such as `@app`.
    pub(super) fn named(&self, name: &str) -> Option<&Self> {
        self.named.iter().find(|one| one.text == name)
    }

    pub(super) fn is_whole(&self) -> bool {
        self.kind == Kind::Whole
    }

    pub(super) fn alias(&self) -> Option<&str> {
        self.alias.as_deref()
    }

    /// Its `try_files`.
    pub(super) fn tries(&self) -> Option<&Directive> {
        self.tries.as_ref()
    }

    pub(super) fn content(&self) -> &Content {
        &self.content
    }

    /// Adds its quotas and those of the locations in it, apart from those that are in force outside of it.
    pub(super) fn count_quotas(&self, outer: &[Quota], all: &mut Quotas) {
        let own = self.settings.quotas();
        for quota in own.iter().filter(|quota| !quota.is_in(outer)) {
            let (places, _) = self.places(Case::Ignored);
            all.add(quota, (!self.is_whole()).then(|| places.iter().map(Place::matcher)));
        }
        self.nested.iter().for_each(|inner| inner.count_quotas(&own, all));
    }

    /// Itself without its block.
    pub(super) fn head(&self) -> &Directive {
        &self.head
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

    /// Whether it refuses every client.
    pub(super) fn is_shut(&self) -> bool {
        self.settings.access().is_shut() || self.settings.closing().is_some()
    }

    /// The paths that it takes; the second are to be closed, because they are more than it takes.
    pub(super) fn places(&self, case: Case) -> &(Vec<Place>, Vec<Route>) {
        let [ignored, sensitive] = &self.places;
        if case == Case::Ignored { ignored } else { sensitive }
    }
}
