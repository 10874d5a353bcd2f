//! The table, made from a configuration.
//!
//! Owns the table's shape. `check` finds what is wrong with several routes together. Done at start and at reload, never
//! for a request.

use std::sync::Arc;
use std::time::Duration;

use ahash::HashMap;
use wire::http::fields::FieldList;
use wire::http::method::Method;

use super::built_in::BuiltIn;
use super::hosts::Hosts;
use super::rule::{Paths, Rule};
use super::{HostHttps, RouteTerms, RuleId};
use crate::early_hints;
use crate::host_id::HostId;
use crate::model::config::{Config, ErrorPage, Host};
use crate::model::encryption::Https;
use crate::model::header::Header;
use crate::model::route::{Otherwise, PathMatcher, Route, RouteAction};
use crate::problem::{FileNames, TextPosition};

/// The routes of all hosts, ready for lookups.
#[derive(Debug, Clone)]
pub struct RouteTable {
    files: FileNames,
    hosts: Hosts,
    tables: Vec<HostTable>,
    rules: Vec<Rule>,
    built_in: Vec<BuiltIn>,
    /// Whether any rule compares the host.
    compares_hosts: bool,
    /// Whether any rule has rules of access.
    asks_for_access: bool,
}

/// The rules of one host. Plain data, which a lookup only reads.
#[derive(Debug, Clone, Default)]
pub(super) struct HostTable {
    pub(crate) place: Option<TextPosition>,
    /// Its first route.
    pub(crate) first: RuleId,
    /// The routes for single paths, ascending.
    pub(crate) exact: HashMap<String, Vec<RuleId>>,
    /// The other routes, ascending.
    pub(crate) others: Vec<RuleId>,
    /// The answer if no route matches the request; the last rule of the host.
    pub(crate) files: RuleId,
    error_pages: Vec<ErrorPage>,
    /// The settings of the host, for requests that no rule takes.
    pub(crate) terms: RouteTerms,
}

impl RouteTable {
    /// The table, before checks.
    pub(super) fn unchecked(config: &Config) -> Self {
        let mut table = Self {
            files: config.files.clone(),
            hosts: Hosts::default(),
            tables: Vec::with_capacity(config.hosts.len() + 1),
            rules: Vec::new(),
            built_in: BuiltIn::all(config),
            compares_hosts: false,
            asks_for_access: false,
        };
        table.add_host(&config.default_host, config);
        for host in &config.hosts {
            table.add_host(host, config);
        }
        let filtered = table.rules.iter().any(|rule| rule.host.is_some());
        table.compares_hosts = filtered || !table.hosts.is_empty();
        table.asks_for_access = table.rules.iter().any(|rule| !rule.terms.access.is_empty());
        table
    }

    fn add_host(&mut self, host: &Host, config: &Config) {
        let id = HostId(number(self.tables.len()));
        for name in &host.names {
            self.hosts.insert(name, id);
        }
        let mut table = HostTable {
            place: host.place,
            first: RuleId(number(self.rules.len())),
            error_pages: host.error_pages.clone(),
            terms: terms_of(host, config),
            ..HostTable::default()
        };
        let host_headers = merged(&config.headers, &host.headers);
        for route in &host.routes {
            let rule = Self::rule_of(route, &host_headers, &table.terms, config);
            let id = RuleId(number(self.rules.len()));
            match &rule.paths {
                Paths::Exact(path) => table.exact.entry(path.clone()).or_default().push(id),
                _ => table.others.push(id),
            }
            self.rules.push(rule);
        }
        table.files = RuleId(number(self.rules.len()));
        self.rules.push(Rule {
            place: None,
            paths: Paths::All,
            methods: Vec::new(),
            host: None,
            conditions: Vec::new(),
            action: RouteAction::Files {
                rules: host.files.clone(),
                own_root: false,
                tries: Vec::new(),
                otherwise: Otherwise::NotFound,
            },
            terms: table.terms.clone(),
        });
        self.tables.push(table);
    }

