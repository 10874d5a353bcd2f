//! `[route.when]`: what a route asks of a request beyond its path, method and host.
//!
//! Owns the keys of that table. Whether a request meets a condition is in `route`; all of a route must be met.

use std::sync::Arc;

use toml::de::DeValue;

use crate::address::ListenerAddress;
use crate::countries::Country;
use crate::field;
use crate::item::Item;
use crate::key::{SectionKeys, section};
use crate::model::config::{Config, Protocol};
use crate::model::when::{RouteCondition, WantedValue};
use crate::overrides::Overrides;
use crate::problem::Problems;
use crate::section::Section;
use crate::value::{borrowed_text, cannot_be};
use crate::wording::{enumerate, shown};

pub(super) static WHEN: SectionKeys = section! {
    "route.when";
    "header": section("table of fields"), "any", Reload,
        "Fields of the request: `header = { X-Beta = \"yes\" }`. The value is a text, in which `*` matches any characters, `true` for a field that is there, or `false` for one that is not.";
    "query": section("table of parameters"), "any", Reload,
        "Parameters of the query, decoded: `query = { version = \"2*\", debug = false }`, with values as for `header`.";
    "address": apart("list of networks"), "any", Reload,
        "Networks of clients: `[\"10.0.0.0/8\", \"2001:db8::/32\"]`. A client of a Unix socket has no address and matches none.";
    "country": apart("list of countries"), "any", Reload,
        "Countries of clients, by two letters: `[\"DE\", \"AT\"]`, as the file `countries` at the top level says. An address that the file does not have matches none.";
    "listener": apart("list of addresses"), "any", Reload,
        "Listeners through which the request came, by their `address`: `[\"127.0.0.1:8081\"]`.";
};

/// Reads the table `when` of a route.
pub(super) fn read(route: &Section<'_>, problems: &mut Problems) -> Vec<RouteCondition> {
    let Some(section) = route.section("when", &WHEN, problems) else { return Vec::new() };
    let mut conditions = Vec::new();
    for item in section.entries("header", problems) {
        if !field::is_name(item.key) {
            problems.at(item.key_offset, format!("`{}` is not a field name", shown(item.key)));
            continue;
        }
        let name = item.key.to_ascii_lowercase();
        let wanted = wanted(&item).map_err(|why| problems.at(item.offset, why));
        conditions.extend(wanted.ok().map(|wanted| RouteCondition::Header { name, wanted }));
    }
    for item in section.entries("query", problems) {
        let name = item.key.to_owned();
        let wanted = wanted(&item).map_err(|why| problems.at(item.offset, why));
        conditions.extend(wanted.ok().map(|wanted| RouteCondition::Query { name, wanted }));
    }
    let networks = section.list("address", problems, |item| {
        let text = borrowed_text(item, "a network in quotes such as \"10.0.0.0/8\"")?;
        text.parse()
            .map_err(|error: wire::network::NetworkError| cannot_be(item, text, &error.to_string()))
    });
    conditions.extend(networks.map(RouteCondition::Address));
    let codes = section.list("country", problems, |item| {
        let text = borrowed_text(item, "a country in quotes such as \"DE\"")?;
        Country::parse(text).ok_or_else(|| {
            cannot_be(item, text, "write the two letters of a country, as in \"DE\"")
        })
    });
    conditions.extend(codes.map(|codes| RouteCondition::Country { codes, map: Arc::default() }));
    let addresses = section.list("listener", problems, |item| {
        let text = borrowed_text(item, "the address of a listener, such as \"127.0.0.1:8080\"")?;
        text.parse::<ListenerAddress>().map_err(|error| cannot_be(item, text, &error.to_string()))
    });
    conditions.extend(addresses.map(RouteCondition::Listener));
    for key in ["address", "country", "listener"] {
        if let (Some(item), true) = (section.item(key), section.is_empty_list(key)) {
            problems.at(item.offset, format!("`{key}` is empty, so the route would never match"));
        }
    }
    conditions
}

/// Requests come through each listener that a route asks for, unless the command line names others.
pub(super) fn check(config: &Config, overrides: &Overrides, problems: &mut Problems) {
    if !overrides.listen.is_empty() {
        return;
    }
    let of_http = config.listeners.iter().filter(|listener| listener.protocol == Protocol::Http);
    let known: Vec<String> = of_http.map(|listener| listener.address.to_string()).collect();
    let hosts = std::iter::once(&config.default_host).chain(&config.hosts);
    for route in hosts.flat_map(|host| &host.routes) {
        let asked = route.conditions.iter().filter_map(|condition| match condition {
            RouteCondition::Listener(addresses) => Some(addresses),
            _ => None,
        });
        for address in asked.flatten().map(ToString::to_string) {
            if !known.contains(&address) {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                let known = enumerate(&known, '"');
                let what = "`listener` in `when`: there is no [[listener]] with the address";
                problems.add(
                    Some(route.place),
                    format!("{what} \"{}\"; known are {known}", shown(&address)),
                );
            }
        }
    }
}

fn wanted(item: &Item<'_>) -> Result<WantedValue, String> {
    match item.value {
        DeValue::Boolean(true) => Ok(WantedValue::Present),
        DeValue::Boolean(false) => Ok(WantedValue::Absent),
        DeValue::String(text) => Ok(WantedValue::Value(text.to_string())),
        _ => Err(item.wrong_type("a text, true or false")),
    }
}
