//! The upstreams of nginx: those with a name, and those that `proxy_pass` names by an address.
//!
//! Owns their names here: what two places want of one address in different ways is two upstreams. Never makes a route.

use crate::directive::Directive;
use crate::section::Section;
use crate::upstreams::{self, Cache};
use crate::word::{is_in, quoted, seconds, table};

#[derive(Debug, Default)]
pub(super) struct Upstreams {
    defined: Vec<Defined>,
    /// Those that routes use.
    used: upstreams::Upstreams,
}

/// A block `upstream`.
#[derive(Debug, Default)]
struct Defined {
    name: String,
    /// As printed.
    servers: Vec<String>,
    settings: Vec<(&'static str, String)>,
    notes: Vec<String>,
    /// Why it cannot be used.
    closing: Option<String>,
}

/// How servers are connected with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    Plain,
    Encrypted,
}

/// The settings of an upstream for servers that are connected with so, as printed.
pub(super) fn of_transport(
    all: &[(&'static str, String)],
    transport: Transport,
) -> Vec<(&'static str, String)> {
    let all = all.iter().cloned();
    match transport {
        Transport::Encrypted => [("tls", "true".to_owned())].into_iter().chain(all).collect(),
        Transport::Plain => all
            .filter_map(|(key, value)| match key {
                // Without a handshake there is no choice.
                "http2" => Some(("h2c", value)),
                "next_on" | "retries" => Some((key, value)),
                key => key.ends_with("timeout").then_some((key, value)),
            })
            .collect(),
    }
}

/// Directives of an upstream that change no more than how connections are kept.
const SPARE: &str = "
    keepalive keepalive_timeout keepalive_requests keepalive_time zone random resolver hash
";

impl Upstreams {
    /// Reads a block `upstream`.
    pub(super) fn read(&mut self, directive: &Directive) {
        let mut upstream = Defined { name: directive.argument(0).to_owned(), ..Defined::default() };
        for inner in directive.inner() {
            match (inner.name(), inner.argument(0)) {
                ("server", _) => upstream.server(inner),
                ("least_conn", _) => upstream.set("balance", quoted("least")),
                ("ip_hash", _) | ("hash", "$remote_addr" | "$binary_remote_addr") => {
                    upstream.set("balance", quoted("hash"));
                    upstream.set("hash", quoted("address"));
                }
                ("hash", "$request_uri" | "$uri") => {
                    upstream.set("balance", quoted("hash"));
                    upstream.set("hash", quoted("path"));
                }
                (name, _) if is_in(SPARE, name) => {
                    if name == "hash" {
                        upstream.notes.push(inner.unknown());
                    }
                }
                _ => upstream.closing = Some(inner.unknown()),
            }
        }
        if upstream.servers.is_empty() {
            upstream
                .closing
                .get_or_insert_with(|| directive.told("it has no server that can be used"));
        }
        self.defined.push(upstream);
    }

    /// The name here of what `proxy_pass http://AUTHORITY` names, with these settings.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn of(
        &mut self,
        authority: &str,
        settings: &[(&'static str, String)],
        cache: Option<&Cache>,
    ) -> Result<String, String> {
        let mut section = Section::new("[[upstream]]");
        match self.defined.iter().find(|upstream| upstream.name == authority) {
            Some(upstream) => {
                if let Some(why) = &upstream.closing {
                    return Err(why.clone());
                }
                upstream.notes.iter().for_each(|note| section.note(note));
                section.set("servers", format!("[{}]", upstream.servers.join(", ")));
                upstream.settings.iter().for_each(|(key, value)| section.set(key, value));
            }
            None => {
                let is_encrypted = settings.iter().any(|(key, _)| *key == "tls");
                let address = with_port(authority, if is_encrypted { 443 } else { 80 });
                section.set("servers", format!("[{}]", quoted(&address)));
            }
        }
        settings.iter().for_each(|(key, value)| section.set(key, value));
        Ok(self.used.add(&plain(authority), section, cache))
    }

    /// Whether some place wants a cache of the upstream with this name.
    pub(super) fn has_cache(&self, name: &str) -> bool {
        self.used.has_cache(name)
    }

    pub(super) fn sections(self) -> impl Iterator<Item = Section> {
        self.used.sections()
    }
}

impl Defined {
    fn set(&mut self, key: &'static str, value: String) {
        self.settings.retain(|(known, _)| *known != key);
        self.settings.push((key, value));
    }

    fn server(&mut self, directive: &Directive) {
        let address = with_port(directive.argument(0), 80);
        let mut weight = None;
        for option in directive.arguments().iter().skip(1) {
            match option.split_once('=') {
                Some(("weight", number)) if number.parse::<u32>().is_ok() => weight = Some(number),
                Some(("max_fails", number)) if number.parse::<u32>().is_ok_and(|one| one > 0) => {
                    self.set("failures", number.to_owned());
                }
                Some(("fail_timeout", time)) if seconds(time).is_some_and(|time| time > 0) => {
                    let time = seconds(time).unwrap_or_default();
                    self.set("failure_pause", quoted(&format!("{time}s")));
                }
                Some(("max_fails" | "fail_timeout" | "max_conns" | "slow_start", _)) => {
                    self.notes.push(directive.told(&format!("`{option}` has no counterpart")));
                }
                _ if matches!(option.as_str(), "down" | "backup") => {
                    // Requests go to no server that they did not go to before.
                    self.notes.push(directive.told(&format!("left out, because it is `{option}`")));
                    return;
                }
                _ if option == "resolve" => {}
                _ => self.closing = Some(directive.told(&format!("`{option}` has no counterpart"))),
            }
        }
        self.servers.push(match weight {
            None => quoted(&address),
            Some(weight) => table([("address", quoted(&address)), ("weight", weight.to_owned())]),
        });
    }
}

/// An address with its port, as an upstream has it.
fn with_port(address: &str, port: u16) -> String {
    if let Some(path) = address.strip_prefix("unix:") {
        return format!("unix:{}", path.trim_end_matches(':'));
    }
    let has_port = address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { address.to_owned() } else { format!("{address}:{port}") }
}

/// A name that an upstream can have: letters, digits, and signs between them.
fn plain(name: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '.' | '-' | '_');
    let name: String = name.chars().map(|sign| if is_plain(sign) { sign } else { '-' }).collect();
    let name = name.trim_matches(['-', '.', '_']);
    if name.is_empty() { "server".to_owned() } else { name.to_owned() }
}
