//! A Caddyfile, read into a draft.
//!
//! Owns global options, the addresses of sites, and which site is the default host. `site` reads what is in a site.
//! Never prints.

mod answers;
mod handlers;
mod matcher;
mod order;
mod placeholders;
mod site;
mod tree;

use crate::draft::{self, Draft, Host, Section};
use crate::word::{quoted, seconds};
use crate::{Files, SyntaxError};

use self::site::Site;
use self::tree::{Directive, Importer};

/// Reads a Caddyfile.
pub(crate) fn read(text: &str, name: &str, files: &dyn Files) -> Result<Draft, SyntaxError> {
    let mut importer = Importer::new(files);
    let lines = tree::parse(text, name)?;
    let lines = importer.without_snippets(lines);
    let mut lines = importer.expand(lines, 0)?;
    let mut reader = Reader::default();
    importer.notes.iter().for_each(|note| reader.top.note(note));
    // A file of one site may leave its braces out.
    let has_sites = lines.iter().any(|line| line.block.is_some() && is_address(line.name()));
    if !has_sites && lines.first().is_some_and(|line| is_address(line.name())) {
        let mut head = lines.remove(0);
        head.block = Some(std::mem::take(&mut lines));
        lines = vec![head];
    }
    for line in &lines {
        match (line.words.is_empty(), &line.block) {
            (true, Some(options)) => options.iter().for_each(|option| reader.option(option)),
            (false, _) if is_address(line.name()) => reader.site(line),
            _ => reader.top.note(line.told("no counterpart")),
        }
    }
    Ok(reader.finish())
}

/// Whether a word can be the address of a site.
fn is_address(word: &str) -> bool {
    let word = word.trim_end_matches(',');
    word.contains(['.', ':']) || word == "localhost" || word.starts_with('*')
}

#[derive(Default)]
struct Reader {
    top: Section,
    limits: Section,
    log: Section,
    listeners: Vec<Section>,
    upstreams: Vec<Section>,
    hosts: Vec<Host>,
    default: Option<usize>,
}

impl Reader {
    /// A global option.
    fn option(&mut self, option: &Directive) {
        let value = option.arguments().first().map_or("", String::as_str);
        match (option.name(), value) {
            (
                "email" | "acme_ca" | "acme_dns" | "cert_issuer" | "auto_https" | "on_demand_tls",
                _,
            ) => {
                self.top
                    .note(option.told("certificates are files here: see `tls` of [[listener]]"));
            }
            ("admin", "off") => {}
            ("grace_period", time) if seconds(time).is_some() => {
                let time = seconds(time).unwrap_or_default();
                self.top.set("drain_deadline", format!("\"{time}s\""));
            }
            ("log", _) => site::log(option, &mut self.log),
            ("servers", _) => {
                for inner in option.inner() {
                    self.server_option(inner);
                }
            }
            _ => self.top.note(option.told("no counterpart")),
        }
    }

    fn server_option(&mut self, option: &Directive) {
        match option.name() {
            "trusted_proxies" => {
                let networks: Vec<String> = option
                    .arguments()
                    .iter()
                    .filter(|word| *word != "static" && *word != "private_ranges")
                    .map(|word| quoted(word))
                    .collect();
                self.top.set("trusted_proxies", format!("[{}]", networks.join(", ")));
            }
            "timeouts" => {
                for inner in option.inner() {
                    let time = inner.arguments().first().and_then(|time| seconds(time));
                    let key = match inner.name() {
                        "read_header" => Some("header_deadline"),
                        "read_body" => Some("body_idle"),
                        "idle" => Some("keep_alive"),
                        "write" => Some("send_idle"),
                        _ => None,
                    };
                    match (key, time) {
                        (Some(key), Some(time)) => self.limits.set(key, format!("\"{time}s\"")),
                        _ => self.limits.note(inner.told("no counterpart")),
                    }
                }
            }
            _ => self.top.note(option.told("no counterpart")),
        }
    }

