//! A configuration of nginx, read into a draft.
//!
//! Owns what stands outside of servers: upstreams, limits, logs, and which server is the default host. `server` reads a
//! server, `location` one of its locations. Never prints.

mod answers;
mod automatic;
mod location;
mod pattern;
mod server;
mod settings;
mod tree;
mod upstream;
mod variables;

use crate::draft::{self, Draft, Section};
use crate::word::{quoted, seconds, size};
use crate::{Files, SyntaxError};

use self::automatic::is_automatic;
use self::server::Server;
use self::settings::Known;
use self::tree::{Directive, Includer};
use self::upstream::Upstreams;

/// Reads a configuration.
pub(crate) fn read(text: &str, name: &str, files: &dyn Files) -> Result<Draft, SyntaxError> {
    let mut includer = Includer::new(files);
    let directives = includer.expand(tree::parse(text, name)?, 0)?;
    let mut reader = Reader::default();
    includer.notes.iter().for_each(|note| reader.top.note(note));
    for directive in &directives {
        match &*directive.name {
            "http" => reader.http(directive.inner()),
            // A part of a configuration, as in `sites-enabled`.
            "server" | "upstream" => reader.http(std::slice::from_ref(directive)),
            "events" => {}
            _ => reader.main(directive),
        }
    }
    Ok(reader.finish())
}

/// The configuration as read so far.
#[derive(Default)]
struct Reader {
    top: Section,
    limits: Section,
    log: Section,
    files: Section,
    upstreams: Upstreams,
    servers: Vec<Server>,
    /// The settings of `http` that servers inherit.
    outer: Known,
}

impl Reader {
    /// A directive outside of every block.
    fn main(&mut self, directive: &Directive) {
        match (&*directive.name, directive.argument(0)) {
            ("user", user) => self.top.set("user", quoted(user)),
            ("worker_processes", "auto") => {}
            ("worker_processes", number) if number.parse::<u32>().is_ok_and(|one| one > 0) => {
                self.top.set("schedulers", number);
            }
            ("error_log", _) => self.top.note(directive.told("messages go to standard error")),
            ("pid" | "worker_rlimit_nofile" | "daemon" | "pcre_jit" | "load_module", _) => {
                self.top.note(directive.told("not needed"));
            }
            _ => self.top.note(directive.told("no counterpart")),
        }
    }

    fn http(&mut self, directives: &[Directive]) {
        for directive in directives {
            match &*directive.name {
                "server" | "upstream" => {}
                _ if self.outer.take(directive) => {}
                _ if self.limit(directive) => {}
                "access_log" => self.access_log(directive),
                "gzip" if directive.argument(0) == "off" => self.files.set("compress", "false"),
                name if is_automatic(name) => {}
                _ => self.top.note(directive.told("no counterpart")),
            }
        }
        for directive in directives.iter().filter(|directive| directive.name == "upstream") {
            self.upstreams.read(directive);
        }
        for directive in directives.iter().filter(|directive| directive.name == "server") {
            let server = Server::read(directive, &self.outer, &mut self.upstreams);
            // Deadlines and logs of a server are those of all.
            for directive in directive.inner() {
                if !self.limit(directive) && directive.name == "access_log" {
                    self.access_log(directive);
                }
            }
            self.servers.push(server);
        }
    }

    /// Limits, which are for the whole server here.
    fn limit(&mut self, directive: &Directive) -> bool {
        let duration = |text: &str| seconds(text).map(|seconds| format!("\"{seconds}s\""));
        let value = directive.argument(0);
        let (key, value) = match &*directive.name {
            "client_max_body_size" if value == "0" => ("body_size", Some("\"1 TiB\"".to_owned())),
            "client_max_body_size" => ("body_size", size(value)),
            "client_header_timeout" => ("header_deadline", duration(value)),
            "client_body_timeout" => ("body_idle", duration(value)),
            "send_timeout" => ("send_idle", duration(value)),
            "keepalive_timeout" => ("keep_alive", duration(value)),
            "keepalive_requests" => ("requests_per_connection", Some(value.to_owned())),
            _ => return false,
        };
        match value {
            Some(value) => self.limits.set(key, value),
            None => self.limits.note(directive.told("this value has no counterpart")),
        }
        true
    }

    fn access_log(&mut self, directive: &Directive) {
        match directive.argument(0) {
            "off" => self.log.set("access", "\"off\""),
            path if variables::is_plain(path) && !path.contains(':') => {
                self.log.set("access", quoted(path));
            }
            _ => self.log.note(directive.told("no counterpart")),
        }
    }

    fn finish(mut self) -> Draft {
        server::join(&mut self.servers, &mut self.top);
        let default = self.servers.iter().position(|server| server.is_default).unwrap_or(0);
        if default > 0 {
            let server = self.servers.remove(default);
            self.servers.insert(0, server);
        }
        if self.servers.is_empty() {
            self.top.note("there is no server in it that could be taken over");
        }
        let mut before = server::listeners(&self.servers);
        for (header, section) in
            [("[limits]", self.limits), ("[log]", self.log), ("[files]", self.files)]
        {
            if !section.is_empty() {
                before.push(Section { header: header.to_owned(), ..section });
            }
        }
        before.extend(self.upstreams.sections());
        let hosts = self.servers.into_iter().map(|server| server.host).collect();
        Draft { sections: draft::sections(self.top, before, hosts) }
    }
}
