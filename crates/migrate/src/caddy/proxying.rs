//! `reverse_proxy` of Caddy: its servers, and what it changes of requests and answers.
//!
//! Owns its options. One without counterpart closes the requests that it is for.

use super::placeholders::{field_value, is_plain};
use crate::directive::Directive;
use crate::route::Action;
use crate::section::Section;
use crate::upstreams::Upstreams;
use crate::word::{is_in, list, quoted, seconds, table};

/// A proxy that was read.
#[derive(Debug, Default)]
pub(super) struct Proxy {
    upstream: String,
    servers: Vec<String>,
    set: Vec<(String, String)>,
    removed: Vec<String>,
    answer_set: Vec<(String, String)>,
    answer_removed: Vec<String>,
}

/// Options that change how servers are chosen, watched and connected with.
const SPARE: &str = "
    lb_retries lb_try_duration lb_try_interval lb_retry_match fail_duration max_fails
    unhealthy_status unhealthy_latency unhealthy_request_count health_uri health_path health_port
    health_interval health_timeout health_status health_body health_headers health_method
    health_passes health_fails flush_interval buffer_requests request_buffers response_buffers
    stream_timeout stream_close_delay trusted_proxies
";

/// The most `retries`.
const RETRIES_MAX: u16 = 10;

/// The longest `check_interval`, in seconds.
const CHECK_INTERVAL_MAX_S: u64 = 3_600;

/// Options of connections that change what they cost.
const SPARE_TRANSPORT: &str = "
    keepalive keepalive_idle_conns keepalive_interval compression read_buffer write_buffer
    max_conns_per_host dial_fallback_delay expect_continue_timeout read_timeout write_timeout
    max_response_header resolvers tls_timeout tls_renegotiation
";

impl Proxy {
    pub(super) fn read(
        line: &Directive,
        servers: &[String],
        upstreams: &mut Upstreams,
    ) -> Result<Self, String> {
        let mut proxy = Self::default();
        let mut section = Section::new("[[upstream]]");
        let mut all: Vec<String> = servers.to_vec();
        let mut is_encrypted = false;
        for inner in line.inner() {
            match (inner.name(), inner.arguments()) {
                ("to", servers) => all.extend_from_slice(servers),
                ("lb_policy", [policy, ..]) => balance(inner, policy, &mut section),
                ("header_up", words) => proxy.header_up(inner, words, &all)?,
                ("header_down", [name]) if name.starts_with('-') => {
                    proxy.answer_removed.push(name.trim_start_matches('-').to_owned());
                }
                ("header_down", [name, value])
                    if is_plain(value) && !name.starts_with(['-', '+', '?', '>']) =>
                {
                    proxy.answer_set.push((name.clone(), value.clone()));
                }
                ("transport", [kind]) if kind == "http" => {
                    is_encrypted |= transport(inner, &mut section)?
                }
                _ if watch(inner, &mut section) => {}
                (name, _) if is_in(SPARE, name) => section.note(inner.unknown()),
                _ => return Err(inner.unknown()),
            }
        }
        let with = |scheme: &str| all.iter().filter(|server| server.starts_with(scheme)).count();
        let (encrypted, plain_http2) = (with("https://"), with("h2c://"));
        is_encrypted |= encrypted > 0;
        if ![0, all.len()].contains(&encrypted) {
            return Err(line.told("servers with and without encryption: no counterpart"));
        }
        if ![0, all.len()].contains(&plain_http2) || is_encrypted && plain_http2 > 0 {
            return Err(line.told("servers with and without `h2c`: no counterpart"));
        }
        let addresses: Option<Vec<String>> = all.iter().map(|server| address(server)).collect();
        let addresses = addresses.filter(|all| !all.is_empty()).ok_or_else(|| line.unknown())?;
        section.put_first("servers", list(&addresses));
        let versions = versions(line);
        if is_encrypted {
            section.set("tls", "true");
            if versions.contains(&"2") {
                section.set("http2", "true");
            }
        } else if plain_http2 > 0 || versions.contains(&"h2c") {
            section.set("h2c", "true");
        }
        proxy.upstream = upstreams.add("upstream", section, None);
        proxy.servers = addresses;
        proxy.check_host(line)?;
        Ok(proxy)
    }

