//! Settings that inner blocks of nginx inherit from outer ones.
//!
//! Owns which these are, and that a list in a block replaces the one outside: that is how nginx inherits `add_header`,
//! `allow` and `proxy_set_header`. A directive that is not known closes the block, and those in it.

use super::caching::{Cached, Caching, Taken};
use super::fields::{RequestFields, lifetime};
use super::quotas::{InForce, Quota};
use super::repeats;
use super::spare::{self, Spare};
use super::variables::is_plain;
use crate::access::{Access, Said, Satisfy, Users};
use crate::directive::Directive;
use crate::route::Route;
use crate::word::{list, quoted, seconds, size};

/// The settings in force in a block.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    root: Option<String>,
    index: Option<Vec<String>>,
    listing: bool,
    is_unlogged: bool,
    headers: Vec<(String, String)>,
    expires: Option<String>,
    cache_control: Vec<String>,
    content_type: Option<String>,
    default_type: Option<String>,
    said: Vec<Said>,
    satisfy: Satisfy,
    users: Option<String>,
    realm: Option<String>,
    has_certificate: bool,
    fields: RequestFields,
    caching: Caching,
    hidden_headers: Vec<String>,
    /// Settings of the upstream, as printed.
    upstream: Vec<(&'static str, String)>,
    body_size: Option<String>,
    error_pages: Vec<(u16, String)>,
    quotas: InForce,
    /// Why the block is closed.
    closing: Option<String>,
    notes: Vec<String>,
    /// The lists that were begun in this block.
    begun: Vec<&'static str>,
}

/// The `idle_timeout` of an upstream that says nothing of it.
const IDLE_S: u64 = 60;

impl Settings {
    /// The settings of a block in this one, before its own.
    pub(super) fn inner(&self) -> Self {
        let caching = self.caching.inner();
        Self { notes: Vec::new(), begun: Vec::new(), caching, ..self.clone() }
    }

    /// Reads a directive. What has no counterpart closes the block.
    pub(super) fn take(&mut self, directive: &Directive) {
        let value = directive.argument(0);
        match directive.name() {
            "root" if value.starts_with('/') && is_plain(value) => {
                self.root = Some(value.to_owned())
            }
            "root" => self.close(
                directive,
                "only a root that begins with `/` and has no variables has a counterpart",
            ),
            "index" => self.index(directive),
            "autoindex" => self.listing = value == "on",
            "access_log" => self.log(directive, value),
            "add_header" => self.header(directive),
            "expires" => self.expires(directive),
            "default_type" => self.default_type = Some(value.to_owned()),
            "allow" | "deny" => {
                self.begin("allow", |settings| settings.said.clear());
                let from = value.to_owned();
                self.said.push(if directive.name() == "allow" {
                    Said::Allow(from)
                } else {
                    Said::Deny(from)
                });
            }
            "satisfy" if value == "all" => self.satisfy = Satisfy::All,
            "satisfy" if value == "any" => self.satisfy = Satisfy::Any,
            "auth_basic" if value == "off" => self.realm = None,
            "auth_basic" if is_plain(value) => self.realm = Some(value.to_owned()),
            "auth_basic_user_file" if is_plain(value) => self.users = Some(value.to_owned()),
            "proxy_set_header" => self.field(directive),
            "proxy_hide_header" => {
                self.begin("proxy_hide_header", |settings| settings.hidden_headers.clear());
                self.hidden_headers.push(value.to_owned());
            }
            "limit_req" | "limit_conn" => self.quota(directive),
            "error_page" => self.error_page(directive),
            "client_max_body_size" => match size(value) {
                _ if value == "0" => self.body_size = Some(quoted("1 TiB")),
                Some(size) => self.body_size = Some(size),
                None => self.close(directive, "no size"),
            },
            "proxy_connect_timeout" => self.time(directive, "connect_timeout"),
            "proxy_read_timeout" => self.read_timeout(directive),
            "proxy_ssl_trusted_certificate" => self.of_upstream("ca", value),
            "proxy_ssl_certificate" => self.of_upstream("certificate", value),
            "proxy_ssl_certificate_key" => self.of_upstream("key", value),
            "proxy_ssl_name" => self.of_upstream("server_name", value),
            "disable_symlinks" | "auth_request" | "merge_slashes" | "gunzip" | "proxy_redirect"
                if matches!(value, "off" | "on")
                    && (value == "off") != (directive.name() == "merge_slashes") => {}
            "proxy_http_version" => self.version(directive, value),
            "proxy_next_upstream" | "proxy_next_upstream_tries" => {
                self.notes.extend(repeats::take(directive, &mut self.upstream));
            }
            // `Connection` is set by the proxy itself, and a limit answers 429.
            "map" if value == "$http_upgrade" => {}
            "limit_req_status" | "limit_conn_status" if value == "429" => {}
            name => match (self.caching.take(directive), spare::of(name)) {
                (Taken::Told(note), _) => self.notes.push(note),
                (Taken::Read, _) | (Taken::Not, Some(Spare::Silent)) => {}
                (Taken::Not, Some(Spare::Told)) => self.notes.push(directive.unknown()),
                (Taken::Not, None) => self.close(directive, "no counterpart"),
            },
        }
    }

