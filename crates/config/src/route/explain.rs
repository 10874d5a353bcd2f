//! Why a request gets its answer: each rule that was compared, and the result.
//!
//! Owns the text of `velodrome check --explain`. It observes the walk of [`RouteTable::find`] and
//! decides nothing.

use std::borrow::Cow;
use std::fmt;

use wire::http::method::Method;

use super::compile::RouteTable;
use super::find::{ALL, Seen, Start};
use super::hosts::PlainHost;
use super::rule::{Paths, Rule, Verdict};
use super::{FoundRoute, RouteRefusal, RouteRequest, RuleId};
use crate::host_id::HostId;
use crate::limits::REWRITES_MAX;
use crate::model::route::{Respond, RouteAction};

/// The steps of one request through the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// One line per step.
    pub steps: Vec<String>,
    /// The answer to the request, in one line.
    pub result: String,
    /// The rule that decided.
    pub rule: RuleId,
}

impl fmt::Display for Explanation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            writeln!(out, "{step}")?;
        }
        write!(out, "result: {}", self.result)
    }
}

impl RouteTable {
    /// Explains step by step which rule matches a request.
    pub fn explain(&self, request: &RouteRequest<'_>) -> Explanation {
        self.explain_from(request, None)
    }

    /// The same for a request for which this route of files, and all before it that lead on, have no file: the steps
    /// after it.
    pub fn explain_after(&self, request: &RouteRequest<'_>, passed: RuleId) -> Explanation {
        self.explain_from(request, Some(passed))
    }

    fn explain_from(&self, request: &RouteRequest<'_>, passed: Option<RuleId>) -> Explanation {
        let RouteRequest { host, method, path, .. } = *request;
        let plain = PlainHost::of(host);
        let host_id = self.hosts().find(plain.as_bytes());
        let table = self.host(host_id);
        let mut story = Story {
            table: self,
            method,
            path: path.to_owned(),
            next: passed.map_or(table.first, |passed| RuleId(passed.0 + 1)),
            taken: None,
            steps: Vec::new(),
        };
        if passed.is_none() {
            story.say_host(host_id, plain.as_bytes());
        }
        let built_in = self.built_in_of(path);
        let start = Start { passed: built_in.map(|_| ALL).or(passed), ..Start::first(path) };
        let found = self.walk_watched(host_id, plain.as_bytes(), request, start, |id, seen| {
            match seen {
                // It was told before.
                Seen::Rewritten(next) if Some(id) < passed => next.clone_into(&mut story.path),
                _ if Some(id) <= passed => {}
                seen => story.see(id, seen),
            }
        });
        story.end(table.files, &found);
        let found = self.or_built_in(found, path);
        if let Some(route) = built_in {
            let subject = subject(&route.paths, &route.action);
            story.steps.push(format!(
                "{subject}: built in, yes, before all routes; that of the path gives access, fields and limits"
            ));
        }
        if !found.terms.early_hints.is_empty() {
            story.steps.push(early_hints(&found));
        }
        Explanation { steps: story.steps, result: result(&found), rule: found.rule }
    }
}

/// The steps of a search, collected while it runs.
struct Story<'t> {
    table: &'t RouteTable,
    method: &'t str,
    /// The path that is searched now.
    path: String,
    /// The index of the first rule that has no line yet.
    next: RuleId,
    /// The rule that matched the request and has not led to another path.
    taken: Option<RuleId>,
    steps: Vec<String>,
}

impl Story<'_> {
    fn see(&mut self, id: RuleId, seen: Seen<'_>) {
        self.skip_to(id);
        match seen {
            Seen::Rule(Verdict::Takes) => self.taken = Some(id),
            Seen::LedOn => {
                self.say(id, |_, _| "the path fits, but it leads on to those after it".to_owned());
            }
            Seen::Rule(verdict) => {
                self.say(id, |rule, story| why_not(rule, verdict, story.method, &story.path));
            }
            Seen::NoPath => self.lead(id, "yes, but the result is not a path"),
            Seen::TooMany => self.lead(id, "yes, but there were too many rewrites already"),
            Seen::Rewritten(next) => {
                self.lead(id, &format!("yes, continues as `{next}`"));
                self.path = next.to_owned();
            }
        }
    }

    /// The rule that matched the request leads to another path.
    fn lead(&mut self, id: RuleId, what: &str) {
        self.taken = None;
        self.say(id, |_, _| what.to_owned());
    }

    fn end(&mut self, files: RuleId, found: &FoundRoute<'_>) {
        if let Some(id) = self.taken {
            self.say(id, |_, _| "yes".to_owned());
        } else if matches!(found.action, Err(RouteRefusal::MethodNotAllowed { .. })) {
            self.skip_to(files);
            self.steps.push("no other route takes it".to_owned());
        } else if found.rule == files {
            self.skip_to(files);
            self.steps.push("no route takes it: the files of the host".to_owned());
        }
    }

    /// Reports rules that were not compared: exact paths are looked up, and others do not match.
    fn skip_to(&mut self, id: RuleId) {
        while self.next < id {
            let skipped = self.next;
            self.say(skipped, |rule, story| {
                why_not(rule, Verdict::OtherPath, story.method, &story.path)
            });
        }
    }

    fn say(&mut self, id: RuleId, what: impl FnOnce(&Rule, &Self) -> String) {
        self.next = RuleId(id.0 + 1);
        let Some(rule) = self.table.rule(id) else { return };
        let place = rule.place.map(|place| self.table.files().at(place)).unwrap_or_default();
        let what = what(rule, self);
        let step = format!("{place} {}: {what}", subject(&rule.paths, &rule.action));
        self.steps.push(step);
    }

    fn say_host(&mut self, id: HostId, host: &[u8]) {
        let name = String::from_utf8_lossy(host);
        let step = match (self.table.host(id).place, host.is_empty()) {
            (Some(place), _) => {
                format!("host `{name}`: the [[host]] at {}", self.table.files().at(place))
            }
            (None, true) => "no host is named: the default host".to_owned(),
            (None, false) => {
                format!("host `{name}`: no [[host]] has this name, so the default host")
            }
        };
        self.steps.push(step);
    }
}