    fn header_up(
        &mut self,
        line: &Directive,
        words: &[String],
        servers: &[String],
    ) -> Result<(), String> {
        match words {
            [name] if name.starts_with('-') => {
                self.removed.push(name.trim_start_matches('-').to_owned())
            }
            [name, value] if name.eq_ignore_ascii_case("host") => match value.as_str() {
                "{host}" | "{http.request.host}" | "{hostport}" | "{http.request.hostport}" => {}
                "{upstream_hostport}" | "{http.reverse_proxy.upstream.hostport}"
                    if servers.len() < 2 =>
                {
                    self.set.push((name.clone(), UPSTREAM.to_owned()));
                }
                value if is_plain(value) => self.set.push((name.clone(), value.to_owned())),
                _ => return Err(line.unknown()),
            },
            // The proxy says these itself, whatever a client says.
            [name, value]
                if matches!(
                    &*name.to_ascii_lowercase(),
                    "x-forwarded-for" | "x-forwarded-proto" | "x-forwarded-host" | "x-real-ip"
                ) && matches!(
                    &**value,
                    "{remote}"
                        | "{remote_host}"
                        | "{client_ip}"
                        | "{scheme}"
                        | "{host}"
                        | "{hostport}"
                        | "{http.request.remote.host}"
                ) => {}
            [name, value] if !name.starts_with(['-', '+', '?', '>']) => {
                let value = field_value(value).ok_or_else(|| line.unknown())?;
                self.set.push((name.clone(), value));
            }
            _ => return Err(line.unknown()),
        }
        Ok(())
    }

    /// Its upstream, if nothing else is said of the requests and answers.
    pub(super) fn only_upstream(&self) -> Option<&str> {
        let edits = [&self.set, &self.answer_set].map(Vec::is_empty);
        let removals = [&self.removed, &self.answer_removed].map(Vec::is_empty);
        (edits == [true; 2] && removals == [true; 2]).then_some(&self.upstream)
    }

    /// Puts the address of the only server in place of its placeholder.
    fn check_host(&mut self, line: &Directive) -> Result<(), String> {
        for (_, value) in &mut self.set {
            if value == UPSTREAM {
                match self.servers.as_slice() {
                    [one] if !one.starts_with("unix:") => value.clone_from(one),
                    _ => return Err(line.told("`Host` of several servers has no counterpart")),
                }
            }
        }
        Ok(())
    }

    /// The action of a route; `fields` are set before, and `strips` says whether a prefix is removed.
    pub(super) fn action(
        &self,
        fields: &[(String, String)],
        strips: bool,
    ) -> Result<Action, String> {
        let mut set: Vec<(&str, String)> = Vec::new();
        let mut removed: Vec<&String> = self.removed.iter().collect();
        for (name, value) in fields.iter().chain(&self.set) {
            set.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            if value.is_empty() {
                removed.push(name);
            } else {
                set.push((name, quoted(value)));
            }
        }
        let mut settings = Vec::new();
        if strips {
            settings.push(("strip_prefix".to_owned(), "true".to_owned()));
        }
        if !set.is_empty() {
            settings.push(("request_headers".to_owned(), table(set)));
        }
        if !removed.is_empty() {
            settings.push(("remove_request_headers".to_owned(), list(removed)));
        }
        if !self.answer_set.is_empty() {
            let fields = self.answer_set.iter().map(|(name, value)| (&**name, quoted(value)));
            settings.push(("response_headers".to_owned(), table(fields)));
        }
        if !self.answer_removed.is_empty() {
            settings.push(("remove_response_headers".to_owned(), list(&self.answer_removed)));
        }
        Ok(Action::Proxy(self.upstream.clone(), settings))
    }
}

/// Stands for the address of the server until that is known.
const UPSTREAM: &str = "\u{0}";

/// The versions of HTTP that servers are spoken to in.
fn versions(line: &Directive) -> Vec<&str> {
    let transports = line.inner().iter().filter(|inner| inner.name() == "transport");
    let said = transports.flat_map(Directive::inner).filter(|inner| inner.name() == "versions");
    let said: Vec<&str> = said.flat_map(Directive::arguments).map(String::as_str).collect();
    if said.is_empty() { vec!["1.1", "2"] } else { said }
}

