//! A configuration of ours on its way: hosts with their routes, and the sections in which they are printed.
//!
//! Owns the shape. A host here ends with a route for all paths, so that nothing is served that no route says. Never
//! knows nginx or Caddy.

use crate::access::Access;
use crate::condition::Condition;
use crate::matcher::Matcher as Paths;
use crate::word::{comment, key, list, quoted, table};

pub(crate) use crate::matcher::Matcher;

/// A whole configuration.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    sections: Vec<Section>,
}

impl Draft {
    /// The keys at the top and the sections behind them; the first host is the default host.
    pub(crate) fn new(mut top: Section, before: Vec<Section>, hosts: Vec<Host>) -> Self {
        let mut behind = Vec::new();
        for (number, host) in hosts.into_iter().enumerate() {
            let header = if number == 0 { "[[route]]" } else { "[[host.route]]" };
            let mut section = Section::new("[[host]]");
            let own = if number == 0 { &mut top } else { &mut section };
            host.settings(own);
            if number > 0 {
                behind.push(section);
            }
            behind.extend(host.routes.iter().map(|route| route.section(header)));
        }
        let mut sections = vec![top];
        sections.extend(before.into_iter().filter(|section| !section.is_empty()));
        sections.extend(behind);
        Self { sections }
    }

    pub(crate) fn sections(&self) -> &[Section] {
        &self.sections
    }

    pub(crate) fn section_mut(&mut self, number: usize) -> Option<&mut Section> {
        self.sections.get_mut(number)
    }

    /// Closes all of a host: the one that this route belongs to.
    pub(crate) fn shut_host_of(&mut self, route: usize) {
        let is_route = |section: &Section| section.is_route();
        let header =
            self.sections.get(route).map(|section| section.header.clone()).unwrap_or_default();
        let first = (0..=route)
            .rev()
            .take_while(|number| self.sections.get(*number).is_some_and(is_route))
            .last();
        let Some(first) = first else { return };
        for section in self.sections.iter_mut().skip(first).take_while(|section| is_route(section))
        {
            section.state = State::Out;
        }
        self.sections.insert(
            first,
            Route::closed(Matcher::all(), "a route of this host could not be kept")
                .section(&header),
        );
    }

    /// Closes everything.
    pub(crate) fn shut(&mut self, why: &str) {
        for section in &mut self.sections {
            section.state = State::Out;
        }
        let mut closed = Route::closed(Matcher::all(), why).section("[[route]]");
        closed.note("Nothing below is in force.");
        self.sections.insert(0, closed);
    }
}

/// One section, or the keys at the top.
#[derive(Debug, Clone, Default)]
pub(crate) struct Section {
    /// `[[route]]`; empty at the top.
    header: String,
    /// Comments before it.
    notes: Vec<String>,
    lines: Vec<Line>,
    state: State,
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

/// One key with its value as printed.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    key: String,
    value: String,
    is_out: bool,
}

/// The keys that say which requests a route takes.
const MATCHERS: [&str; 6] = ["path", "prefix", "glob", "methods", "host", "when"];

/// The keys without which nothing is let in or served that was not: fields of answers, logs, pages of errors.
const SPARE: [&str; 11] = [
    "headers",
    "cache_control",
    "error_pages",
    "log",
    "user",
    "schedulers",
    "drain_deadline",
    "access",
    "format",
    "level",
    "root",
];

impl Line {
    /// Whether a route without it would take other requests.
    pub(crate) fn is_matcher(&self) -> bool {
        MATCHERS.contains(&&*self.key)
    }

    /// The line as printed.
    pub(crate) fn printed(&self) -> String {
        format!("{} = {}", key(&self.key), self.value)
    }

    pub(crate) fn is_out(&self) -> bool {
        self.is_out
    }
}

impl Section {
    pub(crate) fn new(header: &str) -> Self {
        Self { header: header.to_owned(), ..Self::default() }
    }

