//! `return` and `rewrite` of nginx as actions of ours.
//!
//! Owns statuses and targets. Never knows which block they are in.

use super::pattern::{self, Pattern};
use super::tree::Directive;
use super::variables::{is_plain, target};
use crate::draft::{Action, Route};

/// `return CODE [TEXT or URL]`.
pub(super) fn answer(directive: &Directive, name: Option<&str>, captures: usize) -> Option<Action> {
    let (first, second) = (directive.argument(0), directive.argument(1));
    let Ok(status) = first.parse::<u16>() else {
        return Some(Action::Redirect { to: target(first, name, captures)?, status: 302 });
    };
    match status {
        444 => Some(Action::Drop),
        301 | 302 | 303 | 307 | 308 => {
            Some(Action::Redirect { to: target(second, name, captures)?, status })
        }
        200..=299 | 400..=599 if is_plain(second) => {
            Some(Action::Respond { status, body: second.to_owned() })
        }
        _ => None,
    }
}

/// `rewrite EXPRESSION TARGET [FLAG]`.
pub(super) fn rewrite(directive: &Directive, name: Option<&str>) -> Option<Vec<Route>> {
    let Some(Pattern::Matchers(matchers)) = pattern::of(directive.argument(0)) else { return None };
    let (text, flag) = (directive.argument(1), directive.argument(2));
    let is_url =
        text.starts_with("http://") || text.starts_with("https://") || text.starts_with("$scheme");
    let mut routes = Vec::new();
    for matcher in matchers {
        let to = target(text.strip_suffix('?').unwrap_or(text), name, matcher.captures())?;
        let status = match flag {
            "permanent" => Some(301),
            "redirect" => Some(302),
            _ if is_url => Some(302),
            _ => None,
        };
        let action = match status {
            // nginx adds the query of the request, unless a `?` ends the target.
            Some(status) if text.contains('?') || to.contains("$query") => {
                Action::Redirect { to, status }
            }
            Some(status) => Action::Redirect { to: format!("{to}$query"), status },
            None => Action::Rewrite { to },
        };
        routes.push(Route::new(matcher, action));
    }
    Some(routes)
}
