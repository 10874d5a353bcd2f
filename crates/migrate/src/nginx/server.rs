//! A server of nginx as a host of ours.
//!
//! Owns its names, listeners and the order of its routes, and how servers that only lead to encrypted connections join
//! the others. `location` reads what is in it.

use super::answers;
use super::automatic::{is_automatic, is_guard};
use super::location::{self, Rank, Ranked};
use super::settings::{Known, Own};
use super::tree::Directive;
use super::upstream::Upstreams;
use super::variables::is_plain;
use crate::draft::{Action, Host, Matcher, Route, Section};
use crate::word::{quoted, table};

/// A server that was read.
#[derive(Debug, Default)]
pub(super) struct Server {
    pub(super) host: Host,
    pub(super) is_default: bool,
    listens: Vec<Listen>,
    certificate: Option<String>,
    key: Option<String>,
    /// Whether all that it does is lead to encrypted connections.
    only_secures: bool,
    place: String,
}

/// An address, and what is said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Listen {
    address: String,
    is_encrypted: bool,
    proxy_protocol: bool,
}

impl Server {
    pub(super) fn read(directive: &Directive, outer: &Known, upstreams: &mut Upstreams) -> Self {
        let mut server = Self { place: directive.place.clone(), ..Self::default() };
        let mut known = Known { notes: Vec::new(), ..outer.clone() };
        let mut own = Own::default();
        let mut ranked: Vec<Ranked> = Vec::new();
        let mut first: Vec<Route> = Vec::new();
        for inner in directive.inner().iter().filter(|inner| inner.name != "location") {
            if !known.take_own(inner, &mut own) {
                server.take(inner, &mut first);
            }
        }
        let name = server.host.names.first().cloned();
        for inner in directive.inner().iter().filter(|inner| inner.name == "location") {
            let (routes, notes) = location::read(inner, &known, name.as_deref(), upstreams);
            ranked.extend(routes);
            server.host.notes.extend(notes);
        }
        server.host.notes.append(&mut known.notes);
        server.only_secures = is_only_securing(&first, &ranked);
        server.host.routes = first;
        server.host.routes.extend(ordered(ranked));
        server.own(&known);
        server
    }

    /// A directive that is neither inherited nor a location.
    fn take(&mut self, directive: &Directive, first: &mut Vec<Route>) {
        let value = directive.argument(0);
        match &*directive.name {
            "listen" => self.listen(directive),
            "server_name" => self.names(directive),
            "ssl_certificate" => self.certificate = Some(value.to_owned()),
            "ssl_certificate_key" => self.key = Some(value.to_owned()),
            "ssl" => self.listens.iter_mut().for_each(|listen| listen.is_encrypted = value == "on"),
            "return" => match answers::answer(directive, None, 0) {
                Some(action) => first.push(Route::new(Matcher::all(), action)),
                None => self.close(directive, first),
            },
            name if is_guard(name) => self.close(directive, first),
            "rewrite" => match answers::rewrite(directive, None) {
                Some(routes) => first.extend(routes),
                None if directive.argument(0) == "^" || directive.argument(0) == "^(.*)$" => {
                    self.rewrite_all(directive, first);
                }
                None => self.host.notes.push(directive.told("no counterpart")),
            },
            "if" => self.condition(directive),
            "client_max_body_size"
            | "client_header_timeout"
            | "client_body_timeout"
            | "send_timeout"
            | "keepalive_timeout"
            | "keepalive_requests" => {}
            name if is_automatic(name) => {}
            _ => self.host.notes.push(directive.told("no counterpart")),
        }
    }

    /// The whole server is answered or guarded in a way without counterpart: nothing of it may become open.
    fn close(&mut self, directive: &Directive, first: &mut Vec<Route>) {
        let mut route = Route::new(Matcher::all(), Action::refuse(501));
        route.notes.push(directive.told("no counterpart"));
        first.insert(0, route);
    }

    /// `rewrite ^ https://$host$request_uri? permanent`.
    fn rewrite_all(&mut self, directive: &Directive, first: &mut Vec<Route>) {
        let to = directive.argument(1).trim_end_matches('?');
        let status = if directive.argument(2) == "permanent" { "301" } else { "302" };
        let arguments = vec![status.to_owned(), to.replace("$1", "$request_uri")];
        let directive = Directive { arguments, ..directive.clone() };
        match answers::answer(&directive, None, 0) {
            Some(action) => first.push(Route::new(Matcher::all(), action)),
            None => self.host.notes.push(directive.told("no counterpart")),
        }
    }