    fn rule_of(
        route: &Route,
        host_headers: &[Header],
        host_terms: &RouteTerms,
        config: &Config,
    ) -> Rule {
        let mut methods = route.methods.clone();
        if methods.contains(&Method::Get) {
            methods.push(Method::Head);
            methods.sort_unstable();
            methods.dedup();
        }
        Rule {
            place: Some(route.place),
            paths: Paths::of(&route.matcher),
            methods,
            host: route.host.clone(),
            conditions: route.conditions.clone(),
            action: route.action.clone(),
            terms: RouteTerms {
                headers: list(&merged(host_headers, &route.headers)),
                https: Arc::clone(&host_terms.https),
                cache_control: route.cache_control.clone(),
                early_hints: early_hints::fields(&route.early_hints),
                name: match &route.matcher {
                    PathMatcher::Path(text) | PathMatcher::Prefix(text) => text.clone(),
                    PathMatcher::Glob(glob) => glob.as_str().to_owned(),
                },
                log: route.log,
                access: match &route.access {
                    Some(own) => own.as_slice().into(),
                    None => Arc::clone(&host_terms.access),
                },
                forward_auth: route.forward_auth.clone(),
                body_size: route.body_size.unwrap_or(config.limits.body_size),
                form_size: config.pages.upload_size.min(route.body_size.unwrap_or(u64::MAX)),
            },
        }
    }

    /// The path of the page a host sends with a status, below the host's own root.
    pub fn error_page(&self, host: HostId, status: u16) -> Option<&str> {
        let pages = &self.host(host).error_pages;
        pages.iter().find(|page| page.status == status).map(|page| page.path.as_str())
    }

    /// Whether some requests need more than a route.
    pub fn asks_for_access(&self) -> bool {
        self.asks_for_access
    }

    /// The place of a rule in the file; `None` for the files of a host.
    pub fn place_of(&self, rule: RuleId) -> Option<TextPosition> {
        self.rule(rule).and_then(|rule| rule.place)
    }

    /// All routes in order, each with its host and its name; the name of the files of a host is empty.
    pub fn routes(&self) -> impl Iterator<Item = (RuleId, HostId, &str)> {
        let hosts = self.tables.iter().enumerate();
        hosts.flat_map(move |(host, table)| {
            let named = (table.first.0..=table.files.0).map(RuleId);
            named.filter_map(move |id| {
                Some((
                    id,
                    HostId(u32::try_from(host).unwrap_or(u32::MAX)),
                    self.rule(id)?.terms.name.as_str(),
                ))
            })
        })
    }

    pub(super) fn files(&self) -> &FileNames {
        &self.files
    }

    pub(super) fn built_in(&self) -> &[BuiltIn] {
        &self.built_in
    }

    pub(super) fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    pub(super) fn tables(&self) -> &[HostTable] {
        &self.tables
    }

    pub(super) fn compares_hosts(&self) -> bool {
        self.compares_hosts
    }

    /// A host's table. For a number from another table, the default host's.
    pub(super) fn host(&self, host: HostId) -> &HostTable {
        self.tables
            .get(host.0 as usize)
            .or(self.tables.first())
            .expect("the default host's table is made first")
    }

    pub(super) fn rule(&self, id: RuleId) -> Option<&Rule> {
        self.rules.get(id.0 as usize)
    }
}

/// The settings of a host, for its files and for requests that no rule takes.
fn terms_of(host: &Host, config: &Config) -> RouteTerms {
    let access = host.access.as_ref().or(config.default_host.access.as_ref());
    RouteTerms {
        headers: list(&merged(&config.headers, &host.headers)),
        https: Arc::new(https_of(&host.https)),
        access: access.cloned().unwrap_or_default().into(),
        body_size: config.limits.body_size,
        form_size: config.pages.upload_size,
        ..RouteTerms::default()
    }
}

/// The fields of `base` and `own`; `own` replaces fields of the same name.
fn merged(base: &[Header], own: &[Header]) -> Vec<Header> {
    let replaced =
        |header: &Header| own.iter().any(|other| other.name.eq_ignore_ascii_case(&header.name));
    base.iter().filter(|header| !replaced(header)).chain(own).cloned().collect()
}

/// Fields that were checked when they were read; together they fit, because each table of them is bounded.
fn https_of(https: &Https) -> HostHttps {
    let strict = |time: Duration| {
        FieldList::of(&[("Strict-Transport-Security", &*format!("max-age={}", time.as_secs()))])
    };
    let fields = https.strict_for.map_or_else(FieldList::new, strict);
    HostHttps { redirect: https.redirect, fields }
}

fn list(headers: &[Header]) -> FieldList {
    let mut list = FieldList::new();
    for header in headers {
        list.add(&header.name, header.value.as_bytes()).expect("the file was checked");
    }
    list
}

/// The number of a rule or host, which the size of the file limits.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
