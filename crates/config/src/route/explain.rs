//! Why a request gets what it gets: each rule that was looked at, and the result.
//!
//! Owns the text of `velodrome check --explain`. It goes through every rule one by one where
//! [`Table::find`] looks exact paths up, and comes to the same result.

use std::borrow::Cow;
use std::fmt;

use super::compile::Table;
use super::find::Refused;
use super::hosts::PlainHost;
use super::rule::{Deed, Paths, Rule, Verdict};
use super::{Action, HostId, RuleId};
use crate::Method;
use crate::limits::REWRITES_MAX;

/// The steps of one request through the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// One line for each step.
    pub steps: Vec<String>,
    /// What the request gets, in one line.
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

impl Table {
    /// Tells step by step which rule takes a request.
    #[must_use]
    pub fn explain(&self, host: Option<&str>, method: &str, path: &str) -> Explanation {
        let plain = PlainHost::of(host);
        let host_id = self.hosts().find(plain.as_bytes());
        let mut walk = Walk { table: self, steps: Vec::new() };
        walk.say_host(host_id, plain.as_bytes());
        let (rule, result) = walk.rules(host_id, plain.as_bytes(), method, path);
        Explanation { steps: walk.steps, result, rule }
    }
}

struct Walk<'t> {
    table: &'t Table,
    steps: Vec<String>,
}

impl Walk<'_> {
    fn say_host(&mut self, id: HostId, host: &[u8]) {
        let name = String::from_utf8_lossy(host);
        let step = match (self.table.host(id).place, host.is_empty()) {
            (Some(place), _) => {
                format!("host `{name}`: the [[host]] at {}:{place}", self.table.file_name())
            }
            (None, true) => "no host is named: the default host".to_owned(),
            (None, false) => {
                format!("host `{name}`: no [[host]] has this name, so the default host")
            }
        };
        self.steps.push(step);
    }

    /// The rules one by one, as they stand in the file.
    fn rules(
        &mut self,
        host_id: HostId,
        host: &[u8],
        method: &str,
        path: &str,
    ) -> (RuleId, String) {
        let table = self.table.host(host_id);
        let mut path = path.to_owned();
        let mut refused = Refused::default();
        let mut rewrites = 0;
        for id in (table.first.0..table.files.0).map(RuleId) {
            let Some(rule) = self.table.rule(id) else { continue };
            match rule.judge(host, method, &path) {
                Verdict::Takes => {}
                other => {
                    self.say(rule, &why_not(rule, other, method, &path));
                    if other == Verdict::OtherMethod {
                        refused.add(id, rule);
                    }
                    continue;
                }
            }
            match rule.rewrite(&path) {
                None => {
                    self.say(rule, "yes");
                    return (id, result(&rule.action(Cow::Owned(path), None)));
                }
                Some(None) => {
                    self.say(rule, "yes, but what it makes is no path");
                    return (id, result(&Action::NotFound));
                }
                Some(Some(_)) if rewrites == REWRITES_MAX => {
                    self.say(rule, "yes, but there were too many rewrites already");
                    return (id, result(&Action::RewriteLoop));
                }
                Some(Some(next)) => {
                    self.say(rule, &format!("yes, goes on as `{next}`"));
                    path = next;
                    rewrites += 1;
                    refused = Refused::default();
                }
            }
        }
        if let Some(id) = refused.first {
            self.steps.push("no other route takes it".to_owned());
            return (id, result(&refused.into_action()));
        }
        self.steps.push("no route takes it: the files of the host".to_owned());
        let files = self.table.rule(table.files);
        let action = files.map(|rule| rule.action(Cow::Owned(path), None));
        (table.files, result(&action.unwrap_or(Action::NotFound)))
    }

    fn say(&mut self, rule: &Rule, what: &str) {
        let place = rule.place.map(|place| format!("{place}")).unwrap_or_default();
        let step = format!("{}:{place} {}: {what}", self.table.file_name(), subject(rule));
        self.steps.push(step);
    }
}

/// The rule in a few words.
fn subject(rule: &Rule) -> String {
    let paths = match &rule.paths {
        Paths::All => "all paths".to_owned(),
        Paths::Exact(path) => format!("path `{path}`"),
        Paths::Prefix(prefix) => format!("prefix `{prefix}`"),
        Paths::Glob(glob) => format!("glob `{}`", glob.as_str()),
    };
    let deed = match &rule.deed {
        Deed::Files { .. } => "files",
        Deed::Redirect { .. } => "redirect",
        Deed::Rewrite { .. } => "rewrite",
        Deed::Respond(_) => "respond",
        Deed::Json(_) => "json",
        Deed::Module(_) => "module",
    };
    format!("{paths} ({deed})")
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
        Verdict::OtherPath | Verdict::Takes => format!("no, `{path}` does not fit"),
    }
}

fn result(action: &Action<'_>) -> String {
    match action {
        Action::Files { rules, path, .. } => {
            format!("the file `{path}` below {}", rules.root.display())
        }
        Action::Redirect { status, location } => format!("{status}, redirected to `{location}`"),
        Action::Respond { status, body, .. } => {
            format!("{status}, a fixed answer of {} bytes", body.len())
        }
        Action::Json { body } => format!("200, JSON of {} bytes", body.len()),
        Action::Module { name, path, rest } => match path.get(*rest..) {
            None | Some("") => format!("the module `{name}`, with `/` to look for"),
            Some(rest) => format!("the module `{name}`, with `{rest}` to look for"),
        },
        Action::NotFound => "404".to_owned(),
        Action::MethodNotAllowed { allow } => format!("405, allowed are {allow}"),
        Action::RewriteLoop => format!("500, more than {REWRITES_MAX} rewrites"),
    }
}