    /// Closes the block.
    pub(super) fn close(&mut self, directive: &Directive, why: &str) {
        self.close_for(directive.told(why));
    }

    /// Closes the block for this reason.
    pub(super) fn close_for(&mut self, why: String) {
        self.closing.get_or_insert(why);
    }

    pub(super) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// The comments about it.
    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Lets clients with a certificate in only.
    pub(super) fn demand_certificate(&mut self) {
        self.has_certificate = true;
    }

    /// Why the block is closed, if it is.
    pub(super) fn closing(&self) -> Option<&str> {
        let is_half = self.realm.is_some() && self.users.is_none();
        let half = is_half.then_some("`auth_basic` without `auth_basic_user_file`");
        self.closing.as_deref().or(half)
    }

    fn begin(&mut self, list: &'static str, clear: impl FnOnce(&mut Self)) {
        if !self.begun.contains(&list) {
            self.begun.push(list);
            clear(self);
        }
    }

    pub(super) fn set_caching(&mut self, caching: Caching) {
        self.caching = caching;
    }

    pub(super) fn set_quotas(&mut self, quotas: InForce) {
        self.quotas = quotas;
    }

    fn quota(&mut self, directive: &Directive) {
        let name = if directive.name() == "limit_req" { "limit_req" } else { "limit_conn" };
        self.begin(name, |settings| settings.quotas.clear(name));
        if let Err(why) = self.quotas.take(directive) {
            self.close(directive, why);
        }
    }

    /// The quotas in force.
    pub(super) fn quotas(&self) -> Vec<Quota> {
        self.quotas.all()
    }

    fn index(&mut self, directive: &Directive) {
        let names = directive.arguments();
        if names.iter().any(|name| name.contains(['/', '$'])) {
            self.close(directive, "only names of files have a counterpart");
        }
        self.index = Some(names.to_vec());
    }

    fn header(&mut self, directive: &Directive) {
        self.begin("add_header", |settings| {
            settings.headers.clear();
            settings.cache_control.clear();
            settings.content_type = None;
        });
        let (name, value) = (directive.argument(0), directive.argument(1));
        let lower = name.to_ascii_lowercase();
        match lower.as_str() {
            _ if value.is_empty() => {}
            // Without them a browser or a cache can do less.
            "alt-svc" | "server-timing" | "x-request-id" | "connection" | "keep-alive" | "date" => {
                self.notes.push(directive.unknown());
            }
            _ if value == "$upstream_cache_status" => {
                self.notes.push(directive.told("`Cache-Status` of an answer says it"));
            }
            name if !is_plain(value)
                && (name.contains("cache") || name.starts_with("access-control-")) =>
            {
                self.notes.push(directive.told("fields with variables have no counterpart"));
            }
            _ if !is_plain(value) => {
                self.close(directive, "fields with variables have no counterpart")
            }
            "cache-control" => self.cache_control.push(value.to_owned()),
            "content-type" => self.content_type = Some(value.to_owned()),
            "location" | "content-encoding" | "content-length" | "transfer-encoding"
            | "set-cookie2" => {
                self.close(directive, "this field cannot be added");
            }
            _ => self.headers.push((name.to_owned(), value.to_owned())),
        }
    }

    fn expires(&mut self, directive: &Directive) {
        match lifetime(directive) {
            Some(lifetime) => self.expires = lifetime,
            None => self.notes.push(directive.unknown()),
        }
    }

    fn field(&mut self, directive: &Directive) {
        self.begin("proxy_set_header", |settings| settings.fields.clear());
        match self.fields.take(directive) {
            Ok(note) => self.notes.extend(note),
            Err(why) => self.close(directive, why),
        }
    }

    fn error_page(&mut self, directive: &Directive) {
        let is_inner = !self.error_pages.is_empty() && !self.begun.contains(&"error_page");
        self.begin("error_page", |settings| settings.error_pages.clear());
        let Some((path, codes)) = directive.arguments().split_last() else { return };
        let statuses: Vec<u16> = codes.iter().filter_map(|code| code.parse().ok()).collect();
        if statuses.len() != codes.len() || !path.starts_with('/') || !is_plain(path) {
            return self.close(directive, "only a file for the same status has a counterpart");
        }
        if is_inner {
            self.notes.push(directive.told("error pages are those of the server"));
        }
        for status in statuses {
            self.error_pages.retain(|(known, _)| *known != status);
            self.error_pages.push((status, path.clone()));
        }
        self.error_pages.sort_by_key(|(status, _)| *status);
    }

