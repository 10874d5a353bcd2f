//! Mistakes that involve several routes.
//!
//! Owns these checks. Each finds only what is certain for all requests.

use super::compile::{HostTable, RouteTable};
use super::find::Start;
use super::rule::Rule;
use super::{RouteRefusal, RouteRequest, RuleId};
use crate::host_id::HostId;
use crate::host_name::HostName;
use crate::limits::{REDIRECTS_CHECKED_MAX, REWRITES_MAX};
use crate::model::config::RouteAction;
use crate::problem::Problems;

/// Checks every host.
pub(super) fn all(table: &RouteTable, problems: &mut Problems) {
    for (number, host) in (0..).zip(table.tables()) {
        let host_id = HostId(number);
        let ids = (host.first.0..host.files.0).map(RuleId);
        // A route with a condition or a map does not take all requests of its paths.
        let is_certain = ids
            .clone()
            .filter_map(|id| table.rule(id))
            .all(|rule| rule.conditions.is_empty() && !matches!(rule.action, RouteAction::Map(_)));
        for id in ids {
            let Some(rule) = table.rule(id) else { continue };
            check_host(table, rule, problems);
            check_reached(table, host, id, rule, problems);
            if !is_certain {
                continue;
            }
            check_rewrites(table, host_id, id, rule, problems);
            check_redirects(table, host_id, id, rule, problems);
        }
    }
}

/// A route of the default host never sees requests for a virtual host.
fn check_host(table: &RouteTable, rule: &Rule, problems: &mut Problems) {
    let Some(name) = &rule.host else { return };
    let taker = match name {
        HostName::Exact(name) => table.hosts().find(name.as_bytes()),
        // Any name with this ending and one more label.
        HostName::Wildcard(end) => table.hosts().find(format!("*{end}").as_bytes()),
    };
    if taker == HostId::DEFAULT {
        return;
    }
    let line = table.host(taker).place.map_or_else(String::new, |place| table.files().line(place));
    problems.add(
        rule.place,
        format!("requests for `{name}` go to the [[host]] in {line}; put the route there"),
    );
}

/// A route after another one that matches everything it would match is a mistake of order.
fn check_reached(
    table: &RouteTable,
    host: &HostTable,
    id: RuleId,
    rule: &Rule,
    problems: &mut Problems,
) {
    // Backwards, but not past a rewrite: after one a path can appear that earlier rules never saw.
    for earlier in (host.first.0..id.0).rev().filter_map(|earlier| table.rule(RuleId(earlier))) {
        if matches!(earlier.action, RouteAction::Rewrite { .. }) {
            return;
        }
        let takes_all = earlier.takes_every_request();
        if takes_all && earlier.paths.cover(&rule.paths) {
            let line = earlier.place.map_or_else(String::new, |place| table.files().line(place));
            problems.add(
                rule.place,
                format!("this route is never reached: the one in {line} takes all its requests"),
            );
            return;
        }
    }
}

/// A request that rewrites itself too often, whatever its path.
fn check_rewrites(
    table: &RouteTable,
    host: HostId,
    id: RuleId,
    rule: &Rule,
    problems: &mut Problems,
) {
    let RouteAction::Rewrite { to } = &rule.action else { return };
    let Some(path) = to.constant() else { return };
    let request = request(rule, path);
    let name = name_of(rule);
    let start = Start { rule: RuleId(id.0 + 1), rewrites: 1, ..Start::first(path) };
    let found = table.walk(host, name.as_bytes(), &request, start);
    if found.action == Err(RouteRefusal::RewriteLoop) {
        problems.add(
            rule.place,
            format!("this rewrite is followed by more than {} others", REWRITES_MAX - 1),
        );
    }
}

/// A redirect whose target is redirected back to it.
fn check_redirects(
    table: &RouteTable,
    host: HostId,
    id: RuleId,
    rule: &Rule,
    problems: &mut Problems,
) {
    let Some(mut path) = constant_path(rule) else { return };
    let name = name_of(rule);
    for _ in 0..REDIRECTS_CHECKED_MAX {
        let next = {
            let request = request(rule, &path);
            table.walk(host, name.as_bytes(), &request, Start::first(&path)).rule
        };
        if next == id {
            problems.add(
                rule.place,
                format!("this redirect leads in a circle: `{path}` comes back to it"),
            );
            return;
        }
        // A loop is reported once, for its first redirect.
        let after = (next > id).then(|| table.rule(next)).flatten().and_then(constant_path);
        let Some(after) = after else { return };
        path = after;
    }
}

/// The path to which a redirect leads, if it is on this host and the same for all requests.
fn constant_path(rule: &Rule) -> Option<String> {
    let RouteAction::Redirect { to, .. } = &rule.action else { return None };
    let text = to.constant().filter(|_| to.is_local())?;
    let path = text.split(['?', '#']).next()?;
    decoded(path)
}

/// Without escapes (RFC 3986 §2.1).
fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first == b'%' {
            let (digits, after) = after.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = after;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

/// A request that the rule would match. After a redirect most clients send GET.
fn request<'a>(rule: &'a Rule, path: &'a str) -> RouteRequest<'a> {
    let keeps_method = matches!(
        rule.action,
        RouteAction::Redirect { status: 307 | 308, .. } | RouteAction::Rewrite { .. }
    );
    let method = match rule.methods.first() {
        Some(first) if keeps_method => first.as_str(),
        _ => "GET",
    };
    RouteRequest::new(None, method, path, None)
}

/// A host that the rule would match.
fn name_of(rule: &Rule) -> String {
    match &rule.host {
        None => String::new(),
        Some(HostName::Exact(name)) => name.clone(),
        Some(HostName::Wildcard(end)) => format!("*{end}"),
    }
}