/// `transport http`; whether it encrypts.
fn transport(line: &Directive, section: &mut Section) -> Result<bool, String> {
    let mut is_encrypted = false;
    for inner in line.inner() {
        let time = seconds(inner.argument(0)).map(|time| quoted(&format!("{time}s")));
        match (inner.name(), inner.arguments()) {
            ("tls", []) => is_encrypted = true,
            ("tls_server_name", [name]) if is_plain(name) => {
                section.set("server_name", quoted(name))
            }
            ("tls_trusted_ca_certs", [file]) if is_plain(file) => section.set("ca", quoted(file)),
            ("tls_client_auth", [certificate, key]) if is_plain(certificate) && is_plain(key) => {
                section.set("certificate", quoted(certificate));
                section.set("key", quoted(key));
            }
            ("versions", versions) => {
                if versions.iter().any(|version| version == "3") {
                    section.note(inner.told("servers get no HTTP/3"));
                }
            }
            // Certificates of servers are always verified here.
            ("tls_insecure_skip_verify", _) => {
                section.note(inner.told("certificates of servers are always verified"))
            }
            ("dial_timeout", _) if time.is_some() => {
                section.set("connect_timeout", time.unwrap_or_default())
            }
            ("response_header_timeout", _) if time.is_some() => {
                section.set("first_byte_timeout", time.unwrap_or_default())
            }
            (name, _) if is_in(SPARE_TRANSPORT, name) => section.note(inner.unknown()),
            _ => return Err(inner.unknown()),
        }
    }
    Ok(is_encrypted)
}

/// An address of a proxied server with its port; `None` if it has none that we can connect with.
fn address(server: &str) -> Option<String> {
    if !is_plain(server) {
        return None;
    }
    if let Some(path) = server.strip_prefix("unix/") {
        return Some(format!("unix:{path}"));
    }
    let (port, rest) = match server.split_once("://") {
        Some(("https", rest)) => ("443", rest),
        Some(("http" | "h2c", rest)) => ("80", rest),
        Some(_) => return None,
        None => ("80", server),
    };
    if rest.contains('/') {
        return None;
    }
    let rest = if rest.starts_with(':') { format!("127.0.0.1{rest}") } else { rest.to_owned() };
    let has_port = rest.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    Some(if has_port { rest } else { format!("{rest}:{port}") })
}

/// When a server has failed; `false`: it has no counterpart.
fn watch(line: &Directive, section: &mut Section) -> bool {
    let [value] = line.arguments() else { return false };
    let time = seconds(value).filter(|time| *time > 0);
    let number = value.parse::<u16>().ok();
    let read = match line.name() {
        "health_uri" => {
            let is_path = value.starts_with('/') && is_plain(value);
            is_path.then(|| ("check", quoted(value)))
        }
        "health_interval" => time
            .filter(|time| *time <= CHECK_INTERVAL_MAX_S)
            .map(|time| ("check_interval", quoted(&format!("{time}s")))),
        "health_timeout" => time.map(|time| ("check_timeout", quoted(&format!("{time}s")))),
        "health_status" => number
            .filter(|status| (200..600).contains(status))
            .map(|status| ("check_status", status.to_string())),
        "fail_duration" => time.map(|time| ("failure_pause", quoted(&format!("{time}s")))),
        "lb_retries" => {
            number.filter(|most| *most <= RETRIES_MAX).map(|most| ("retries", most.to_string()))
        }
        "max_fails" => number.filter(|most| *most > 0).map(|most| ("failures", most.to_string())),
        _ => None,
    };
    if let Some((key, value)) = &read {
        section.set(key, value);
    }
    read.is_some()
}

/// How a server of an upstream is chosen.
fn balance(line: &Directive, policy: &str, section: &mut Section) {
    match policy {
        "round_robin" => section.set("balance", quoted("round-robin")),
        "least_conn" => section.set("balance", quoted("least")),
        "ip_hash" | "client_ip_hash" => {
            section.set("balance", quoted("hash"));
            section.set("hash", quoted("address"));
        }
        "uri_hash" => {
            section.set("balance", quoted("hash"));
            section.set("hash", quoted("path"));
        }
        "random" | "random_choose" => {}
        _ => section.note(line.unknown()),
    }
}