    fn listen(&mut self, directive: &Directive) {
        let value = directive.argument(0);
        let has = |word: &str| directive.arguments.iter().any(|argument| argument == word);
        self.is_default |= has("default_server");
        let address = match value {
            unix if unix.starts_with("unix:") => unix.to_owned(),
            port if port.bytes().all(|byte| byte.is_ascii_digit()) => format!("0.0.0.0:{port}"),
            any if any.starts_with("*:") => any.replacen('*', "0.0.0.0", 1),
            address if address.ends_with(']') || !address.contains(':') => format!("{address}:80"),
            address => address.to_owned(),
        };
        self.listens.push(Listen {
            address,
            is_encrypted: has("ssl"),
            proxy_protocol: has("proxy_protocol"),
        });
    }

    fn names(&mut self, directive: &Directive) {
        for name in &directive.arguments {
            match name.as_str() {
                "_" | "" => self.is_default = true,
                name if name.starts_with('~') || name.ends_with('*') => {
                    self.host.notes.push(directive.told("names by expression have no counterpart"));
                }
                // `.example.org` is the name and all below it.
                name if name.starts_with('.') => {
                    self.host.names.push(name.trim_start_matches('.').to_owned());
                    self.host.names.push(format!("*{name}"));
                }
                name => self.host.names.push(name.to_owned()),
            }
        }
    }

    /// What certbot writes: `if ($host = NAME) { return 301 https://$host$request_uri; }`.
    fn condition(&mut self, directive: &Directive) {
        let words = directive.arguments.join(" ");
        let is_scheme = words.contains("$scheme") || words.contains("$https");
        let is_host = words.contains("$host");
        let [inner] = directive.inner() else {
            self.host.notes.push(directive.told("no counterpart"));
            return;
        };
        let action = answers::answer(inner, None, 0).filter(|_| inner.name == "return");
        if (is_scheme || is_host) && action.as_ref().is_some_and(secures) {
            self.host.set("redirect_to_https", "true");
        } else {
            self.host.notes.push(directive.told("no counterpart"));
        }
    }

    /// The directives of the whole server about files, fields, pages and access.
    fn own(&mut self, known: &Known) {
        if let Some(root) = &known.root {
            self.host.set("root", quoted(root));
        }
        if let Some(access) = known.access_rules() {
            self.host.set("access", access);
        }
        for (name, value) in &known.headers {
            if name.eq_ignore_ascii_case("strict-transport-security")
                && let Some(age) =
                    value.split(';').find_map(|part| part.trim().strip_prefix("max-age="))
            {
                self.host.set("hsts", format!("\"{age}s\""));
                continue;
            }
            self.host.headers.push((name.clone(), value.clone()));
        }
        self.host.error_pages.clone_from(&known.error_pages);
        let settings = known.files();
        if known.root.is_none()
            && !self.host.routes.iter().any(|route| route.matcher == Matcher::all())
        {
            // Without a root it would serve that of another host.
            self.host.routes.push(Route::new(Matcher::all(), Action::refuse(404)));
        }
        let takes_all = |route: &Route| route.matcher == Matcher::all();
        let has_more = !settings.is_empty() || known.cache_control.is_some();
        if has_more && !self.host.routes.iter().any(takes_all) {
            let mut route = Route::new(Matcher::all(), Action::Files(settings));
            let cache = known.cache_control.iter();
            route.keys.extend(cache.map(|value| ("cache_control".to_owned(), quoted(value))));
            self.host.routes.push(route);
        }
    }
}

/// The order in which our first route is nginx's choice.
fn ordered(mut ranked: Vec<Ranked>) -> impl Iterator<Item = Route> {
    let length = |route: &Route| match &route.matcher {
        Matcher::Path(text) | Matcher::Prefix(text) | Matcher::Glob(text) => text.len(),
    };
    // Stable: expressions keep their order, and what comes before a proxy stays before it.
    ranked.sort_by_key(|one| match one.rank {
        Rank::Expression => (one.rank, 0),
        rank => (rank, usize::MAX - length(&one.route)),
    });
    ranked.into_iter().map(|one| one.route)
}