    fn time(&mut self, directive: &Directive, key: &'static str) {
        match seconds(directive.argument(0)).filter(|seconds| *seconds > 0) {
            Some(seconds) => self.of_upstream(key, &format!("{seconds}s")),
            None => self.notes.push(directive.unknown()),
        }
    }

    fn log(&mut self, directive: &Directive, path: &str) {
        self.is_unlogged = path == "off";
        if !self.is_unlogged {
            self.notes.push(directive.told("there is one access log, that of `[log]`"));
        }
    }

    fn version(&mut self, directive: &Directive, version: &str) {
        self.upstream.retain(|(known, _)| *known != "http2");
        match version {
            "1.1" => {}
            "2" | "2.0" => self.upstream.push(("http2", "true".to_owned())),
            _ => self.notes.push(directive.told("servers get HTTP/1.1")),
        }
    }

    /// nginx counts it anew from one part of an answer to the next. Ours between parts is for uploads too, so it is not
    /// made shorter.
    fn read_timeout(&mut self, directive: &Directive) {
        self.time(directive, "first_byte_timeout");
        self.upstream.retain(|(known, _)| *known != "idle_timeout");
        if seconds(directive.argument(0)).is_some_and(|seconds| seconds > IDLE_S) {
            self.time(directive, "idle_timeout");
        }
    }

    fn of_upstream(&mut self, key: &'static str, value: &str) {
        self.upstream.retain(|(known, _)| *known != key);
        self.upstream.push((key, quoted(value)));
    }

    /// The settings of an upstream, as printed.
    pub(super) fn upstream(&self) -> &[(&'static str, String)] {
        &self.upstream
    }

    pub(super) fn root(&self) -> Option<&str> {
        self.root.as_deref()
    }

    pub(super) fn error_pages(&self) -> &[(u16, String)] {
        &self.error_pages
    }

    /// The names of the files of a directory.
    pub(super) fn index_names(&self) -> Vec<String> {
        self.index.clone().unwrap_or_else(|| vec!["index.html".to_owned()])
    }

    /// The media type of a text.
    pub(super) fn text_type(&self) -> Option<String> {
        self.content_type.clone().or_else(|| self.default_type.clone())
    }

    /// The settings of `files`, as printed.
    pub(super) fn files(&self) -> Vec<(String, String)> {
        let mut settings = Vec::new();
        if let Some(index) = self.index.as_ref().filter(|index| **index != ["index.html"]) {
            settings.push(("index".to_owned(), list(index)));
        }
        if self.listing {
            settings.push(("listing".to_owned(), "true".to_owned()));
        }
        settings
    }

    /// The clients that may send requests.
    pub(super) fn access(&self) -> Access {
        let users = self.users.as_ref().zip(self.realm.as_ref());
        let users = users.map(|(file, realm)| Users::new(file, realm));
        let access = Access::of(&self.said, users.as_ref(), self.satisfy);
        if self.has_certificate { access.with_certificate() } else { access }
    }

    /// Whether files of both are the same for the same clients.
    pub(super) fn serves_as(&self, other: &Self) -> bool {
        self.closing().is_none()
            && other.closing().is_none()
            && self.root == other.root
            && self.access() == other.access()
            && self.listing == other.listing
    }

    /// Whether answers have the same fields.
    pub(super) fn looks_as(&self, other: &Self) -> bool {
        let look =
            |one: &Self| (one.headers.clone(), one.expires.clone(), one.cache_control.clone());
        look(self) == look(other)
    }

    fn logged(&self, route: Route) -> Route {
        if self.is_unlogged { route.with_key("log", "false".to_owned()) } else { route }
    }

    /// A route that nginx answers before it looks who asks; a certificate is demanded before.
    pub(super) fn early(&self, route: Route) -> Route {
        let route = self.logged(route).with_headers(&self.headers).with_notes(&self.notes);
        if self.has_certificate { route.with_certificate() } else { route }
    }

    pub(super) fn dress(&self, route: Route) -> Route {
        let route = self.logged(route).with_headers(&self.headers).with_notes(&self.notes);
        let mut route = route.with_access(self.access());
        let cache: Vec<&str> =
            self.expires.iter().chain(&self.cache_control).map(String::as_str).collect();
        if !cache.is_empty() {
            route = route.with_key("cache_control", quoted(&cache.join(", ")));
        }
        if let Some(size) = &self.body_size {
            route = route.with_key("body_size", size.clone());
        }
        route
    }

    /// The settings of a proxy to this authority, as printed.
    pub(super) fn proxy(&self, authority: &str) -> Vec<(String, String)> {
        let mut settings = self.fields.printed(authority);
        if !self.hidden_headers.is_empty() {
            settings.push(("remove_response_headers".to_owned(), list(&self.hidden_headers)));
        }
        settings
    }

    /// The cache of a server that answers here. Why there is none is noted.
    pub(super) fn cached(&mut self) -> Option<Cached> {
        self.caching.cached(&self.hidden_headers).unwrap_or_else(|why| {
            self.notes.push(why);
            None
        })
    }
}
