//! The walk of a request through the table.
//!
//! Owns the order: the rules of the host in the order of the file, then its files. Exact paths are
//! looked up, the others compared in turn; both lists are merged in the order of the file.

use std::borrow::Cow;

use wire::http::method::Method;

use super::compile::{HostTable, RouteTable};
use super::hosts::PlainHost;
use super::rule::{Rule, Verdict};
use super::{FoundRoute, RouteRefusal, RouteRequest, RuleId};
use crate::host_id::HostId;
use crate::limits::REWRITES_MAX;

/// As the last rule that has led on: every rule that may, has.
pub(super) const ALL: RuleId = RuleId(u32::MAX);

impl RouteTable {
    /// Finds the answer to a request.
    pub fn find<'a>(&'a self, request: &RouteRequest<'a>) -> FoundRoute<'a> {
        if self.built_in_of(request.path).is_none() {
            return self.find_configured(request);
        }
        // One that leads on has no guard of its own, and would answer none of it.
        self.or_built_in(self.find_after(request, ALL), request.path)
    }

    /// Finds the answer to a request for which this route of files, and all before it that lead on, have no file.
    pub fn find_after<'a>(&'a self, request: &RouteRequest<'a>, passed: RuleId) -> FoundRoute<'a> {
        let host = PlainHost::of(request.host);
        let id = self.hosts().find(host.as_bytes());
        let start = Start { passed: Some(passed), ..Start::first(request.path) };
        self.walk(id, host.as_bytes(), request, start)
    }

    #[inline]
    fn find_configured<'a>(&'a self, request: &RouteRequest<'a>) -> FoundRoute<'a> {
        if !self.compares_hosts() {
            let table = self.host(HostId::DEFAULT);
            if table.first == table.files {
                let path = Cow::Borrowed(request.path);
                return self.taken(HostId::DEFAULT, table.files, path, request);
            }
            return self.walk(HostId::DEFAULT, b"", request, Start::first(request.path));
        }
        let host = PlainHost::of(request.host);
        let id = self.hosts().find(host.as_bytes());
        self.walk(id, host.as_bytes(), request, Start::first(request.path))
    }

    /// Walks through the rules of a host from `start` on.
    pub(super) fn walk<'a>(
        &'a self,
        host_id: HostId,
        host: &[u8],
        request: &RouteRequest<'a>,
        start: Start<'a>,
    ) -> FoundRoute<'a> {
        self.walk_watched(host_id, host, request, start, |_, _| {})
    }

    /// Like `find`, and reports each rule that it visits.
    pub(super) fn walk_watched<'a>(
        &'a self,
        host_id: HostId,
        host: &[u8],
        request: &RouteRequest<'a>,
        start: Start<'a>,
        mut watch: impl FnMut(RuleId, Seen<'_>),
    ) -> FoundRoute<'a> {
        let table = self.host(host_id);
        let Start { mut path, mut rule, mut rewrites, passed } = start;
        let has_no_file = |id: RuleId, rule: &Rule| Some(id) <= passed && rule.action.leads_on();
        loop {
            let mut refused = Refused::default();
            let taken = table
                .candidates(&path, rule)
                .filter_map(|id| Some((id, self.rule(id)?)))
                .find(|(id, rule)| {
                    let verdict = rule.judge(host, request, &path);
                    if has_no_file(*id, rule) {
                        if verdict == Verdict::Takes {
                            watch(*id, Seen::LedOn);
                        }
                        return false;
                    }
                    watch(*id, Seen::Rule(verdict));
                    if verdict == Verdict::OtherMethod {
                        refused.add(*id, rule);
                    }
                    verdict == Verdict::Takes
                });
            let Some((id, taken)) = taken else {
                return match refused.first {
                    Some(id) => self.not_taken(host_id, id, refused.into_refusal()),
                    None => self.taken(host_id, table.files, path, request),
                };
            };
            match taken.rewrite(&path) {
                None => return self.taken(host_id, id, path, request),
                Some(None) => {
                    watch(id, Seen::NoPath);
                    return self.not_taken(host_id, id, RouteRefusal::NotFound);
                }
                Some(Some(_)) if rewrites == REWRITES_MAX => {
                    watch(id, Seen::TooMany);
                    return self.not_taken(host_id, id, RouteRefusal::RewriteLoop);
                }
                Some(Some(next)) => {
                    watch(id, Seen::Rewritten(&next));
                    path = Cow::Owned(next);
                    rule = RuleId(id.0 + 1);
                    rewrites += 1;
                }
            }
        }
    }

    #[inline]
    fn taken<'a>(
        &'a self,
        host: HostId,
        id: RuleId,
        path: Cow<'a, str>,
        request: &RouteRequest<'_>,
    ) -> FoundRoute<'a> {
        let Some(rule) = self.rule(id) else {
            return self.not_taken(host, id, RouteRefusal::NotFound);
        };
        match rule.paths_of_action(path, request) {
            Some(paths) => self.found(host, id, paths),
            None => self.not_taken(host, id, RouteRefusal::NoHost),
        }
    }

    /// The answer of a rule, with the path for its action, the start of the rest and the location.
    #[inline]
    pub(super) fn found<'a>(
        &'a self,
        host: HostId,
        id: RuleId,
        (path, rest, location): (Cow<'a, str>, usize, Cow<'a, str>),
    ) -> FoundRoute<'a> {
        let Some(rule) = self.rule(id) else {
            return self.not_taken(host, id, RouteRefusal::NotFound);
        };
        FoundRoute {
            action: Ok(&rule.action),
            path,
            rest,
            location,
            terms: &rule.terms,
            rule: id,
            host,
        }
    }

    /// An answer that belongs to no rule: with only the fields of the host.
    pub(super) fn not_taken(
        &self,
        host: HostId,
        rule: RuleId,
        refusal: RouteRefusal,
    ) -> FoundRoute<'_> {
        FoundRoute {
            action: Err(refusal),
            path: Cow::Borrowed("/"),
            rest: 0,
            location: Cow::Borrowed(""),
            terms: &self.host(host).terms,
            rule,
            host,
        }
    }
}

