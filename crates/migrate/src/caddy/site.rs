//! One site of a Caddyfile: its addresses, its certificate, and its routes.
//!
//! Owns the directives that concern a site as a whole. `block` makes routes of the others.

use super::address::{Address, Defaults};
use super::block::{Block, End};
use super::matcher::Matchers;
use super::placeholders::is_plain;
use super::scope::Scope;
use super::users::UserFiles;
use crate::directive::Directive;
use crate::hosts;
use crate::matcher::Matcher;
use crate::route::{Action, Route};
use crate::upstreams::Upstreams;
use crate::word::{is_in, quoted, table};

/// A site that was read, or what Caddy adds to those that are written.
#[derive(Debug, Default)]
pub(super) struct Site {
    names: Vec<String>,
    addresses: Vec<String>,
    encrypted: Vec<String>,
    /// For all names, or for each of them.
    routes: Vec<(Option<String>, Vec<Route>)>,
    certificate: Certificate,
    client_ca: Option<String>,
    place: String,
}

/// Where the certificate of a site is from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Certificate {
    /// Caddy orders it.
    #[default]
    Ordered,
    /// Two files, as printed.
    Files(String),
    /// Caddy issues it itself.
    Own,
}

/// The global options, which concern all sites.
pub(super) struct Common<'c> {
    upstreams: &'c mut Upstreams,
    users: &'c mut UserFiles,
    defaults: &'c Defaults,
    /// Why all sites are closed.
    closing: Option<&'c str>,
}

impl<'c> Common<'c> {
    pub(super) fn new(
        upstreams: &'c mut Upstreams,
        users: &'c mut UserFiles,
        defaults: &'c Defaults,
        closing: Option<&'c str>,
    ) -> Self {
        Self { upstreams, users, defaults, closing }
    }
}

/// Options of `tls` that say how certificates are ordered, and what connections are encrypted with.
const SPARE: &str = "
    protocols ciphers curves alpn key_type dns propagation_timeout resolvers issuer ca ca_root
    on_demand eab
";

impl Site {
    /// Reads a site.
    pub(super) fn read(line: &Directive, common: &mut Common<'_>) -> Self {
        let mut site = Self { place: line.told("this site"), ..Self::default() };
        let mut closing = common.closing.map(str::to_owned);
        let (mut others, mut notes) = (Vec::new(), Vec::new());
        let mut binds = Vec::new();
        for inner in line.inner() {
            match inner.name() {
                "tls" => closing = closing.or(site.tls(inner).err()),
                "bind" => binds.extend_from_slice(inner.arguments()),
                "log" => {}
                "handle_errors" => {
                    let is_look = |one: &Directive| {
                        matches!(
                            one.name(),
                            "respond" | "rewrite" | "file_server" | "root" | "header" | "templates"
                        ) || one.name().starts_with('@')
                    };
                    let why = inner.told("no counterpart: write `error_pages`");
                    if inner.inner().iter().all(is_look) {
                        notes.push(why);
                    } else {
                        closing = closing.or(Some(why));
                    }
                }
                _ => others.push(inner.clone()),
            }
        }
        note_logs(&others, &mut notes);
        let words =
            line.words().iter().flat_map(|word| word.split(',')).filter(|word| !word.is_empty());
        for word in words {
            match Address::of(word, common.defaults) {
                Some(address) => site.address(&address, &binds, common.defaults),
                None => {
                    closing =
                        closing.or_else(|| Some(line.told("such an address has no counterpart")))
                }
            }
        }
        let mut hosts = vec![None];
        if asks_for_host(&others) {
            hosts.extend(site.names.iter().cloned().map(Some));
            hosts.push(Some(String::new()));
        }
        for host in hosts {
            let mut routes = site.block(&others, closing.clone(), host.as_deref(), common);
            if let Some(first) = routes.first_mut() {
                *first = first.clone().with_notes(&notes);
            }
            site.routes.push((host, routes));
        }
        site
    }

    fn block(
        &self,
        lines: &[Directive],
        closing: Option<String>,
        host: Option<&str>,
        common: &mut Common<'_>,
    ) -> Vec<Route> {
        if let Some(why) = closing {
            return vec![Route::closed(Matcher::all(), &why)];
        }
        let mut matchers = Matchers::new(common.defaults.has_proxies(), host);
        let mut block = Block::new(&mut matchers, common.upstreams, common.users);
        let mut scope = Scope::all();
        if block.read(lines, &mut scope) == End::GoesOn {
            block.rest(&scope);
        }
        let routes = block.finish();
        match self.client_ca {
            Some(_) => routes.into_iter().map(Route::with_certificate).collect(),
            None => routes,
        }
    }

    fn address(&mut self, address: &Address, binds: &[String], defaults: &Defaults) {
        if !address.name().is_empty() && !self.names.contains(&address.name().to_owned()) {
            self.names.push(address.name().to_owned());
        }
        if address.is_own() && self.certificate == Certificate::Ordered {
            self.certificate = Certificate::Own;
        }
        for listen in defaults.listens(binds, address.port()) {
            if address.is_encrypted() && !self.encrypted.contains(&listen) {
                self.encrypted.push(listen.clone());
            }
            if !self.addresses.contains(&listen) {
                self.addresses.push(listen);
            }
        }
    }

