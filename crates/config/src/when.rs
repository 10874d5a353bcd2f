//! `[route.when]`: what a route asks of a request beyond its path, method and host.
//!
//! Owns the keys of that table, and whether a request meets a condition. All conditions of a route must be met.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use toml::de::DeValue;
use wire::http::target::query_pairs;
use wire::network::Network;

use super::countries::{Countries, Country};
use super::item::Item;
use super::key::{SectionKeys, section};
use super::section::Section;
use super::value::{borrowed_text, cannot_be};
use super::wording::shown;
use super::{ListenerAddress, Problems, field, wildcard};
use crate::route::{Circumstances, RouteRequest};

/// One condition of a route.
#[derive(Debug, Clone, PartialEq)]
pub enum RouteCondition {
    /// A field of the request, by its name in lower case.
    Header {
        /// The name.
        name: String,
        /// The value it must have.
        wanted: WantedValue,
    },
    /// A parameter of the query, by its decoded name.
    Query {
        /// The name.
        name: String,
        /// The value it must have.
        wanted: WantedValue,
    },
    /// The client's address is in one of these networks.
    Address(Vec<Network>),
    /// The client's address is in one of these countries.
    Country {
        /// The countries.
        codes: Vec<Country>,
        /// The country of each address; empty until the file was read.
        map: Arc<Countries>,
    },
    /// The request came through one of these listeners.
    Listener(Vec<ListenerAddress>),
}

/// The value that a field or a parameter must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedValue {
    /// There, whatever its value.
    Present,
    /// Not there.
    Absent,
    /// There with this value, in which `*` stands for any characters.
    Value(String),
}

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

fn wanted(item: &Item<'_>) -> Result<WantedValue, String> {
    match item.value {
        DeValue::Boolean(true) => Ok(WantedValue::Present),
        DeValue::Boolean(false) => Ok(WantedValue::Absent),
        DeValue::String(text) => Ok(WantedValue::Value(text.to_string())),
        _ => Err(item.wrong_type("a text, true or false")),
    }
}

impl RouteCondition {
    /// Whether a request meets it.
    pub(super) fn is_met(&self, request: &RouteRequest<'_>) -> bool {
        let Circumstances { fields, address, listener, .. } = request.circumstances;
        match self {
            Self::Header { name, wanted } => {
                let values = fields.into_iter().flat_map(|fields| fields.iter());
                wanted.accepts(
                    values.filter_map(|(known, value)| {
                        known.eq_ignore_ascii_case(name).then_some(value)
                    }),
                )
            }
            Self::Query { name, wanted } => {
                // All of them: a condition that keeps requests out must see each. The head's bytes are bounded.
                let query = request.query.unwrap_or_default().as_bytes();
                let pairs = query_pairs(query, usize::MAX);
                wanted.accepts(
                    pairs
                        .filter_map(|(known, value)| (*known == *name.as_bytes()).then_some(value)),
                )
            }
            Self::Address(networks) => address.is_some_and(|address: IpAddr| {
                networks.iter().any(|network| network.contains(address))
            }),
            Self::Country { codes, map } => address
                .and_then(|address| map.of(address))
                .is_some_and(|country| codes.contains(&country)),
            Self::Listener(addresses) => {
                listener.is_some_and(|listener| addresses.contains(listener))
            }
        }
    }
}

impl WantedValue {
    /// Whether the values of one name are what is wanted: one of several is enough.
    fn accepts<B: AsRef<[u8]>>(&self, mut values: impl Iterator<Item = B>) -> bool {
        match self {
            Self::Present => values.next().is_some(),
            Self::Absent => values.next().is_none(),
            Self::Value(pattern) => values.any(|value| wildcard::fits(pattern, value.as_ref())),
        }
    }
}

/// The condition in words, for a sentence that begins "it needs".
impl fmt::Display for RouteCondition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |out: &mut fmt::Formatter<'_>, what: &str, name: &str, wanted: &WantedValue| {
            let name = shown(name);
            match wanted {
                WantedValue::Present => write!(out, "the {what} `{name}`"),
                WantedValue::Absent => write!(out, "no {what} `{name}`"),
                WantedValue::Value(value) => {
                    write!(out, "the {what} `{name}` as `{}`", shown(value))
                }
            }
        };
        match self {
            Self::Header { name, wanted } => named(out, "header field", name, wanted),
            Self::Query { name, wanted } => named(out, "query parameter", name, wanted),
            Self::Address(networks) => write!(out, "an address in {}", listed(networks)),
            Self::Country { codes, .. } => write!(out, "an address in {}", listed(codes)),
            Self::Listener(addresses) => write!(out, "the listener {}", listed(addresses)),
        }
    }
}

fn listed(values: &[impl fmt::Display]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    values.join(" or ")
}