/// The search visits a rule.
pub(super) enum Seen<'s> {
    /// The rule was compared with the request.
    Rule(Verdict),
    /// It matched the request, and leads on to those after it.
    LedOn,
    /// It matched the request, and leads to this path,
    Rewritten(&'s str),
    /// or to something that is not a path,
    NoPath,
    /// or to one rewrite more than a request may have.
    TooMany,
}

/// Where a walk begins. Plain data.
pub(super) struct Start<'a> {
    pub(crate) path: Cow<'a, str>,
    pub(crate) rule: RuleId,
    pub(crate) rewrites: usize,
    /// The last rule that has led on.
    pub(crate) passed: Option<RuleId>,
}

impl<'a> Start<'a> {
    pub(super) fn first(path: &'a str) -> Self {
        Self { path: Cow::Borrowed(path), rule: RuleId(0), rewrites: 0, passed: None }
    }
}

/// The rules that matched the path but not the method.
#[derive(Default)]
struct Refused {
    first: Option<RuleId>,
    methods: Vec<Method>,
}

impl Refused {
    fn add(&mut self, id: RuleId, rule: &Rule) {
        self.first.get_or_insert(id);
        self.methods.extend_from_slice(&rule.methods);
    }

    fn into_refusal(mut self) -> RouteRefusal {
        // The server itself answers it.
        self.methods.push(Method::Options);
        self.methods.sort_unstable();
        self.methods.dedup();
        let names: Vec<&str> = self.methods.iter().map(|method| method.as_str()).collect();
        RouteRefusal::MethodNotAllowed { allow: names.join(", ") }
    }
}

impl HostTable {
    /// The rules from `first` on that may match a path, in file order.
    fn candidates(&self, path: &str, first: RuleId) -> Candidates<'_> {
        let exact = if self.exact.is_empty() { None } else { self.exact.get(path) };
        Candidates {
            exact: from(exact.map(Vec::as_slice).unwrap_or_default(), first),
            others: from(&self.others, first),
        }
    }
}

fn from(rules: &[RuleId], first: RuleId) -> &[RuleId] {
    rules.get(rules.partition_point(|id| *id < first)..).unwrap_or_default()
}

/// Two ascending lists, merged.
struct Candidates<'t> {
    exact: &'t [RuleId],
    others: &'t [RuleId],
}

impl Iterator for Candidates<'_> {
    type Item = RuleId;

    fn next(&mut self) -> Option<RuleId> {
        let list = match (self.exact.first(), self.others.first()) {
            (Some(exact), Some(other)) if exact < other => &mut self.exact,
            (Some(_), None) => &mut self.exact,
            _ => &mut self.others,
        };
        let (first, rest) = list.split_first()?;
        *list = rest;
        Some(*first)
    }
}