    /// `example.org, :8080 { ... }`.
    fn site(&mut self, line: &Directive) {
        let mut site = Site::new(&mut self.limits, &mut self.log, &mut self.upstreams);
        site.read(line);
        let (mut host, tls) = site.finish();
        let mut is_for_all = false;
        let words =
            line.words.iter().flat_map(|word| word.split(',')).filter(|word| !word.is_empty());
        for word in words {
            let address = Address::of(word);
            let has_name = !address.name.is_empty();
            if has_name {
                host.names.push(address.name.clone());
            }
            is_for_all |= !has_name;
            if address.is_encrypted() && has_name {
                host.set("redirect_to_https", "true");
            }
            self.listen(&address, &tls, line);
        }
        let taken: Vec<String> = self.hosts.iter().flat_map(|host| host.names.clone()).collect();
        host.names.retain(|name| !taken.contains(name));
        if is_for_all && self.default.is_none() {
            self.default = Some(self.hosts.len());
        } else if host.names.is_empty() {
            self.top.note(line.told("left out: another site answers these addresses"));
            return;
        }
        self.hosts.push(host);
    }

    fn listen(&mut self, address: &Address, tls: &Option<String>, line: &Directive) {
        let mut ports = vec![(address.port.clone(), address.is_encrypted())];
        if address.is_encrypted() && address.port == "443" {
            // Caddy redirects from there.
            ports.insert(0, ("80".to_owned(), false));
        }
        for (port, is_encrypted) in ports {
            let wanted = quoted(&format!("0.0.0.0:{port}"));
            let known = self.listeners.iter().position(|one| one.get("address") == Some(&*wanted));
            let index = known.unwrap_or_else(|| {
                let mut section = Section::new("[[listener]]");
                section.set("address", wanted.clone());
                self.listeners.push(section);
                self.listeners.len() - 1
            });
            let Some(section) = self.listeners.get_mut(index) else { continue };
            match tls {
                Some(files) if is_encrypted => match section.get("tls").map(str::to_owned) {
                    Some(known) if known.contains(&**files) => {}
                    Some(known) => {
                        let known = known.trim_matches(['[', ']']);
                        section.set("tls", format!("[{known}, {files}]"));
                    }
                    None => section.set("tls", files),
                },
                _ if is_encrypted => section.note(format!(
                    "{}: Caddy gets certificates by itself; here name the files: tls = {{ certificate, key }}",
                    line.place
                )),
                _ => {}
            }
        }
    }

    fn finish(mut self) -> Draft {
        // Without a site for all names the first one is the default host.
        let default = self.default.unwrap_or(0);
        if default < self.hosts.len() {
            let host = self.hosts.remove(default);
            self.hosts.insert(0, host);
        } else {
            self.top.note("there is no site in it that could be taken over");
        }
        let mut before = self.listeners;
        for (header, section) in [("[limits]", self.limits), ("[log]", self.log)] {
            if !section.is_empty() {
                before.push(Section { header: header.to_owned(), ..section });
            }
        }
        before.extend(self.upstreams);
        Draft { sections: draft::sections(self.top, before, self.hosts) }
    }
}

/// `https://example.org:8443`.
struct Address {
    scheme: String,
    name: String,
    port: String,
}

impl Address {
    fn of(word: &str) -> Self {
        let (scheme, rest) = word.split_once("://").unwrap_or(("", word));
        let rest = rest.split('/').next().unwrap_or(rest);
        let (name, port) = match rest.rsplit_once(':') {
            Some((name, port)) if port.parse::<u16>().is_ok() => (name, port),
            _ => (rest, ""),
        };
        let port = match (port, scheme, name.is_empty()) {
            ("", "http", _) => "80",
            ("", ..) => "443",
            (port, ..) => port,
        };
        let name = if name == "*" { "" } else { name };
        Self { scheme: scheme.to_owned(), name: name.to_owned(), port: port.to_owned() }
    }

    /// Caddy encrypts what has a name, unless it says `http`.
    fn is_encrypted(&self) -> bool {
        match self.scheme.as_str() {
            "https" => true,
            "http" => false,
            _ => self.port == "443" || !self.name.is_empty() && self.port != "80",
        }
    }
}
