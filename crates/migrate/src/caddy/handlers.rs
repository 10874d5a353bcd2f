//! The directives of a Caddyfile that answer requests, as routes of ours.
//!
//! Owns the routes of a block, and of those in it. What guards a block in a way without counterpart closes its routes
//! with 501.

use super::answers::{address, answer, balance};
use super::matcher::{Chosen, Matchers, within};
use super::order::sorted;
use super::placeholders::{is_plain, target};
use super::tree::Directive;
use crate::draft::{Action, Matcher, Route, Section};
use crate::word::{list, quoted, table};

/// The directives that apply to a whole block.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    pub(super) root: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    /// Rules of access, as printed.
    pub(super) access: Option<String>,
    tries: Vec<String>,
    cached: Vec<(Chosen, String)>,
    /// Whether the block has a root that the blocks around it do not have.
    own_root: bool,
    /// Whether the prefix is removed: `handle_path`.
    strips: bool,
    is_guarded: bool,
}

/// A block that is being read.
pub(super) struct Block<'b> {
    matchers: &'b mut Matchers,
    upstreams: &'b mut Vec<Section>,
    routes: Vec<Route>,
    notes: Vec<String>,
}

impl<'b> Block<'b> {
    pub(super) fn new(matchers: &'b mut Matchers, upstreams: &'b mut Vec<Section>) -> Self {
        Self { matchers, upstreams, routes: Vec::new(), notes: Vec::new() }
    }

    /// The routes, and comments on the whole.
    pub(super) fn finish(self) -> (Vec<Route>, Vec<String>) {
        (self.routes, self.notes)
    }

    /// Reads the directives of a block that is for these requests.
    pub(super) fn read(&mut self, lines: &[Directive], outer: &Chosen, settings: &mut Settings) {
        let (definitions, others): (Vec<Directive>, Vec<Directive>) =
            lines.iter().cloned().partition(|line| line.name().starts_with('@'));
        definitions.iter().for_each(|line| self.matchers.define(line));
        for line in sorted(&others) {
            self.directive(line, outer, settings);
        }
    }

    fn directive(&mut self, line: &Directive, outer: &Chosen, settings: &mut Settings) {
        let (chosen, arguments) = self.matchers.of(line.arguments());
        let Some(chosen) = chosen.and_then(|inner| within(outer, inner)) else {
            return self.notes.push(line.told("its matcher has no counterpart"));
        };
        let is_whole = chosen.paths == outer.paths && chosen.keys == outer.keys;
        match (line.name(), arguments) {
            ("root", [path]) if is_whole && is_plain(path) => {
                settings.own_root = settings.root.as_ref() != Some(path) && !outer.is_all();
                settings.root = Some(path.clone());
            }
            ("header", _) => self.header(line, arguments, (&chosen, is_whole), settings),
            ("encode" | "templates" | "push", _) if line.name() == "encode" => {}
            ("try_files", paths) if is_whole => self.try_files(line, paths, settings),
            ("basic_auth" | "basicauth", _) => self.basic_auth(line, is_whole, settings),
            ("forward_auth", _) => {
                settings.is_guarded = true;
                self.notes.push(line.told("no counterpart: the routes of this block are closed"));
            }
            ("redir", _) => self.redir(line, arguments, &chosen, settings),
            ("rewrite", [to]) => self.rewrite(line, to, &chosen),
            ("uri", _) => self.uri(line, arguments),
            ("handle" | "handle_path" | "route", _) => {
                let mut inner = settings.clone();
                inner.strips = line.name() == "handle_path";
                inner.own_root = false;
                self.read(line.inner(), &chosen, &mut inner);
            }
            ("abort", _) => self.add(line, &chosen, settings, |_, _| Some(Action::Drop)),
            ("respond" | "error", _) => {
                let action = answer(line, arguments);
                self.add(line, &chosen, settings, |_, _| action.clone());
            }
            ("reverse_proxy", _) => self.proxy(line, arguments, &chosen, settings),
            ("file_server", _) => self.files(line, arguments, &chosen, settings),
            ("php_fastcgi", _) => {
                self.notes.push(line.told("no counterpart: run PHP behind a server of HTTP"));
                let php =
                    Chosen { paths: vec![Matcher::Glob("/**/*.php".to_owned())], keys: Vec::new() };
                self.add(line, &php, settings, |_, _| Some(Action::refuse(501)));
            }
            _ => self.notes.push(line.told("no counterpart")),
        }
    }

