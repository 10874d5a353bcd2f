//! The addresses of servers of nginx as listeners of ours.
//!
//! Owns certificates: ours belong to a listener, those of nginx to a server. A listener without its certificate is left
//! out, because it would be plain.

use super::server::{Listen, Server, Verify};
use crate::hosts::Site;
use crate::section::{Section, State};
use crate::word::{list, quoted};

/// The listener of an address. `proxies` are the networks that PROXY headers may come from.
pub(super) fn listener(servers: &[Server], address: &str, proxies: &[String]) -> Section {
    let mut section = Section::new("[[listener]]");
    section.set("address", quoted(address));
    let at: Vec<(&Server, &Listen)> = servers
        .iter()
        .flat_map(|server| server.listens().iter().map(move |listen| (server, listen)))
        .filter(|(_, listen)| listen.address() == address)
        .collect();
    if at.iter().any(|(_, listen)| listen.has_proxy_protocol()) {
        section.set("proxy_protocol_from", list(proxies));
    }
    if !at.iter().any(|(_, listen)| listen.is_encrypted()) {
        return section;
    }
    let mut sorted = at.clone();
    sorted.sort_by_key(|(_, listen)| !listen.is_default());
    let mut files: Vec<String> = Vec::new();
    for file in sorted.iter().filter_map(|(server, _)| server.files()) {
        if !files.contains(&file) {
            files.push(file);
        }
    }
    match files.as_slice() {
        [] => {
            section.note(format!(
                "No certificate is known for {address}: it is left out, because it would be plain."
            ));
            section.set_state(State::Out);
        }
        [one] => section.set("tls", one),
        several => section.set("tls", format!("[{}]", several.join(", "))),
    }
    if let Some(ca) = at.iter().find_map(|(server, _)| server.client_ca()) {
        section.set("client_ca", quoted(ca));
        if at.iter().any(|(server, _)| server.verify() != Verify::Needed) {
            section.set("client_certificates", quoted("asked"));
        }
    }
    section
}

/// Closes servers that ask for certificates of other authorities than an earlier one at the same address.
pub(super) fn close_other_authorities(servers: &mut [Server]) {
    let mut known: Vec<(String, String)> = Vec::new();
    for server in servers {
        let Some(ca) = server.client_ca().map(str::to_owned) else { continue };
        let addresses: Vec<String> =
            server.listens().iter().map(|listen| listen.address().to_owned()).collect();
        for address in addresses {
            match known.iter().find(|(known, _)| *known == address) {
                Some((_, other)) if *other != ca => {
                    let why = format!(
                        "{}: a listener has one `client_ca`, and {address} has {other}",
                        server.place()
                    );
                    server.close(why);
                }
                Some(_) => {}
                None => known.push((address, ca.clone())),
            }
        }
    }
}
