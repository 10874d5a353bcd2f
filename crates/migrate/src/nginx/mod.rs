//! A configuration of nginx, read into a draft.
//!
//! Owns what stands outside of servers: upstreams, limits, logs, trusted proxies. Never prints.

mod caching;
mod content;
mod emitted;
mod fields;
mod listeners;
mod location;
mod log_formats;
mod order;
mod phases;
mod place;
mod quotas;
mod repeats;
mod server;
mod settings;
mod spare;
mod syntax;
mod upstream;
mod variables;

use self::caching::{CacheZones, Caching};
use self::listeners::{close_other_authorities, listener};
use self::log_formats::LogFormat;
use self::quotas::{InForce, Quotas, Zones};
use self::server::{Listen, Server};
use self::settings::Settings;
use self::syntax::Includer;
use self::upstream::Upstreams;
use crate::directive::Directive;
use crate::draft::Draft;
use crate::hosts::Hosts;
use crate::section::Section;
use crate::word::{list, quoted, seconds, size};
use crate::{IncludedFiles, SyntaxError};

/// Reads a configuration.
pub(crate) fn read(
    text: &str,
    name: &str,
    files: &dyn IncludedFiles,
) -> Result<Draft, SyntaxError> {
    let mut includer = Includer::new(files, name);
    let directives = includer.expand(syntax::parse(text, name)?)?;
    let mut reader = Reader::default();
    // Directives outside of `http` govern all of it, wherever they stand.
    let is_part = !directives.iter().any(|one| one.name() == "http");
    let is_http = |directive: &&Directive| match directive.name() {
        "http" | "server" | "upstream" | "map" | "geo" => true,
        name => {
            is_part && !matches!(name, "user" | "worker_processes") && !spare::is_of_process(name)
        }
    };
    directives.iter().filter(|one| !is_http(one)).for_each(|directive| reader.process(directive));
    let parts: Vec<Directive> =
        directives.iter().filter(is_http).filter(|one| one.name() != "http").cloned().collect();
    for http in directives.iter().filter(|one| one.name() == "http") {
        reader.http(http.inner());
    }
    // A part of a configuration, as in `sites-enabled`.
    reader.http(&parts);
    Ok(reader.finish())
}

/// The configuration as read so far.
#[derive(Default)]
struct Reader {
    top: Section,
    limits: Option<Section>,
    log: Option<Section>,
    upstreams: Upstreams,
    servers: Vec<Server>,
    /// The settings of `http` that servers inherit.
    outer: Settings,
    proxies: Vec<String>,
    real_ip_header: String,
    real_ip_recursive: bool,
}

impl Reader {
    /// A directive outside of every block.
    fn process(&mut self, directive: &Directive) {
        match (directive.name(), directive.argument(0)) {
            ("user", user) => self.top.set("user", quoted(user)),
            ("worker_processes", "auto") => {}
            ("worker_processes", number) if number.parse::<u32>().is_ok_and(|one| one > 0) => {
                self.top.set("schedulers", number);
            }
            (name, _) if spare::is_of_process(name) => {
                if name == "stream" || name == "mail" {
                    self.top.note(directive.unknown());
                }
            }
            _ => self.outer.close(directive, "no counterpart"),
        }
    }

    fn http(&mut self, directives: &[Directive]) {
        self.outer.set_quotas(InForce::of(Zones::read(directives)));
        self.outer.set_caching(Caching::of(CacheZones::read(directives)));
        for directive in directives {
            match (directive.name(), directive.argument(0)) {
                // A block of them in a location may keep files from being shown as what they are.
                ("server" | "upstream" | "types" | "limit_req_zone" | "limit_conn_zone", _) => {}
                ("set_real_ip_from", from) => {
                    self.proxies.push(if from == "unix:" { "unix" } else { from }.to_owned());
                }
                ("real_ip_header", name) => self.real_ip_header = name.to_ascii_lowercase(),
                ("real_ip_recursive", value) => self.real_ip_recursive = value == "on",
                ("access_log", path)
                    if path == "off" || variables::is_plain(path) && !path.contains(':') =>
                {
                    let format = directive.argument(1);
                    let is_it =
                        |one: &&Directive| one.name() == "log_format" && one.argument(0) == format;
                    self.log(path, directives.iter().rfind(is_it));
                }
                // Those that are used are read there.
                ("log_format", _) => {}
                _ if self.limit(directive) => {}
                _ => self.outer.take(directive),
            }
        }
        self.trust(directives);
        for directive in directives.iter().filter(|directive| directive.name() == "upstream") {
            self.upstreams.read(directive);
        }
        for directive in directives.iter().filter(|directive| directive.name() == "server") {
            self.servers.push(Server::read(directive, &self.outer, &mut self.upstreams));
        }
    }