    /// Adds a route for each path. `None` of `action`: it has no counterpart, so the route is closed.
    fn add(
        &mut self,
        line: &Directive,
        chosen: &Chosen,
        settings: &Settings,
        action: impl Fn(&Matcher, &Settings) -> Option<Action>,
    ) {
        for path in &chosen.paths {
            let made = action(path, settings).filter(|_| !settings.is_guarded);
            let mut route =
                Route::new(path.clone(), made.clone().unwrap_or_else(|| Action::refuse(501)));
            if made.is_none() {
                route.notes.push(line.told("closed: no counterpart"));
            }
            route.keys.extend(chosen.keys.iter().cloned());
            route
                .keys
                .extend(settings.access.iter().map(|rules| ("access".to_owned(), rules.clone())));
            if !matches!(route.action, Action::Drop | Action::Rewrite { .. }) {
                route.headers.clone_from(&settings.headers);
            }
            self.routes.push(route);
        }
    }

    fn header(
        &mut self,
        line: &Directive,
        arguments: &[String],
        (chosen, is_whole): (&Chosen, bool),
        settings: &mut Settings,
    ) {
        let own = [arguments.to_vec()];
        let inner = line.inner().iter().map(|inner| inner.words.clone());
        let all: Vec<Vec<String>> = match arguments.is_empty() {
            true => inner.collect(),
            false => own.to_vec(),
        };
        for words in all {
            match words.as_slice() {
                // The server does not name itself.
                [name] if name.eq_ignore_ascii_case("-server") || name == "defer" => {}
                [name, value] if is_plain(value) && !name.starts_with(['-', '+', '>']) => {
                    let name = name.trim_start_matches('?');
                    if name.eq_ignore_ascii_case("cache-control") {
                        settings.cached.push((chosen.clone(), value.clone()));
                    } else if is_whole {
                        settings.headers.push((name.to_owned(), value.clone()));
                    } else {
                        self.notes.push(
                            line.told("fields for a part of the requests: write them into a route"),
                        );
                    }
                }
                _ => self.notes.push(line.told("no counterpart")),
            }
        }
    }

    fn try_files(&mut self, line: &Directive, paths: &[String], settings: &mut Settings) {
        for path in paths {
            match target(path).filter(|path| !path.contains('?')) {
                Some(path) if path.starts_with("$path") || path.starts_with('/') => {
                    settings.tries.push(path);
                }
                _ => self.notes.push(line.told("a part has no counterpart")),
            }
        }
    }

    fn basic_auth(&mut self, line: &Directive, is_whole: bool, settings: &mut Settings) {
        let users = line.inner().iter().filter_map(|inner| match inner.words.as_slice() {
            [name, hash] => Some(format!("{name}:{hash}")),
            _ => None,
        });
        let users: Vec<String> = users.collect();
        self.notes.push(line.told("write these lines into the file users.htpasswd"));
        self.notes.extend(users);
        settings.access = Some(format!("[{}]", table([("users", quoted("users.htpasswd"))])));
        if !is_whole {
            self.notes.push(line.told("here for the whole block"));
        }
    }

    fn redir(
        &mut self,
        line: &Directive,
        arguments: &[String],
        chosen: &Chosen,
        settings: &Settings,
    ) {
        let (to, code) = match arguments {
            [to] => (to, "302"),
            [to, code] => (to, code.as_str()),
            _ => return self.notes.push(line.told("no counterpart")),
        };
        let status = match code {
            "permanent" => Some(301),
            "temporary" => Some(302),
            code => code.parse().ok().filter(|code| matches!(code, 301 | 302 | 303 | 307 | 308)),
        };
        let redirect = target(to).zip(status).map(|(to, status)| Action::Redirect { to, status });
        self.add(line, chosen, settings, |_, _| redirect.clone());
    }

    fn rewrite(&mut self, line: &Directive, to: &str, chosen: &Chosen) {
        let Some(to) = target(to).filter(|to| !to.contains('?') && !to.contains("$query")) else {
            return self.notes.push(line.told("no counterpart"));
        };
        for path in &chosen.paths {
            let mut route = Route::new(path.clone(), Action::Rewrite { to: to.clone() });
            route.keys.extend(chosen.keys.iter().cloned());
            self.routes.push(route);
        }
    }

    /// `uri strip_prefix /api`.
    fn uri(&mut self, line: &Directive, arguments: &[String]) {
        match arguments {
            [kind, prefix] if kind == "strip_prefix" && prefix.starts_with('/') => {
                let prefix = prefix.trim_end_matches('/').to_owned();
                let action = Action::Rewrite { to: "/$1".to_owned() };
                self.routes.push(Route::new(Matcher::Prefix(prefix), action));
            }
            _ => self.notes.push(line.told("no counterpart")),
        }
    }

