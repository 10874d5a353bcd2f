//! Fixed answers of Caddy, and the addresses of servers that it proxies to.
//!
//! Owns their syntax. Never makes a route.

use super::placeholders::is_plain;
use super::tree::Directive;
use crate::draft::{Action, Section};

/// An address of a proxied server with its port; `None` if it has a placeholder.
pub(super) fn address(server: &str) -> Option<String> {
    if !is_plain(server) {
        return None;
    }
    if let Some(path) = server.strip_prefix("unix/") {
        return Some(format!("unix:{path}"));
    }
    let (port, rest) = match (server.strip_prefix("https://"), server.strip_prefix("http://")) {
        (Some(rest), _) => ("443", rest),
        (None, Some(rest)) => ("80", rest),
        (None, None) => ("80", server),
    };
    let rest = rest.trim_end_matches('/');
    let rest = if rest.starts_with(':') { format!("127.0.0.1{rest}") } else { rest.to_owned() };
    let has_port = rest.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    Some(if has_port { rest } else { format!("{rest}:{port}") })
}

/// How a server of an upstream is chosen.
pub(super) fn balance(line: &Directive, policy: &str, section: &mut Section) {
    match policy {
        "round_robin" => section.set("balance", "\"round-robin\""),
        "least_conn" => section.set("balance", "\"least\""),
        "ip_hash" | "client_ip_hash" => {
            section.set("balance", "\"hash\"");
            section.set("hash", "\"address\"");
        }
        "uri_hash" => {
            section.set("balance", "\"hash\"");
            section.set("hash", "\"path\"");
        }
        "random" | "random_choose" | "first" => {}
        _ => section.note(line.told("no counterpart")),
    }
}

/// `respond [BODY] [STATUS]`, `error [MESSAGE] STATUS`.
pub(super) fn answer(line: &Directive, arguments: &[String]) -> Option<Action> {
    let fallback = if line.name() == "error" { 500 } else { 200 };
    let is_status = |text: &str| text.len() == 3 && text.parse::<u16>().is_ok();
    let (body, status) = match arguments {
        [] => ("", fallback),
        [one] if is_status(one) => ("", one.parse().ok()?),
        [body] => (body.as_str(), fallback),
        [body, status] => (body.as_str(), status.parse().ok()?),
        _ => return None,
    };
    is_plain(body).then(|| Action::Respond { status, body: body.to_owned() })
}