    /// The access log, with the format that a directive says.
    fn log(&mut self, path: &str, format: Option<&Directive>) {
        let log = self.log.get_or_insert_with(|| Section::new("[log]"));
        log.set("access", quoted(path));
        let Some(directive) = format else { return };
        let Some(format) = LogFormat::read(directive) else {
            log.note(directive.told("a part of it has no counterpart: write `format` or `fields`"));
            return;
        };
        // The variables of a format are fields, so they are not escaped.
        log.set("format", quoted(format.text()).replace("$${", "${"));
        if let Some(field) = format.time() {
            log.note(directive.told(&format!("times such as `{field}` are in milliseconds")));
        }
    }

    /// The proxies whose word is taken for the address of a client.
    fn trust(&mut self, directives: &[Directive]) {
        let Some(directive) = directives.iter().find(|one| one.name() == "set_real_ip_from") else {
            return;
        };
        match self.real_ip_header.as_str() {
            "proxy_protocol" => {}
            "x-forwarded-for" if self.real_ip_recursive => {
                self.top.set("trusted_proxies", list(&self.proxies));
                self.top.set("trusted_fields", list(["x-forwarded-for"]));
            }
            _ => self.outer.close(
                directive,
                "only X-Forwarded-For with `real_ip_recursive on` has a counterpart",
            ),
        }
    }

    /// Limits, which are for the whole server here.
    fn limit(&mut self, directive: &Directive) -> bool {
        let value = directive.argument(0);
        let duration = |text: &str| seconds(text).map(|seconds| quoted(&format!("{seconds}s")));
        let is_count = value.parse::<u32>().is_ok_and(|count| count > 0);
        let (key, value) = match directive.name() {
            "client_max_body_size" if value == "0" => ("body_size", Some(quoted("1 TiB"))),
            "client_max_body_size" => ("body_size", size(value)),
            "client_header_timeout" => ("header_deadline", duration(value)),
            "client_body_timeout" => ("body_idle", duration(value)),
            "send_timeout" => ("send_idle", duration(value)),
            "keepalive_timeout" => ("keep_alive", duration(value)),
            "keepalive_requests" => ("requests_per_connection", is_count.then(|| value.to_owned())),
            _ => return false,
        };
        let limits = self.limits.get_or_insert_with(|| Section::new("[limits]"));
        match value {
            Some(value) => limits.set(key, value),
            None => limits.note(directive.told("this value has no counterpart")),
        }
        true
    }

    fn finish(mut self) -> Draft {
        close_other_authorities(&mut self.servers);
        if self.real_ip_header != "proxy_protocol" {
            let has_header =
                |server: &&mut Server| server.listens().iter().any(Listen::has_proxy_protocol);
            for server in self.servers.iter_mut().filter(has_header) {
                server.close(
                    "`proxy_protocol` without `real_ip_header proxy_protocol` has no counterpart"
                        .to_owned(),
                );
            }
        }
        for server in &mut self.servers {
            server.share_caches(&self.upstreams);
        }
        self.outer.notes().iter().for_each(|note| self.top.note(note));
        let hosts = Hosts::new(&self.servers);
        let addresses = hosts.addresses().iter();
        let mut before: Vec<Section> =
            addresses.map(|address| listener(&self.servers, address, &self.proxies)).collect();
        before.extend(self.limits.into_iter().chain(self.log));
        let mut quotas = Quotas::default();
        self.servers.iter().for_each(|server| server.whole().count_quotas(&[], &mut quotas));
        before.extend(quotas.sections());
        before.push(no_pages());
        let all = hosts.all();
        before.extend(self.upstreams.sections());
        Draft::new(self.top, before, all)
    }
}

/// Files of other programs are never code.
pub(crate) fn no_pages() -> Section {
    let mut pages = Section::new("[pages]");
    pages.note(
        "No file was code before. Without this section, those named NAME.page.EXT are pages.",
    );
    pages.set("enabled", "false");
    pages
}
