//! The upstreams of nginx: those with a name, and those that `proxy_pass` names by an address.
//!
//! Owns their names here. Never makes a route.

use super::tree::Directive;
use crate::draft::Section;
use crate::word::{list, quoted, table};

/// All upstreams.
#[derive(Debug, Default)]
pub(super) struct Upstreams {
    list: Vec<(String, Section)>,
}

impl Upstreams {
    /// Reads a block `upstream`.
    pub(super) fn read(&mut self, directive: &Directive) {
        let name = directive.argument(0);
        let mut section = Section::new("[[upstream]]");
        let mut servers = Vec::new();
        for inner in directive.inner() {
            match &*inner.name {
                "server" => servers.extend(server(inner, &mut section)),
                "least_conn" => section.set("balance", "\"least\""),
                "ip_hash" => {
                    section.set("balance", "\"hash\"");
                    section.set("hash", "\"address\"");
                }
                "hash" if inner.argument(0) == "$request_uri" => {
                    section.set("balance", "\"hash\"");
                    section.set("hash", "\"path\"");
                }
                "keepalive" | "keepalive_timeout" | "keepalive_requests" | "zone" | "random" => {}
                _ => section.note(inner.told("no counterpart")),
            }
        }
        let mut whole = Section::new("[[upstream]]");
        whole.notes = section.notes;
        whole.set("name", quoted(&plain(name)));
        whole.set("servers", format!("[{}]", servers.join(", ")));
        whole.lines.extend(section.lines);
        self.list.push((name.to_owned(), whole));
    }

    /// The name here of what `proxy_pass http://NAME` names; `is_encrypted` for `https`.
    pub(super) fn name_of(&mut self, authority: &str, is_encrypted: bool) -> String {
        let position = self.list.iter().position(|(name, _)| name == authority);
        let index = position.unwrap_or_else(|| {
            let mut section = Section::new("[[upstream]]");
            section.set("name", quoted(&plain(authority)));
            let has_port =
                authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
            let port = if is_encrypted { 443 } else { 80 };
            let address = match authority.strip_prefix("unix:") {
                Some(path) => format!("unix:{}", path.trim_end_matches(':')),
                None if has_port => authority.to_owned(),
                None => format!("{authority}:{port}"),
            };
            section.set("servers", list([address]));
            self.list.push((authority.to_owned(), section));
            self.list.len() - 1
        });
        if let Some((_, section)) = self.list.get_mut(index)
            && is_encrypted
        {
            section.set("tls", "true");
        }
        plain(authority)
    }

    /// Sets a deadline of an upstream.
    pub(super) fn set(&mut self, authority: &str, key: &str, value: String) {
        if let Some((_, section)) = self.list.iter_mut().find(|(name, _)| name == authority) {
            section.set(key, value);
        }
    }

    pub(super) fn sections(self) -> impl Iterator<Item = Section> {
        self.list.into_iter().map(|(_, section)| section)
    }
}

/// A server as printed.
fn server(directive: &Directive, section: &mut Section) -> Option<String> {
    let address = directive.argument(0);
    let has_port = address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let address = match address {
        unix if unix.starts_with("unix:") => unix.to_owned(),
        address if has_port => address.to_owned(),
        address => format!("{address}:80"),
    };
    let mut weight = None;
    for option in directive.arguments.iter().skip(1) {
        match option.split_once('=') {
            Some(("weight", number)) if number.parse::<u32>().is_ok() => weight = Some(number),
            Some(("max_fails", number)) if number.parse::<u32>().is_ok_and(|one| one > 0) => {
                section.set("failures", number);
            }
            _ if option == "down" => {
                section.note(directive.told("left out, because it is down"));
                return None;
            }
            _ => section.note(directive.told(&format!("`{option}` has no counterpart"))),
        }
    }
    Some(match weight {
        None => quoted(&address),
        Some(weight) => table([("address", quoted(&address)), ("weight", weight.to_owned())]),
    })
}

/// A name that an upstream can have: letters, digits, and signs between them.
fn plain(name: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '.' | '-' | '_');
    let name: String = name.chars().map(|sign| if is_plain(sign) { sign } else { '-' }).collect();
    name.trim_matches('-').to_owned()
}