/// Whether an action leads to the same address over an encrypted connection.
fn secures(action: &Action) -> bool {
    let Action::Redirect { to, .. } = action else { return false };
    let keeps_path = to.starts_with("https://") && to.ends_with("$path$query");
    keeps_path || to.starts_with("https://$host")
}

fn is_only_securing(first: &[Route], ranked: &[Ranked]) -> bool {
    let mut routes = first.iter().chain(ranked.iter().map(|one| &one.route));
    let Some(one) = routes.next() else { return false };
    routes.next().is_none()
        && one.matcher == Matcher::all()
        && matches!(&one.action, Action::Redirect { to, .. } if to == "https://$host$path$query")
}

/// Joins servers: those that only lead to encrypted connections become a setting of the others, and a name that two
/// servers have stays with the first.
pub(super) fn join(servers: &mut Vec<Server>, top: &mut Section) {
    let has_others = servers.iter().any(|server| !server.only_secures);
    let (securing, mut others): (Vec<Server>, Vec<Server>) =
        std::mem::take(servers).into_iter().partition(|server| server.only_secures && has_others);
    for server in securing {
        let is_for_all = server.host.names.is_empty() || server.is_default;
        let shares = |other: &&mut Server| {
            is_for_all || other.host.names.iter().any(|name| server.host.names.contains(name))
        };
        let mut count = 0;
        for other in others.iter_mut().filter(shares) {
            other.host.set("redirect_to_https", "true");
            count += 1;
        }
        if count == 0 {
            others.push(server);
            continue;
        }
        if let Some(first) = others.first_mut() {
            first.listens.extend(server.listens);
        }
    }
    let mut names: Vec<String> = Vec::new();
    for server in &mut others {
        let place = &server.place;
        server.host.names.retain(|name| {
            let is_new = !names.contains(name);
            if is_new {
                names.push(name.clone());
            } else {
                top.note(format!(
                    "{place}: `{name}` is the name of an earlier server, which answers"
                ));
            }
            is_new
        });
    }
    *servers = others;
    if !servers.iter().any(|server| server.is_default)
        && let Some(first) = servers.first_mut()
    {
        first.is_default = true;
    }
    let default = servers.iter().position(|server| server.is_default);
    let mut number = 0;
    servers.retain(|server| {
        number += 1;
        let stays = Some(number - 1) == default || !server.host.names.is_empty();
        if !stays {
            top.note(format!("{}: left out: this server has no name of its own", server.place));
        }
        stays
    });
}

/// The listeners of all servers, each address once.
pub(super) fn listeners(servers: &[Server]) -> Vec<Section> {
    let mut sections: Vec<(Listen, Section, Vec<String>)> = Vec::new();
    for server in servers {
        for listen in &server.listens {
            let known = sections.iter_mut().find(|(known, ..)| known.address == listen.address);
            let entry = match known {
                Some(entry) => entry,
                None => {
                    let mut section = Section::new("[[listener]]");
                    section.set("address", quoted(&listen.address));
                    sections.push((listen.clone(), section, Vec::new()));
                    let Some(entry) = sections.last_mut() else { continue };
                    entry
                }
            };
            if listen.proxy_protocol {
                entry.1.note(format!(
                    "{}: `proxy_protocol`: write the networks of your proxies into proxy_protocol_from",
                    server.place
                ));
            }
            let pair = server.certificate.as_ref().zip(server.key.as_ref());
            if let Some((certificate, key)) =
                pair.filter(|(one, _)| listen.is_encrypted && is_plain(one))
            {
                let files = [("certificate", quoted(certificate)), ("key", quoted(key))];
                let files = table(files);
                if !entry.2.contains(&files) {
                    entry.2.push(files);
                }
            } else if listen.is_encrypted {
                entry.1.note(format!("{}: name the certificate in `tls`", server.place));
            }
        }
    }
    let finish = |(_, mut section, files): (Listen, Section, Vec<String>)| {
        match files.as_slice() {
            [] => {}
            [one] => section.set("tls", one),
            several => section.set("tls", format!("[{}]", several.join(", "))),
        }
        section
    };
    sections.into_iter().map(finish).collect()
}
