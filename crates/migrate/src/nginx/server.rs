//! A server of nginx: its names, addresses and certificate.
//!
//! Owns what is said of a server as a whole. `location` reads what it does, `hosts` joins servers.

use super::location::Location;
use super::order;
use super::place::Kind;
use super::settings::Settings;
use super::upstream::Upstreams;
use super::variables::{Context, Ports, is_plain};
use crate::directive::Directive;
use crate::hosts::Site;
use crate::route::Route;
use crate::word::{quoted, table};

/// A server that was read.
#[derive(Debug)]
pub(super) struct Server {
    names: Vec<String>,
    /// Whether it has names that we cannot tell from others.
    has_other_names: bool,
    listens: Vec<Listen>,
    certificate: Option<String>,
    key: Option<String>,
    client_ca: Option<String>,
    verify: Verify,
    /// Whether all of its addresses are encrypted.
    is_encrypted: bool,
    whole: Location,
    place: String,
}

/// An address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listen {
    address: String,
    is_default: bool,
    is_encrypted: bool,
    has_proxy_protocol: bool,
}

impl Listen {
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    pub(super) fn is_default(&self) -> bool {
        self.is_default
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    pub(super) fn has_proxy_protocol(&self) -> bool {
        self.has_proxy_protocol
    }
}

/// Whether clients show certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verify {
    No,
    Asked,
    Needed,
}

impl Server {
    pub(super) fn read(directive: &Directive, outer: &Settings, upstreams: &mut Upstreams) -> Self {
        let mut server = Self {
            names: Vec::new(),
            has_other_names: false,
            listens: Vec::new(),
            certificate: None,
            key: None,
            client_ca: None,
            verify: Verify::No,
            is_encrypted: false,
            whole: Location::new(Kind::Whole, "/".to_owned(), directive, outer.inner()),
            place: directive.told("this server"),
        };
        let mut others = Vec::new();
        for inner in directive.inner() {
            if !server.take(inner) {
                others.push(inner.clone());
            }
        }
        if server.listens.is_empty() {
            server
                .listen(&directive.clone().with_words(vec!["listen".to_owned(), "80".to_owned()]));
        }
        if server.is_encrypted {
            server.listens.iter_mut().for_each(|listen| listen.is_encrypted = true);
        }
        if server.verify == Verify::Needed {
            server.whole.settings_mut().demand_certificate();
            if server.client_ca.is_none() {
                server
                    .whole
                    .settings_mut()
                    .close(directive, "`ssl_verify_client` without `ssl_client_certificate`");
            }
        }
        server.whole.directives(&others, upstreams);
        server
    }

    /// A directive about the server as a whole; `false` if it is none.
    fn take(&mut self, directive: &Directive) -> bool {
        let value = directive.argument(0);
        match directive.name() {
            "listen" => self.listen(directive),
            "server_name" => {
                directive.arguments().iter().for_each(|name| self.name(name, directive))
            }
            "ssl_certificate" => self.certificate = Some(value.to_owned()),
            "ssl_certificate_key" => self.key = Some(value.to_owned()),
            "ssl_client_certificate" => self.client_ca = Some(value.to_owned()),
            "ssl_verify_client" => match value {
                "on" => self.verify = Verify::Needed,
                "optional" => self.verify = Verify::Asked,
                "off" => self.verify = Verify::No,
                _ => self.whole.settings_mut().close(directive, "no counterpart"),
            },
            "ssl" => self.is_encrypted = value == "on",
            _ => return false,
        }
        true
    }