    pub(crate) fn header(&self) -> &str {
        &self.header
    }

    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    pub(crate) fn set_state(&mut self, state: State) {
        self.state = state;
    }

    /// Whether it is a route.
    pub(crate) fn is_route(&self) -> bool {
        self.header.ends_with("route]]")
    }

    /// Comments a line out, if that changes nothing but what answers look like. `false`: the section needs it.
    pub(crate) fn spare(&mut self, line: usize) -> bool {
        let is_setting = matches!(&*self.header, "[limits]" | "[log]");
        let in_route = self.is_route();
        let Some(line) = self.lines.get_mut(line) else { return false };
        let is_spare = SPARE.contains(&&*line.key) && !(in_route && matches!(&*line.key, "access"));
        line.is_out = is_setting || is_spare;
        line.is_out
    }

    /// Sets a key; `value` is as printed.
    pub(crate) fn set(&mut self, key: &str, value: impl Into<String>) {
        let value = value.into();
        match self.lines.iter_mut().find(|line| line.key == key) {
            Some(line) => line.value = value,
            None => self.lines.push(Line { key: key.to_owned(), value, is_out: false }),
        }
    }

    /// Sets a key as another section has it.
    pub(crate) fn copy(&mut self, line: &Line) {
        self.lines.push(line.clone());
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

/// The action of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
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
        content_type: Option<String>,
    },
    Drop,
    /// The name of the upstream, and other settings as printed.
    Proxy(String, Vec<(String, String)>),
}

impl Action {
    /// A status without text.
    pub(crate) fn status(status: u16) -> Self {
        Self::Respond { status, body: String::new(), content_type: None }
    }

    fn line(&self) -> (&'static str, String) {
        let lent = |settings: &[(String, String)]| {
            table(settings.iter().map(|(name, value)| (&**name, value.clone())))
        };
        match self {
            Self::Files(settings) => ("files", lent(settings)),
            Self::Redirect { to, status } => {
                ("redirect", table([("to", quoted(to)), ("status", status.to_string())]))
            }
            Self::Rewrite { to } => ("rewrite", table([("to", quoted(to))])),
            Self::Respond { status, body, content_type } => {
                let mut entries = vec![("status", status.to_string())];
                if !body.is_empty() {
                    entries.push(("body", quoted(body)));
                    entries.extend(content_type.iter().map(|kind| ("content_type", quoted(kind))));
                }
                ("respond", table(entries))
            }
            Self::Drop => ("drop", "true".to_owned()),
            Self::Proxy(upstream, settings) if settings.is_empty() => ("proxy", quoted(upstream)),
            Self::Proxy(upstream, settings) => {
                let first = [("upstream".to_owned(), quoted(upstream))];
                ("proxy", lent(&[first.as_slice(), settings].concat()))
            }
        }
    }
}

/// A route on its way.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    matcher: Paths,
    condition: Condition,
    action: Action,
    access: Access,
    headers: Vec<(String, String)>,
    /// Other lines, as printed.
    keys: Vec<(String, String)>,
    notes: Vec<String>,
}

