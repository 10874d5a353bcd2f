//! `[route.when]` as plain data.
//!
//! Owns the shape and the defaults. Never reads text: `when` does.

use std::fmt;
use std::sync::Arc;

use wire::network::Network;

use crate::address::ListenerAddress;
use crate::countries::{Countries, Country};
use crate::wording::shown;

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
