//! `access`: who may send requests, by address, password, token or certificate.
//!
//! Owns the keys of a rule, and which lists make sense. Never opens a file of users and never compares a client.

use std::path::Path;

use wire::network::{NetworkError, Peers};

use crate::item::Item;
use crate::key::{ConfigKey, SectionKeys, row, section, show_text};
use crate::model::access::{AcceptedNames, AccessRule, Admission, Clients, Users};
use crate::model::config::{Config, ListenerSettings};
use crate::model::encryption::ClientCertificatePolicy;
use crate::problem::Problems;
use crate::section::Section;
use crate::value::{borrowed_text, cannot_be, path, word};
use crate::wording::shown;

/// The text that browsers show if the configuration names none.
const REALM: &str = "Restricted";

/// The row of `access` in a section whose lists end like this.
pub(super) const ACCESS_OF_TOP: ConfigKey = row! {
    "access": section("list of [rules](#access)"), "all clients", Reload,
        "Who may send requests to this server, whatever answers them: files, pages, modules, channels, the store."
};

/// The row of `access` in a host or a route.
pub(super) const ACCESS_OF_PART: ConfigKey = row! {
    "access": section("list of [rules](#access)"), "that of the host, or else of the top level", Reload,
        "Who may send requests here. It replaces the list of the host and of the top level."
};

pub(super) static ACCESS: SectionKeys = section! {
    "[[access]]";
    "deny": apart("network, `\"unix\"` or `\"all\"`, or a list of those"), "none", Reload,
        "Refuses these clients. No other key may be in the same rule.";
    "allow": apart("network, `\"unix\"` or `\"all\"`, or a list of those"),
        "all clients that meet the rest of the rule", Reload,
        "Lets these clients in, if they meet the rest of the rule.";
    "users": apart("path of a file"), "no password", Reload,
        "The request needs the name and password of a user of this file (`Authorization: Basic`). Lines are `NAME:HASH` with a hash of bcrypt or Argon2: `htpasswd -B -c FILE NAME` makes one. The file is read at the start and with a reload.";
    "realm": apart("text"), "`\"Restricted\"`", Reload,
        "What browsers show when they ask for that password.";
    "token": apart("`\"any\"`, or a list of users"), "no token", Reload,
        "The request needs a token of one of these users (`sub`), or an API key, as [channels](channels.md#tokens) take them: `Authorization: Bearer`, or `token` in the query. The keys are those of `[channels]`.";
    "certificate": apart("`\"any\"`, or a list of subjects or SHA-256 fingerprints"), "no certificate", Reload,
        "The connection needs a certificate of a client that `client_ca` of its listener has issued; a subject is written as `openssl x509 -noout -subject -nameopt RFC2253` prints it (RFC 4514): `\"CN=Ada,O=Staff\"`. All of it counts.";
};

/// Reads the list of a section; `None` if it has none.
pub(super) fn read(
    section: &Section<'_>,
    base: &Path,
    problems: &mut Problems,
) -> Option<Vec<AccessRule>> {
    let item = section.item("access")?;
    let before = problems.len();
    let sections = section.sections("access", &ACCESS, problems);
    let rules: Vec<AccessRule> =
        sections.iter().filter_map(|rule| read_rule(rule, base, problems)).collect();
    if problems.len() > before {
        return Some(rules);
    }
    let last = rules.iter().position(is_for_everybody);
    if let Some(unreached) = last.and_then(|last| sections.get(last + 1)) {
        let why = "this rule is never reached: the one before it decides about everybody";
        problems.at(unreached.offset(), why);
    }
    if !rules.iter().any(|rule| matches!(rule, AccessRule::Admit(_))) {
        let why = "`access` lets nobody in; end it with { allow = \"all\" }, or leave it out";
        problems.at(item.key_offset, why);
    }
    Some(rules)
}

/// Whether a rule applies to every request.
fn is_for_everybody(rule: &AccessRule) -> bool {
    let clients = match rule {
        AccessRule::Deny(clients) => clients,
        AccessRule::Admit(Admission { from, users: None, token: None, certificate: None }) => from,
        AccessRule::Admit(_) => return false,
    };
    clients.iter().any(|clients| matches!(clients, Clients::All))
}

fn read_rule(section: &Section<'_>, base: &Path, problems: &mut Problems) -> Option<AccessRule> {
    let before = problems.len();
    let deny = section.read("deny", problems, clients);
    let from = section.read("allow", problems, clients);
    let file = section.read("users", problems, |item| path(item, base));
    let realm = section.read("realm", problems, realm);
    let token = section.read("token", problems, names);
    let certificate = section.read("certificate", problems, subjects);
    if section.has("realm") && !section.has("users") {
        problems.at(section.offset(), "`realm` without `users` has no effect");
    }
    let is_admission = from.is_some() || file.is_some() || token.is_some() || certificate.is_some();
    match (deny, is_admission) {
        _ if problems.len() > before => return None,
        (Some(deny), false) => return Some(AccessRule::Deny(deny)),
        (Some(_), true) => {
            let why = "`deny` beside other keys; write two rules, of which the first that applies decides";
            problems.at(section.offset(), why);
            return None;
        }
        (None, false) => {
            let why = "a rule of `access` needs one of `allow`, `deny`, `users`, `token` and `certificate`";
            problems.at(section.offset(), why);
            return None;
        }
        (None, true) => {}
    }
    let realm = realm.unwrap_or_else(|| REALM.to_owned());
    let users = file.map(|path| Users { path, realm });
    let from = from.unwrap_or_default();
    Some(AccessRule::Admit(Admission { from, users, token, certificate }))
}