impl Route {
    pub(crate) fn new(matcher: Matcher, action: Action) -> Self {
        Self {
            matcher,
            condition: Condition::default(),
            action,
            access: Access::default(),
            headers: Vec::new(),
            keys: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// A route that answers 501, because what governs its paths has no counterpart.
    pub(crate) fn closed(matcher: Matcher, why: &str) -> Self {
        Self::new(matcher, Action::status(501)).with_note(format!("closed: {why}"))
    }

    pub(crate) fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    pub(crate) fn with_notes(mut self, notes: &[String]) -> Self {
        self.notes.extend_from_slice(notes);
        self
    }

    pub(crate) fn with_access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    pub(crate) fn with_headers(mut self, headers: &[(String, String)]) -> Self {
        for (name, value) in headers {
            self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            self.headers.push((name.clone(), value.clone()));
        }
        self
    }

    /// Another key; the value is as printed.
    pub(crate) fn with_key(mut self, name: &str, value: String) -> Self {
        self.keys.push((name.to_owned(), value));
        self
    }

    pub(crate) fn with_condition(mut self, condition: Condition) -> Self {
        self.condition = condition;
        self
    }

    /// The route for those requests only that came through one of these listeners too.
    pub(crate) fn only_at(mut self, listeners: &[String]) -> Self {
        self.condition = self.condition.at(listeners);
        self
    }

    /// The route for what its access refuses without a question: those with a certificate of a client only.
    pub(crate) fn with_certificate(mut self) -> Self {
        self.access = self.access.with_certificate();
        self
    }

    pub(crate) fn matcher(&self) -> &Matcher {
        &self.matcher
    }

    /// Where a rewrite leads.
    pub(crate) fn rewrites_to(&self) -> Option<&str> {
        match &self.action {
            Action::Rewrite { to } => Some(to),
            _ => None,
        }
    }

    /// Whether it answers all requests of these paths.
    pub(crate) fn answers_all_of(&self, other: &Self) -> bool {
        self.condition.is_always() && self.matcher.covers(&other.matcher)
    }

    /// The same requests, closed.
    pub(crate) fn into_closed(self, why: &str) -> Self {
        Self { condition: self.condition, ..Self::closed(self.matcher, why) }
    }

    fn section(&self, header: &str) -> Section {
        let mut section = Section::new(header);
        self.notes.iter().for_each(|note| section.note(note));
        let (name, text) = self.matcher.key();
        section.set(name, quoted(text));
        for (name, value) in self.condition.keys() {
            section.set(name, value);
        }
        let is_step = matches!(self.action, Action::Rewrite { .. });
        // `config` wants a list that lets somebody in.
        let is_shut = self.access.is_shut() && !is_step;
        let action = if is_shut { &Action::status(403) } else { &self.action };
        let (name, value) = action.line();
        section.set(name, value);
        if let Some(rules) = self.access.printed().filter(|_| !is_shut && !is_step) {
            section.set("access", rules);
        }
        for (name, value) in self.keys.iter().filter(|_| !is_step) {
            section.set(name, value);
        }
        if !self.headers.is_empty() && !is_step && !matches!(self.action, Action::Drop) {
            let headers = self.headers.iter().map(|(name, value)| (&**name, quoted(value)));
            section.set("headers", table(headers));
        }
        section
    }
}

/// A host on its way.
#[derive(Debug, Clone, Default)]
pub(crate) struct Host {
    names: Vec<String>,
    root: Option<String>,
    error_pages: Vec<(u16, String)>,
    routes: Vec<Route>,
}

impl Host {
    pub(crate) fn new(names: Vec<String>) -> Self {
        Self { names, ..Self::default() }
    }

    pub(crate) fn add(&mut self, routes: impl IntoIterator<Item = Route>) {
        self.routes.extend(routes);
    }

    /// Where its error pages are.
    pub(crate) fn set_error_pages(&mut self, root: Option<&str>, pages: &[(u16, String)]) {
        self.root = root.map(str::to_owned);
        self.error_pages = pages.to_vec();
    }

    /// How many routes it has.
    pub(crate) fn size(&self) -> usize {
        self.routes.len()
    }

    fn settings(&self, section: &mut Section) {
        if section.header == "[[host]]" {
            section.set("names", list(&self.names));
        }
        let Some(root) = self.root.as_ref().filter(|_| !self.error_pages.is_empty()) else {
            return;
        };
        section.set("root", quoted(root));
        let pages: Vec<(String, String)> = self
            .error_pages
            .iter()
            .map(|(status, path)| (status.to_string(), quoted(path)))
            .collect();
        section.set(
            "error_pages",
            table(pages.iter().map(|(status, path)| (&**status, path.clone()))),
        );
    }
}
