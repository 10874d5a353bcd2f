//! One site of a Caddyfile as a host of ours.
//!
//! Owns what is said of the whole site. `handlers` makes routes of what
//! answers.

use super::handlers::{Block, Settings};
use super::matcher::{Chosen, Matchers};
use super::placeholders::is_plain;
use super::tree::Directive;
use crate::draft::{Action, Host, Matcher, Route, Section};
use crate::word::{quoted, size, table};

/// A site that is being read, and what is for all sites.
pub(super) struct Site<'s> {
    host: Host,
    tls: Option<String>,
    limits: &'s mut Section,
    log: &'s mut Section,
    upstreams: &'s mut Vec<Section>,
}

impl<'s> Site<'s> {
    pub(super) fn new(
        limits: &'s mut Section,
        log: &'s mut Section,
        upstreams: &'s mut Vec<Section>,
    ) -> Self {
        Self { host: Host::default(), tls: None, limits, log, upstreams }
    }

    /// Reads the block of a site.
    pub(super) fn read(&mut self, line: &Directive) {
        let mut others = Vec::new();
        for inner in line.inner() {
            match inner.name() {
                "tls" => self.tls(inner),
                "log" => log(inner, self.log),
                "request_body" => self.request_body(inner),
                "header" if inner.block.is_none() && self.header(inner) => {}
                _ => others.push(inner.clone()),
            }
        }
        let mut matchers = Matchers::default();
        let mut settings = Settings::default();
        let mut block = Block::new(&mut matchers, self.upstreams);
        block.read(&others, &Chosen::all(), &mut settings);
        let (routes, notes) = block.finish();
        if let Some(root) = &settings.root {
            self.host.set("root", quoted(root));
        }
        if let Some(access) = &settings.access {
            self.host.set("access", access);
        }
        self.host.headers.extend(settings.headers);
        self.host.routes = routes;
        let takes_all = |route: &Route| route.matcher == Matcher::all() && route.keys.is_empty();
        if !serves_files(&others) && !self.host.routes.iter().any(takes_all) {
            // Caddy answers with nothing; we would serve the files of the host.
            self.host.routes.push(Route::new(Matcher::all(), Action::refuse(404)));
        }
        self.host.notes.extend(notes);
        self.host.notes.append(&mut matchers.notes);
    }

    /// The host, and the files of its certificate as printed.
    pub(super) fn finish(self) -> (Host, Option<String>) {
        (self.host, self.tls)
    }

    fn tls(&mut self, line: &Directive) {
        match line.arguments() {
            [certificate, key] => {
                let files = [("certificate", quoted(certificate)), ("key", quoted(key))];
                self.tls = Some(table(files));
            }
            _ => self.host.notes.push(
                line.told("name the files of a certificate; --tls-self-signed is for trying out"),
            ),
        }
    }

    fn request_body(&mut self, line: &Directive) {
        for inner in line.inner() {
            match inner.arguments().first().and_then(|value| size(value)) {
                Some(size) if inner.name() == "max_size" => self.limits.set("body_size", size),
                _ => self.limits.note(inner.told("no counterpart")),
            }
        }
    }

    /// `header Strict-Transport-Security max-age=N`, which is a setting of the host.
    fn header(&mut self, line: &Directive) -> bool {
        let [name, value] = line.arguments() else { return false };
        if !name.eq_ignore_ascii_case("strict-transport-security") || !is_plain(value) {
            return false;
        }
        let age = value.split(';').find_map(|part| part.trim().strip_prefix("max-age="));
        if let Some(age) = age {
            self.host.set("hsts", format!("\"{age}s\""));
        }
        age.is_some()
    }
}

/// Whether a block serves files.
fn serves_files(lines: &[Directive]) -> bool {
    lines.iter().any(|line| line.name() == "file_server" || serves_files(line.inner()))
}

/// `log { output file PATH; format json }`.
pub(super) fn log(line: &Directive, log: &mut Section) {
    if log.get("access").is_none() {
        log.set("access", "\"stderr\"");
        log.set("format", "\"json\"");
    }
    for inner in line.inner() {
        match (inner.name(), inner.arguments()) {
            ("output", [kind]) if kind == "stdout" || kind == "stderr" => {
                log.set("access", quoted(kind))
            }
            ("output", [kind]) if kind == "discard" => log.set("access", "\"off\""),
            ("output", [kind, path, ..]) if kind == "file" => {
                log.set("access", quoted(path));
                if inner.block.is_some() {
                    log.note(inner.told("files are not rolled: use logrotate and the signal USR1"));
                }
            }
            ("format", [kind, ..]) if kind == "json" => {}
            ("level", [level])
                if matches!(&*level.to_ascii_lowercase(), "debug" | "info" | "warn" | "error") =>
            {
                log.set("level", quoted(&level.to_ascii_lowercase()));
            }
            _ => log.note(inner.told("no counterpart")),
        }
    }
}
