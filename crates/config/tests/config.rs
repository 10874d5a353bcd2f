//! The configuration and the route table: every key, every error with its text, every path through the table.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test is to be seen")]

#[path = "config/acme.rs"]
mod acme;
#[path = "config/built_in.rs"]
mod built_in;
#[path = "config/document.rs"]
mod document;
#[path = "config/edge.rs"]
mod edge;
#[path = "config/errors.rs"]
mod errors;
#[path = "config/explain.rs"]
mod explain;
#[path = "config/includes.rs"]
mod includes;
#[path = "config/keys.rs"]
mod keys;
#[path = "config/maps.rs"]
mod maps;
#[path = "config/outside.rs"]
mod outside;
#[path = "config/pages.rs"]
mod pages;
#[path = "config/properties.rs"]
mod properties;
#[path = "config/quantities.rs"]
mod quantities;
#[path = "config/routes.rs"]
mod routes;
#[path = "config/tries.rs"]
mod tries;
#[path = "config/upstreams.rs"]
mod upstreams;
#[path = "config/values.rs"]
mod values;
#[path = "config/when.rs"]
mod when;

use std::path::Path;

use config::route::RouteTable;
use config::{Config, ConfigErrors, Overrides};

/// Reads a text as if it were the file `velodrome.toml` in `/base`.
fn read(text: &str) -> Result<Config, ConfigErrors> {
    read_within(text, &outside::Table::usual())
}

/// The same with these files and variables outside.
fn read_within(text: &str, outside: &outside::Table) -> Result<Config, ConfigErrors> {
    let base = Path::new("/base");
    Config::from_text_within(text, "velodrome.toml", base, &Overrides::default(), outside)
}

/// The configuration of a valid text.
fn config(text: &str) -> Config {
    read(text).unwrap_or_else(|errors| panic!("{errors}\n--- in\n{text}"))
}

/// The table of a valid text.
fn table(text: &str) -> RouteTable {
    RouteTable::compile(&config(text)).unwrap_or_else(|errors| panic!("{errors}\n--- in\n{text}"))
}

/// The problems of a text, in the file or in its routes together.
fn errors(text: &str) -> String {
    match read(text) {
        Err(errors) => errors.to_string(),
        Ok(config) => {
            RouteTable::compile(&config).map_or_else(|errors| errors.to_string(), |_| String::new())
        }
    }
}