/// One value or a list of them.
fn clients(item: &Item<'_>) -> Result<Vec<Clients>, String> {
    one_or_more(item, one_of_clients)
}

fn one_of_clients(item: &Item<'_>) -> Result<Clients, String> {
    let text =
        borrowed_text(item, "a network in quotes such as \"10.0.0.0/8\", \"unix\" or \"all\"")?;
    if text == "all" {
        return Ok(Clients::All);
    }
    text.parse::<Peers>().map(Clients::At).map_err(|error| {
        let others =
            if error == NetworkError::Unreadable { ", or \"unix\" or \"all\"" } else { "" };
        cannot_be(item, text, &format!("{error}{others}"))
    })
}

fn names(item: &Item<'_>) -> Result<AcceptedNames, String> {
    match item.value.as_str() {
        Some("any") => Ok(AcceptedNames::Any),
        Some(text) => Err(cannot_be(item, text, "write \"any\", or a list of names")),
        None => one_or_more(item, word).map(AcceptedNames::These),
    }
}

/// Subjects and fingerprints of certificates. A subject is compared as a text, so it has to be in the one form.
pub(super) fn subjects(item: &Item<'_>) -> Result<AcceptedNames, String> {
    let names = names(item)?;
    let has_blank = |name: &&String| name.contains('=') && name.contains(", ");
    match &names {
        AcceptedNames::These(list) if let Some(name) = list.iter().find(has_blank) => {
            let why = "write a subject without blanks behind its commas, as `openssl x509 -noout -subject \
                       -nameopt RFC2253` prints it";
            Err(cannot_be(item, name, why))
        }
        _ => Ok(names),
    }
}

/// The list as the configuration has it.
pub(super) fn show_names(names: &AcceptedNames) -> String {
    match names {
        AcceptedNames::Any => show_text("any"),
        AcceptedNames::These(names) => {
            let names: Vec<String> = names.iter().map(show_text).collect();
            format!("[{}]", names.join(", "))
        }
    }
}

/// The text that browsers show. The server sends it within quotes.
fn realm(item: &Item<'_>) -> Result<String, String> {
    let text = word(item)?;
    let is_plain = text.chars().all(|letter| !letter.is_control() && !matches!(letter, '"' | '\\'));
    if is_plain {
        Ok(text)
    } else {
        Err(cannot_be(item, &text, "it has a quote or a control character"))
    }
}

fn one_or_more<T>(
    item: &Item<'_>,
    mut read: impl FnMut(&Item<'_>) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let toml::de::DeValue::Array(parts) = item.value else {
        return read(item).map(|one| vec![one]);
    };
    if parts.is_empty() {
        return Err(format!("`{}` must not be empty", shown(item.key)));
    }
    parts.iter().map(|part| read(&item.part(part))).collect()
}

/// Rules that nobody could ever meet; those of the top level are at this offset.
pub(super) fn check(top_offset: Option<usize>, config: &Config, problems: &mut Problems) {
    let top = top_offset.map(|offset| problems.place(offset));
    let hosts = std::iter::once(&config.default_host).chain(&config.hosts);
    let lists = hosts.flat_map(|host| {
        let of_host = host.access.iter().map(move |rules| (host.place.or(top), rules));
        let of_routes = host
            .routes
            .iter()
            .filter_map(|route| route.access.as_ref().map(|rules| (Some(route.place), rules)));
        of_host.chain(of_routes)
    });
    let admissions = lists.flat_map(|(place, rules)| rules.iter().map(move |rule| (place, rule)));
    let (mut token, mut certificate) = (None, None);
    for (place, rule) in admissions {
        let AccessRule::Admit(admission) = rule else { continue };
        if admission.token.is_some() {
            token = token.or(Some(place));
        }
        if admission.certificate.is_some() {
            certificate = certificate.or(Some(place));
        }
    }
    let keys = &config.channel_settings.keys;
    if let Some(place) = token
        && keys.token_keys.is_none()
        && keys.api_keys.is_none()
    {
        problems.add(place, "`token` in `access` needs `token_keys` or `api_keys` in [channels]");
    }
    let asks = |listener: &ListenerSettings| {
        listener.tls.as_ref().is_some_and(|tls| tls.clients != ClientCertificatePolicy::Ignored)
    };
    if config.listeners.iter().any(asks) {
        return;
    }
    if let Some(place) = certificate {
        problems.add(place, "`certificate` in `access` needs a [[listener]] with `client_ca`");
    }
    for channel in &config.channels {
        for (key, certificate) in [
            ("subscribe_certificate", &channel.subscribe_certificate),
            ("publish_certificate", &channel.publish_certificate),
        ] {
            if certificate.is_some() {
                let why = format!("`{key}` needs a [[listener]] with `client_ca`");
                problems.add(Some(channel.place), why);
            }
        }
    }
}
