//! A configuration of ours on its way: sections with their lines, in the order in which they will be printed.
//!
//! Owns the shape, and what a route guards. Never knows nginx or Caddy.

use crate::word::{comment, key, list, quoted, table};

/// A whole configuration.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) sections: Vec<Section>,
}

/// One section, or the keys at the top.
#[derive(Debug, Clone, Default)]
pub(crate) struct Section {
    /// `[[route]]`; empty at the top.
    pub(crate) header: String,
    /// Comments before it.
    pub(crate) notes: Vec<String>,
    pub(crate) lines: Vec<Line>,
    pub(crate) state: State,
}

/// Whether a section is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// As it is.
    #[default]
    Live,
    /// A route that answers 501 in place of what it could not do.
    Closed,
    /// As comments.
    Out,
}

/// One key with its value.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) key: String,
    pub(crate) value: String,
    /// Whether it is printed as a comment.
    pub(crate) is_out: bool,
}

/// The keys that say which requests a route takes.
const MATCHERS: [&str; 6] = ["path", "prefix", "glob", "methods", "host", "when"];

/// The keys of a route without which it would do less than it was to do.
const ACTIONS: [&str; 10] =
    ["files", "redirect", "rewrite", "respond", "json", "module", "map", "drop", "proxy", "access"];

impl Line {
    /// Whether a route without it would take other requests.
    pub(crate) fn is_matcher(&self) -> bool {
        MATCHERS.contains(&&*self.key)
    }

    /// Whether a route without it would let in or show more than it was to.
    pub(crate) fn is_action(&self) -> bool {
        ACTIONS.contains(&&*self.key)
    }
}

impl Section {
    pub(crate) fn new(header: &str) -> Self {
        Self { header: header.to_owned(), ..Self::default() }
    }

    /// Whether it is a route.
    pub(crate) fn is_route(&self) -> bool {
        self.header.ends_with("route]]")
    }

    /// Sets a key; `value` is as printed.
    pub(crate) fn set(&mut self, key: &str, value: impl Into<String>) {
        let value = value.into();
        match self.lines.iter_mut().find(|line| line.key == key) {
            Some(line) => line.value = value,
            None => self.lines.push(Line { key: key.to_owned(), value, is_out: false }),
        }
    }

    /// The value of a key, as printed.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.lines.iter().find(|line| line.key == key).map(|line| line.value.as_str())
    }

    /// Adds a comment.
    pub(crate) fn note(&mut self, text: impl AsRef<str>) {
        let text = comment(text.as_ref());
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// Whether it has nothing to print.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.notes.is_empty()
    }
}

/// The paths of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Matcher {
    Path(String),
    Prefix(String),
    Glob(String),
}

impl Matcher {
    /// All paths.
    pub(crate) fn all() -> Self {
        Self::Prefix("/".to_owned())
    }

    /// How many of `$1` to `$9` it has.
    pub(crate) fn captures(&self) -> usize {
        match self {
            Self::Path(_) => 0,
            Self::Prefix(_) => 1,
            Self::Glob(glob) => glob.replace("**", "*").matches('*').count(),
        }
    }
}

/// The action of a route.
#[derive(Debug, Clone)]
pub(crate) enum Action {
    /// The settings of `files`, as printed.
    Files(Vec<(String, String)>),
    Redirect {
        to: String,
        status: u16,
    },
    Rewrite {
        to: String,
    },
    Respond {
        status: u16,
        body: String,
    },
    Drop,
    Proxy {
        upstream: String,
        settings: Vec<(String, String)>,
    },
}

/// A route on its way.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    pub(crate) matcher: Matcher,
    pub(crate) action: Action,
    /// Other lines, as printed.
    pub(crate) keys: Vec<(String, String)>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) notes: Vec<String>,
}

impl Route {
    pub(crate) fn new(matcher: Matcher, action: Action) -> Self {
        Self { matcher, action, keys: Vec::new(), headers: Vec::new(), notes: Vec::new() }
    }

    /// As a section with this header.
    pub(crate) fn section(&self, header: &str) -> Section {
        let mut section = Section::new(header);
        for note in &self.notes {
            section.note(note);
        }
        let (name, text) = match &self.matcher {
            Matcher::Path(text) => ("path", text),
            Matcher::Prefix(text) => ("prefix", text),
            Matcher::Glob(text) => ("glob", text),
        };
        section.set(name, quoted(text));
        for (name, value) in &self.keys {
            section.set(name, value);
        }
        let (name, value) = self.action.line();
        section.set(name, value);
        if !self.headers.is_empty() {
            let headers = self.headers.iter().map(|(name, value)| (&**name, quoted(value)));
            section.set("headers", table(headers));
        }
        section
    }
}

impl Action {
    /// A refusal.
    pub(crate) fn refuse(status: u16) -> Self {
        Self::Respond { status, body: String::new() }
    }

