//! The paths of a location.
//!
//! Owns how nginx compares a location with a path, and what `$1` to `$9` are there. Never decides which location is
//! taken.

use crate::directive::Directive;
use crate::matcher::Matcher;
use crate::pattern::{Case, Pattern};
use crate::route::Route;

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

/// Paths, with what `$1` to `$9` are there.
#[derive(Debug, Clone)]
pub(super) struct Place {
    matcher: Matcher,
    groups: Vec<Option<String>>,
}

impl Place {
    pub(super) fn new(matcher: Matcher, groups: &[Option<String>]) -> Self {
        Self { matcher, groups: groups.to_vec() }
    }

    pub(super) fn matcher(&self) -> &Matcher {
        &self.matcher
    }

    /// The values of `$1` to `$9` there, as targets.
    pub(super) fn groups(&self) -> &[Option<String>] {
        &self.groups
    }
}

/// The paths of a location; the second are to be closed, because they are more than it takes.
pub(super) fn places(
    kind: &Kind,
    text: &str,
    head: &Directive,
    case: Case,
) -> (Vec<Place>, Vec<Route>) {
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