    /// `tls CERTIFICATE KEY`, `tls { client_auth { ... } }`.
    fn tls(&mut self, line: &Directive) -> Result<(), String> {
        match line.arguments() {
            [] => {}
            [one] if one == "internal" => self.certificate = Certificate::Own,
            [email] if email.contains('@') => {}
            [certificate, key] if is_plain(certificate) && is_plain(key) => {
                let files = [("certificate", quoted(certificate)), ("key", quoted(key))];
                self.certificate = Certificate::Files(table(files));
            }
            _ => return Err(line.unknown()),
        }
        for inner in line.inner() {
            match inner.name() {
                name if is_in(SPARE, name) => {}
                "client_auth" => self.client_auth(inner)?,
                _ => return Err(inner.unknown()),
            }
        }
        Ok(())
    }

    fn client_auth(&mut self, line: &Directive) -> Result<(), String> {
        let mut mode = "require_and_verify";
        for inner in line.inner() {
            match (inner.name(), inner.arguments()) {
                ("mode", [word]) => mode = word,
                ("trusted_ca_cert_file", [file]) if is_plain(file) && self.client_ca.is_none() => {
                    self.client_ca = Some(file.clone());
                }
                _ => return Err(inner.unknown()),
            }
        }
        if mode != "require_and_verify" || self.client_ca.is_none() {
            return Err(line.unknown());
        }
        Ok(())
    }

    /// The site that Caddy adds at the port of plain connections: a redirect to the encrypted ones.
    pub(super) fn redirect(&self, defaults: &Defaults) -> Option<Self> {
        let first =
            self.encrypted.first().filter(|_| defaults.redirects() && !self.names.is_empty())?;
        let port = first.rsplit(':').next().filter(|port| *port != "443");
        let port = port.map_or_else(String::new, |port| format!(":{port}"));
        let to = format!("https://$host{port}$path$query");
        let addresses: Vec<String> = self
            .encrypted
            .iter()
            .filter_map(|address| {
                Some(format!("{}:{}", address.rsplit_once(':')?.0, defaults.http_port()))
            })
            .collect();
        let note = "Caddy leads from plain connections to encrypted ones.";
        let routes = vec![(
            None,
            vec![Route::new(Matcher::all(), Action::Redirect { to, status: 308 }).with_note(note)],
        )];
        Some(Self {
            names: self.names.clone(),
            addresses,
            routes,
            place: self.place.clone(),
            ..Self::default()
        })
    }

    /// The answer of Caddy to host names without a site.
    pub(super) fn nothing(addresses: Vec<String>) -> Self {
        let note = "Caddy answers other names with nothing.";
        let routes =
            vec![(None, vec![Route::new(Matcher::all(), Action::status(200)).with_note(note)])];
        Self { addresses, routes, place: "all other names".to_owned(), ..Self::default() }
    }

    /// Whether a connection to this address is encrypted.
    pub(super) fn is_encrypted_at(&self, address: &str) -> bool {
        self.encrypted.iter().any(|known| known == address)
    }

    pub(super) fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    pub(super) fn client_ca(&self) -> Option<&str> {
        self.client_ca.as_deref()
    }

    /// Closes it.
    pub(super) fn close(&mut self, why: &str) {
        self.routes = vec![(None, vec![Route::closed(Matcher::all(), why)])];
    }
}

impl hosts::Site for Site {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn addresses(&self) -> Vec<&str> {
        self.addresses.iter().map(String::as_str).collect()
    }

    fn is_default(&self, _: &str) -> bool {
        self.names.is_empty()
    }

    fn asked_hosts(&self) -> Vec<String> {
        let hosts = self.routes.iter().filter_map(|(host, _)| host.clone());
        hosts.filter(|host| !host.is_empty()).collect()
    }

    fn has_other_names(&self) -> bool {
        false
    }

    fn place(&self) -> &str {
        &self.place
    }

    fn error_pages(&self) -> (Option<&str>, &[(u16, String)]) {
        (None, &[])
    }

    fn routes(&self, host: Option<&str>) -> Vec<Route> {
        let is_own =
            |(known, _): &&(Option<String>, _)| known.is_some() && known.as_deref() == host;
        let own = self.routes.iter().find(is_own).or(self.routes.first());
        own.map(|(_, routes)| routes.clone()).unwrap_or_default()
    }
}

/// Tells which settings of the access log for some requests are lost.
fn note_logs(lines: &[Directive], notes: &mut Vec<String>) {
    for line in lines {
        match line.name() {
            "log_skip" | "skip_log" => {
                notes.push(line.told("no counterpart: write `log = false` into its routes"));
            }
            "log_append" => notes.push(line.told("no counterpart: write `format` or `fields`")),
            _ => note_logs(line.inner(), notes),
        }
    }
}

/// Whether a matcher asks for the name of the host.
fn asks_for_host(lines: &[Directive]) -> bool {
    lines.iter().any(|line| {
        let has_part =
            line.argument(0) == "host" || line.inner().iter().any(|one| one.name() == "host");
        line.name().starts_with('@') && has_part || asks_for_host(line.inner())
    })
}
