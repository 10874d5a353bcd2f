//! A Caddyfile, read into a draft.
//!
//! Owns global options, the listeners of sites and where their certificates are from. `site` reads what is in a site.
//! Never prints.

mod address;
mod answers;
mod asking;
mod block;
mod layer;
mod log;
mod matcher;
mod order;
mod placeholders;
mod proxying;
mod scope;
mod site;
mod syntax;
mod users;

use self::address::Defaults;
use self::matcher::PRIVATE;
use self::site::{Certificate, Common, Site};
use self::syntax::Importer;
use self::users::UserFiles;
use crate::directive::Directive;
use crate::draft::Draft;
use crate::hosts::{Hosts, Site as _};
use crate::nginx::no_pages;
use crate::section::{Section, State};
use crate::upstreams::Upstreams;
use crate::word::{is_in, list, quoted, seconds};
use crate::{IncludedFiles, SyntaxError};

/// Reads a Caddyfile.
pub(crate) fn read(
    text: &str,
    name: &str,
    files: &dyn IncludedFiles,
) -> Result<Draft, SyntaxError> {
    let mut importer = Importer::new(files, name);
    let lines = importer.without_snippets(syntax::parse(text, name)?);
    let mut lines = importer.expand(lines)?;
    let mut reader = Reader::default();
    // A file of one site may leave its braces out.
    let has_sites = lines.iter().any(|line| line.has_block() && is_address(line.name()));
    if !has_sites
        && let Some(first) = lines.iter().position(|line| !line.words().is_empty())
        && lines.get(first).is_some_and(|line| is_address(line.name()))
    {
        let inner = lines.split_off(first + 1);
        if let Some(head) = lines.pop() {
            lines.push(head.with_block(inner));
        }
    }
    let is_options = |line: &&Directive| line.words().is_empty();
    lines
        .iter()
        .filter(is_options)
        .flat_map(Directive::inner)
        .for_each(|option| reader.option(option));
    for line in lines.iter().filter(|line| !is_options(line)) {
        // A named route is used by what is closed only.
        if line.name().starts_with("&(") {
            continue;
        }
        if !is_address(line.name()) {
            // It may have been a part of any site.
            reader.closing.get_or_insert_with(|| line.told("this is no site"));
        }
    }
    for line in lines.iter().filter(|line| is_address(line.name())) {
        reader.site(line);
    }
    Ok(reader.finish(importer.names()))
}

/// Whether a word can be the address of a site.
fn is_address(word: &str) -> bool {
    let word = word.trim_end_matches(',');
    word.contains(['.', ':'])
        || word == "localhost"
        || word.starts_with('*')
        || word.starts_with("{$")
}

#[derive(Default)]
struct Reader {
    top: Section,
    limits: Option<Section>,
    log: Option<Section>,
    upstreams: Upstreams,
    users: UserFiles,
    defaults: Defaults,
    sites: Vec<Site>,
    email: Option<String>,
    issuer: Option<String>,
    closing: Option<String>,
}

/// Options that change nothing of what is answered.
const SPARE: &str = "
    admin debug storage persist_config skip_install_trust pki ocsp_stapling ocsp_interval
    storage_clean_interval renew_interval key_type preferred_chains default_sni fallback_sni
    cert_issuer acme_ca_root acme_dns acme_eab on_demand_tls shutdown_delay metrics cert_lifetime
    storage_check
";

impl Reader {
    /// A global option.
    fn option(&mut self, option: &Directive) {
        match (option.name(), option.arguments()) {
            ("email", [email]) => self.email = Some(email.clone()),
            ("acme_ca", [url]) => self.issuer = Some(url.clone()),
            ("grace_period", [time]) if seconds(time).is_some() => {
                let time = seconds(time).unwrap_or_default();
                self.top.set("drain_deadline", quoted(&format!("{time}s")));
            }
            ("log", _) => log::read(option, self.log.get_or_insert_with(|| Section::new("[log]"))),
            ("servers", []) => option.inner().iter().for_each(|inner| self.server_option(inner)),
            (name, arguments) if self.defaults.take(name, arguments) => {}
            (name, _) if is_in(SPARE, name) => {
                if name != "admin" {
                    self.top.note(option.unknown());
                }
            }
            _ => {
                self.closing.get_or_insert_with(|| option.unknown());
            }
        }
    }

    fn server_option(&mut self, option: &Directive) {
        match (option.name(), option.arguments()) {
            ("trusted_proxies", [kind, networks @ ..]) if kind == "static" => {
                let all = networks.iter().flat_map(|one| match one.as_str() {
                    "private_ranges" => PRIVATE.to_vec(),
                    one => vec![one],
                });
                self.top.set("trusted_proxies", list(all));
                self.top.set(
                    "trusted_fields",
                    list(["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"]),
                );
                self.defaults.trust_proxies();
            }
            ("timeouts", []) => {
                let limits = self.limits.get_or_insert_with(|| Section::new("[limits]"));
                for inner in option.inner() {
                    let time = seconds(inner.argument(0));
                    let key = match inner.name() {
                        "read_header" => Some("header_deadline"),
                        "read_body" => Some("body_idle"),
                        "idle" => Some("keep_alive"),
                        "write" => Some("send_idle"),
                        _ => None,
                    };
                    match (key, time) {
                        (Some(key), Some(time)) => limits.set(key, quoted(&format!("{time}s"))),
                        _ => limits.note(inner.unknown()),
                    }
                }
            }
            (
                "protocols" | "protocol" | "metrics" | "max_header_size" | "keepalive_interval"
                | "log_credentials" | "name" | "enable_full_duplex",
                _,
            ) => {}
            _ => {
                self.closing.get_or_insert_with(|| option.unknown());
            }
        }
    }