    fn listen(&mut self, directive: &Directive) {
        let value = directive.argument(0);
        let has = |word: &str| directive.arguments().iter().any(|argument| argument == word);
        if has("quic") {
            return;
        }
        let address = match value {
            unix if unix.starts_with("unix:") => unix.to_owned(),
            port if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
                format!("0.0.0.0:{port}")
            }
            any if any.starts_with("*:") => any.replacen('*', "0.0.0.0", 1),
            address if address.ends_with(']') || !address.contains(':') => format!("{address}:80"),
            address => address.to_owned(),
        };
        let address = address.replacen("localhost:", "127.0.0.1:", 1);
        if address.starts_with("[::]:") && has("ipv6only=off") {
            self.listens.push(Listen {
                address: address.replacen("[::]", "0.0.0.0", 1),
                ..self.how(directive)
            });
        }
        self.listens.push(Listen { address, ..self.how(directive) });
    }

    fn how(&self, directive: &Directive) -> Listen {
        let has = |word: &str| directive.arguments().iter().any(|argument| argument == word);
        Listen {
            address: String::new(),
            is_default: has("default_server") || has("default"),
            is_encrypted: has("ssl"),
            has_proxy_protocol: has("proxy_protocol"),
        }
    }

    fn name(&mut self, name: &str, directive: &Directive) {
        let lower = name.to_ascii_lowercase();
        let plain = lower.strip_prefix("*.").or_else(|| lower.strip_prefix('.')).unwrap_or(&lower);
        let is_label = |label: &str| {
            !label.is_empty()
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        };
        match lower.as_str() {
            "_" | "" => {}
            _ if !plain.split('.').all(is_label) => {
                self.has_other_names = true;
                let why = format!(
                    "names such as `{name}` have no counterpart: names without a server are closed"
                );
                self.whole.settings_mut().note(directive.told(&why));
            }
            // `.example.org` is the name and all below it.
            name if name.starts_with('.') => {
                self.names.push(plain.to_owned());
                self.names.push(format!("*{name}"));
            }
            name => self.names.push(name.to_owned()),
        }
    }

    pub(super) fn listens(&self) -> &[Listen] {
        &self.listens
    }

    pub(super) fn verify(&self) -> Verify {
        self.verify
    }

    pub(super) fn client_ca(&self) -> Option<&str> {
        self.client_ca.as_deref().filter(|_| self.verify != Verify::No)
    }

    /// Its own directives, and the locations in it.
    pub(super) fn whole(&self) -> &Location {
        &self.whole
    }

    /// All servers were read.
    pub(super) fn share_caches(&mut self, upstreams: &Upstreams) {
        self.whole.share_caches(upstreams);
    }

    /// Closes it.
    pub(super) fn close(&mut self, why: String) {
        self.whole.settings_mut().close_for(why);
    }

    /// The files of its certificate, as printed.
    pub(super) fn files(&self) -> Option<String> {
        let (certificate, key) = self.certificate.as_ref().zip(self.key.as_ref())?;
        (is_plain(certificate) && is_plain(key))
            .then(|| table([("certificate", quoted(certificate)), ("key", quoted(key))]))
    }
}

impl Site for Server {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn addresses(&self) -> Vec<&str> {
        self.listens.iter().map(Listen::address).collect()
    }

    fn is_default(&self, address: &str) -> bool {
        self.listens.iter().any(|listen| listen.address == address && listen.is_default)
    }

    fn has_other_names(&self) -> bool {
        self.has_other_names
    }

    fn place(&self) -> &str {
        &self.place
    }

    fn error_pages(&self) -> (Option<&str>, &[(u16, String)]) {
        (self.whole.settings().root(), self.whole.settings().error_pages())
    }

    fn asked_hosts(&self) -> Vec<String> {
        let conditions =
            self.whole.steps().iter().chain(self.whole.nested().iter().flat_map(Location::steps));
        let words =
            conditions.filter(|step| step.name() == "if").map(|step| step.arguments().join(" "));
        let names = words.filter_map(|words| {
            let name =
                words.strip_prefix("($host ")?.split(' ').nth(1)?.trim_end_matches(')').to_owned();
            Some(name)
        });
        names.collect()
    }

    fn routes(&self, host: Option<&str>) -> Vec<Route> {
        let kinds: Vec<bool> = self.listens.iter().map(Listen::is_encrypted).collect();
        let scheme = match (kinds.contains(&true), kinds.contains(&false)) {
            (true, false) => Some("https"),
            (false, true) => Some("http"),
            _ => None,
        };
        let is_usual = |listen: &Listen| {
            listen.address.ends_with(if listen.is_encrypted { ":443" } else { ":80" })
        };
        let ports = if self.listens.iter().all(is_usual) { Ports::Usual } else { Ports::Others };
        let name = self.names.first().filter(|name| !name.starts_with('*'));
        let context = Context::new(name.map(String::as_str), scheme, ports).for_host(host);
        order::routes(&self.whole, &context)
    }
}