    fn line(&self) -> (&'static str, String) {
        let lend = |settings: &[(String, String)]| {
            settings.iter().map(|(name, value)| (name.clone(), value.clone())).collect::<Vec<_>>()
        };
        match self {
            Self::Files(settings) => {
                let settings = lend(settings);
                let entries = settings.iter().map(|(name, value)| (&**name, value.clone()));
                ("files", table(entries))
            }
            Self::Redirect { to, status } => {
                ("redirect", table([("to", quoted(to)), ("status", status.to_string())]))
            }
            Self::Rewrite { to } => ("rewrite", table([("to", quoted(to))])),
            Self::Respond { status, body } => {
                let mut entries = vec![("status", status.to_string())];
                if !body.is_empty() {
                    entries.push(("body", quoted(body)));
                }
                ("respond", table(entries))
            }
            Self::Drop => ("drop", "true".to_owned()),
            Self::Proxy { upstream, settings } if settings.is_empty() => {
                ("proxy", quoted(upstream))
            }
            Self::Proxy { upstream, settings } => {
                let settings = lend(settings);
                let entries = settings.iter().map(|(name, value)| (&**name, value.clone()));
                ("proxy", table([("upstream", quoted(upstream))].into_iter().chain(entries)))
            }
        }
    }
}

/// A host on its way: its own keys, its routes and its tables.
#[derive(Debug, Clone, Default)]
pub(crate) struct Host {
    pub(crate) names: Vec<String>,
    /// Its own lines, as printed: `root`, `redirect_to_https`, `access`.
    pub(crate) keys: Vec<(String, String)>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) error_pages: Vec<(u16, String)>,
    pub(crate) routes: Vec<Route>,
    pub(crate) notes: Vec<String>,
}

impl Host {
    pub(crate) fn set(&mut self, key: &str, value: impl Into<String>) {
        let value = value.into();
        match self.keys.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => *known = value,
            None => self.keys.push((key.to_owned(), value)),
        }
    }

    /// The tables `headers` and `error_pages`, for a section.
    fn tables(&self, section: &mut Section) {
        if !self.headers.is_empty() {
            let headers = self.headers.iter().map(|(name, value)| (&**name, quoted(value)));
            section.set("headers", table(headers));
        }
        if !self.error_pages.is_empty() {
            let pages: Vec<(String, String)> = self
                .error_pages
                .iter()
                .map(|(status, path)| (status.to_string(), quoted(path)))
                .collect();
            let pages = pages.iter().map(|(status, path)| (&**status, path.clone()));
            section.set("error_pages", table(pages));
        }
    }
}

/// The hosts as sections behind `before`: the first is the default host, whose keys are those of the top.
pub(crate) fn sections(mut top: Section, before: Vec<Section>, hosts: Vec<Host>) -> Vec<Section> {
    let is_alone = hosts.len() == 1;
    let mut behind = Vec::new();
    let secured: Vec<&str> = ["redirect_to_https", "hsts"]
        .into_iter()
        .filter(|key| {
            hosts.first().is_some_and(|host| host.keys.iter().any(|(name, _)| name == key))
        })
        .collect();
    for (number, mut host) in hosts.into_iter().enumerate() {
        // Access is said of each route, where it closes the route if it cannot be as it was.
        to_routes(&mut host, if is_alone || number > 0 { Headers::Stay } else { Headers::Move });
        if number == 0 {
            for (name, value) in &host.keys {
                top.set(name, value);
            }
            host.tables(&mut top);
            host.notes.iter().for_each(|note| top.note(note));
            behind.extend(host.routes.iter().map(|route| route.section("[[route]]")));
            continue;
        }
        let mut section = Section::new("[[host]]");
        section.set("names", list(&host.names));
        // A host has what the top level says of this, unless it says something itself.
        if secured.contains(&"redirect_to_https") {
            section.set("redirect_to_https", "false");
        }
        for (name, value) in &host.keys {
            section.set(name, value);
        }
        host.tables(&mut section);
        host.notes.iter().for_each(|note| section.note(note));
        behind.push(section);
        behind.extend(host.routes.iter().map(|route| route.section("[[host.route]]")));
    }
    let mut all = vec![top];
    all.extend(before);
    all.extend(behind);
    all.retain(|section| !section.is_empty());
    all
}

/// Where the fields of a host are said: `[headers]` at the top would be for all hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Headers {
    Stay,
    Move,
}

/// Moves what is for the whole host to each of its routes, and adds a route for the rest of its paths.
fn to_routes(host: &mut Host, fields: Headers) {
    let access = host.keys.iter().position(|(name, _)| name == "access");
    let access = access.map(|index| host.keys.remove(index));
    let headers = match fields {
        Headers::Stay => Vec::new(),
        Headers::Move => std::mem::take(&mut host.headers),
    };
    if access.is_none() && headers.is_empty() {
        return;
    }
    let takes_all = |route: &Route| route.matcher == Matcher::all() && route.keys.is_empty();
    if !host.routes.iter().any(takes_all) {
        host.routes.push(Route::new(Matcher::all(), Action::Files(Vec::new())));
    }
    for route in &mut host.routes {
        if matches!(route.action, Action::Rewrite { .. } | Action::Drop) {
            continue;
        }
        if let Some((name, value)) = &access
            && !route.keys.iter().any(|(known, _)| known == name)
        {
            route.keys.push((name.clone(), value.clone()));
        }
        for (name, value) in &headers {
            if !route.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
                route.headers.push((name.clone(), value.clone()));
            }
        }
    }
}

/// A line of a section as printed.
pub(crate) fn printed(line: &Line) -> String {
    format!("{} = {}", key(&line.key), line.value)
}