    /// `example.org, :8080 { ... }`.
    fn site(&mut self, line: &Directive) {
        for inner in line.inner().iter().filter(|inner| inner.name() == "log") {
            log::read(inner, self.log.get_or_insert_with(|| Section::new("[log]")));
        }
        let closing = self.closing.as_deref();
        let mut common = Common::new(&mut self.upstreams, &mut self.users, &self.defaults, closing);
        self.sites.push(Site::read(line, &mut common));
    }

    fn finish(mut self, names: &[String]) -> Draft {
        self.users.notes().iter().for_each(|note| self.top.note(note));
        let redirects: Vec<Site> =
            self.sites.iter().filter_map(|site| site.redirect(&self.defaults)).collect();
        self.sites.extend(redirects);
        let mut addresses: Vec<String> = Vec::new();
        for address in self.sites.iter().flat_map(|site| site.addresses()) {
            if !addresses.iter().any(|known| known == address) {
                addresses.push(address.to_owned());
            }
        }
        let mut before = Vec::new();
        let mut ordered = Vec::new();
        for address in &addresses {
            before.push(self.listener(address, &mut ordered));
        }
        self.sites.push(Site::nothing(addresses));
        before.extend((!ordered.is_empty()).then(|| self.acme(&ordered)));
        before.extend(self.limits.into_iter().chain(self.log));
        before.push(no_pages());
        before.push(hidden(names));
        let hosts = Hosts::new(&self.sites).all();
        before.extend(self.upstreams.sections());
        Draft::new(self.top, before, hosts)
    }

    /// The listener of an address; `ordered` gets the names whose certificates are ordered.
    fn listener(&mut self, address: &str, ordered: &mut Vec<String>) -> Section {
        let mut section = Section::new("[[listener]]");
        section.set("address", quoted(address));
        let at = |site: &&mut Site| site.is_encrypted_at(address);
        let mut files: Vec<String> = Vec::new();
        let mut names = Vec::new();
        let mut ca: Option<String> = None;
        let mut is_needed = true;
        let mut is_encrypted = false;
        for site in self.sites.iter_mut().filter(at) {
            is_encrypted = true;
            match site.certificate() {
                Certificate::Files(one) if !files.contains(one) => files.push(one.clone()),
                Certificate::Files(_) => {}
                // A wildcard needs a record in DNS.
                Certificate::Ordered => {
                    names.extend(site.names().iter().filter(|name| !name.starts_with('*')).cloned())
                }
                Certificate::Own => section.note(format!(
                    "{}: its own authority has no counterpart: name the files of a certificate",
                    site.place()
                )),
            }
            match site.client_ca().map(str::to_owned) {
                None => is_needed = false,
                Some(own) if ca.as_ref().is_some_and(|known| *known != own) => {
                    site.close("a listener has one `client_ca`, and another site has another one");
                }
                Some(own) => ca = Some(own),
            }
        }
        if !is_encrypted {
            return section;
        }
        match (files.as_slice(), names.is_empty()) {
            ([], true) => {
                let why = "it is left out, because it would be plain";
                section.note(format!("No certificate is known for {address}: {why}."));
                section.set_state(State::Out);
            }
            ([], false) => {
                section.set("tls", quoted("acme"));
                ordered.extend(names);
            }
            (files, _) => {
                if !names.is_empty() {
                    section.note(format!(
                        "A listener has files or orders: name the files of {} too.",
                        names.join(", ")
                    ));
                }
                section.set("tls", format!("[{}]", files.join(", ")));
            }
        }
        if let Some(ca) = ca {
            section.set("client_ca", quoted(&ca));
            if !is_needed {
                section.set("client_certificates", quoted("asked"));
            }
        }
        section
    }

    fn acme(&self, names: &[String]) -> Section {
        let mut section = Section::new("[acme]");
        let mut all: Vec<&String> = names.iter().collect();
        all.sort_unstable();
        all.dedup();
        section.set("names", list(all));
        if let Some(email) = &self.email {
            section.set("email", quoted(email));
        }
        if let Some(url) = &self.issuer {
            section.set("issuers", list([url]));
        }
        section
    }
}

/// Caddy does not serve its own files.
fn hidden(names: &[String]) -> Section {
    let mut files = Section::new("[files]");
    let mut all: Vec<&str> = names.iter().filter_map(|name| name.rsplit('/').next()).collect();
    all.sort_unstable();
    all.dedup();
    files.note("Caddy does not serve the files that configure it.");
    files.set("hide", list(all));
    files
}