    fn files(
        &mut self,
        line: &Directive,
        arguments: &[String],
        chosen: &Chosen,
        settings: &Settings,
    ) {
        let mut own = Vec::new();
        if arguments.iter().any(|word| word == "browse") {
            own.push(("listing".to_owned(), "true".to_owned()));
        }
        let mut settings = settings.clone();
        for inner in line.inner() {
            match (inner.name(), inner.arguments()) {
                ("browse", _) => own.push(("listing".to_owned(), "true".to_owned())),
                ("index", names) => own.push(("index".to_owned(), list(names))),
                ("hide", names) => own.push(("hide".to_owned(), list(names))),
                ("root", [root]) if is_plain(root) => {
                    settings.root = Some(root.clone());
                    settings.own_root = true;
                }
                ("precompressed", _) => {}
                _ => self.notes.push(inner.told("no counterpart")),
            }
        }
        if !settings.tries.is_empty() {
            own.push(("try".to_owned(), list(&settings.tries)));
        }
        let action = |path: &Matcher, settings: &Settings| {
            let mut all = own.clone();
            if let Some(root) =
                settings.root.as_ref().filter(|_| settings.own_root || settings.strips)
            {
                // We remove the prefix below a root of a route; Caddy does in `handle_path` only.
                let root = match path {
                    Matcher::Prefix(prefix) if !settings.strips => {
                        format!("{}{prefix}", root.trim_end_matches('/'))
                    }
                    _ => root.clone(),
                };
                let root = root.trim_end_matches('/');
                all.insert(
                    0,
                    ("root".to_owned(), quoted(if root.is_empty() { "/" } else { root })),
                );
            }
            Some(Action::Files(all))
        };
        for (part, value) in &settings.cached {
            let part = within(chosen, part.clone());
            let Some(part) = part else { continue };
            let first = self.routes.len();
            self.add(line, &part, &settings, action);
            for route in self.routes.iter_mut().skip(first) {
                route.keys.push(("cache_control".to_owned(), quoted(value)));
            }
        }
        // Without settings the files of the host answer anyway.
        let is_plain_host =
            chosen.is_all() && own.is_empty() && settings.access.is_none() && !settings.is_guarded;
        if !is_plain_host {
            self.add(line, chosen, &settings, action);
        }
    }

    fn proxy(
        &mut self,
        line: &Directive,
        arguments: &[String],
        chosen: &Chosen,
        settings: &Settings,
    ) {
        let number = self.upstreams.len() + 1;
        let mut section = Section::new("[[upstream]]");
        let mut servers: Vec<String> = arguments.to_vec();
        let (mut sent, mut removed) = (Vec::new(), Vec::new());
        for inner in line.inner() {
            match (inner.name(), inner.arguments()) {
                ("to", more) => servers.extend(more.iter().cloned()),
                ("lb_policy", [policy]) => balance(inner, policy, &mut section),
                ("header_up", [name, value])
                    if is_plain(value) && !name.starts_with(['+', '-']) =>
                {
                    sent.push((name.clone(), quoted(value)));
                }
                // The client's address and host are passed on anyway.
                ("header_up", [name, _])
                    if name == "Host" || name.starts_with("X-Forwarded") || name == "X-Real-IP" => {
                }
                ("header_down", [name]) if name.starts_with('-') => {
                    removed.push(name.trim_start_matches('-').to_owned());
                }
                ("flush_interval", _) => {}
                _ => section.note(inner.told("no counterpart")),
            }
        }
        let is_encrypted = servers.iter().any(|server| server.starts_with("https://"));
        let addresses: Option<Vec<String>> = servers.iter().map(|server| address(server)).collect();
        let Some(addresses) = addresses.filter(|addresses| !addresses.is_empty()) else {
            return self.add(line, chosen, settings, |_, _| None);
        };
        let mut whole = Section::new("[[upstream]]");
        let name = format!("upstream-{number}");
        whole.set("name", quoted(&name));
        whole.set("servers", list(&addresses));
        whole.notes = section.notes;
        whole.lines.extend(section.lines);
        if is_encrypted {
            whole.set("tls", "true");
        }
        self.upstreams.push(whole);
        self.add(line, chosen, settings, |path, settings| {
            let mut own = Vec::new();
            if settings.strips && matches!(path, Matcher::Prefix(_)) {
                own.push(("strip_prefix".to_owned(), "true".to_owned()));
            }
            if !sent.is_empty() {
                let fields = table(sent.iter().map(|(name, value)| (&**name, value.clone())));
                own.push(("request_headers".to_owned(), fields));
            }
            if !removed.is_empty() {
                own.push(("remove_response_headers".to_owned(), list(&removed)));
            }
            Some(Action::Proxy { upstream: name.clone(), settings: own })
        });
    }
}