/// The rule in a few words.
fn subject(paths: &Paths, action: &RouteAction) -> String {
    let paths = match paths {
        Paths::All => "all paths".to_owned(),
        Paths::Exact(path) => format!("path `{path}`"),
        Paths::Prefix(prefix) => format!("prefix `{prefix}`"),
        Paths::Glob(glob) => format!("glob `{}`", glob.as_str()),
    };
    let action = match action {
        RouteAction::Files { .. } => "files",
        RouteAction::Redirect { .. } => "redirect",
        RouteAction::Rewrite { .. } => "rewrite",
        RouteAction::Respond(_) => "respond",
        RouteAction::Json(_) => "json",
        RouteAction::Module(_) => "module",
        RouteAction::Map(_) => "map",
        RouteAction::Drop => "drop",
        RouteAction::Proxy(_) => "proxy",
        RouteAction::Channels => "channels",
        RouteAction::BrowserClient => "client of channels",
        RouteAction::Database(_) => "store",
    };
    format!("{paths} ({action})")
}

fn why_not(rule: &Rule, verdict: Verdict, method: &str, path: &str) -> String {
    match verdict {
        Verdict::OtherHost => match &rule.host {
            Some(name) => format!("no, it is for the host `{name}`"),
            None => "no, it is for another host".to_owned(),
        },
        Verdict::OtherMethod => {
            let names: Vec<&str> = rule.methods.iter().copied().map(Method::as_str).collect();
            format!("the path fits, but the method {method} is not among {}", names.join(", "))
        }
        Verdict::Unmet(number) => match rule.conditions.get(number) {
            Some(condition) => format!("the path fits, but it needs {condition}"),
            None => "the path fits, but a condition is not met".to_owned(),
        },
        Verdict::NotInMap => match &rule.action {
            RouteAction::Map(map) => {
                format!("no, `{}` has no row for `{path}`", map.file.display())
            }
            _ => format!("no, there is no row for `{path}`"),
        },
        Verdict::OtherPath | Verdict::Takes => format!("no, `{path}` does not fit"),
    }
}

fn early_hints(found: &FoundRoute<'_>) -> String {
    let links = found.terms.early_hints.fields();
    let links: Vec<Cow<'_, str>> =
        links.iter().map(|(_, link)| String::from_utf8_lossy(link)).collect();
    format!("if the answer takes time, 103 Early Hints first: {}", links.join(", "))
}

fn result(found: &FoundRoute<'_>) -> String {
    let FoundRoute { path, location, .. } = found;
    match &found.action {
        Ok(action @ RouteAction::Files { rules, .. }) => {
            let or = if action.leads_on() { ", or that of the routes after this one" } else { "" };
            format!("the file `{path}` below {}{or}", rules.root.display())
        }
        Ok(RouteAction::Redirect { status, .. }) => format!("{status}, redirected to `{location}`"),
        Ok(RouteAction::Respond(Respond { status, body, .. })) => {
            format!("{status}, a fixed answer of {} bytes", body.len())
        }
        Ok(RouteAction::Json(text)) => format!("200, JSON of {} bytes", text.len()),
        Ok(RouteAction::Module(name)) => match path.get(found.rest..) {
            None | Some("") => format!("the module `{name}`, with `/` to look for"),
            Some(rest) => format!("the module `{name}`, with `{rest}` to look for"),
        },
        Ok(RouteAction::Map(_)) => format!("redirected to `{location}`"),
        Ok(RouteAction::Channels) => "the channels".to_owned(),
        Ok(RouteAction::BrowserClient) => "the client of channels for browsers".to_owned(),
        Ok(RouteAction::Database(name)) => format!("the database `{name}` of the store"),
        Ok(RouteAction::Drop) => "the connection is closed without an answer".to_owned(),
        Err(RouteRefusal::NoHost) => "400, the request names no host to redirect to".to_owned(),
        Ok(RouteAction::Proxy(proxy)) => {
            let rest = path.get(found.rest..).filter(|rest| !rest.is_empty()).unwrap_or("/");
            format!("a server of the upstream `{}`, asked for `{rest}`", proxy.upstream)
        }
        Ok(RouteAction::Rewrite { .. }) | Err(RouteRefusal::NotFound) => "404".to_owned(),
        Err(RouteRefusal::MethodNotAllowed { allow }) => format!("405, allowed are {allow}"),
        Err(RouteRefusal::RewriteLoop) => format!("500, more than {REWRITES_MAX} rewrites"),
    }
}
