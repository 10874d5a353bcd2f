//! A route before it is printed: its matcher, its action, and the comments about it.
//!
//! Owns how it is written as a section. Never knows nginx or Caddy.

use crate::access::Access;
use crate::condition::Condition;
use crate::matcher::Matcher;
use crate::section::Section;
use crate::word::{quoted, table};

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

/// The end of a printed `try` that leads on.
const NEXT: &str = "\"next\"]";

/// A route on its way.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    matcher: Matcher,
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
        self.condition.is_always() && !self.leads_on() && self.matcher.covers(&other.matcher)
    }

    /// Whether it is one of files that leads on to those after it.
    fn leads_on(&self) -> bool {
        let is_next = |(name, value): &(String, String)| name == "try" && value.ends_with(NEXT);
        matches!(&self.action, Action::Files(settings) if settings.iter().any(is_next))
    }

    /// The same requests, closed.
    pub(crate) fn into_closed(self, why: &str) -> Self {
        Self { condition: self.condition, ..Self::closed(self.matcher, why) }
    }

    pub(crate) fn section(&self, header: &str) -> Section {
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
