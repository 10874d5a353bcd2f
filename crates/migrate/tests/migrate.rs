//! Configurations of nginx and Caddy, printed as ours.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test is to be seen")]

#[path = "migrate/caddy.rs"]
mod caddy;
#[path = "migrate/nginx.rs"]
mod nginx;
#[path = "migrate/validity.rs"]
mod validity;

use std::path::Path;

use config::route::{RouteRequest, Table};
use config::{Config, Overrides};

/// The table of a printed configuration, which must be valid.
fn table(text: &str) -> (Config, Table) {
    let config =
        Config::from_text(text, "velodrome.toml", Path::new("/base"), &Overrides::default());
    let config = config.unwrap_or_else(|errors| panic!("{errors}\n--- in\n{text}"));
    let table = Table::compile(&config).unwrap_or_else(|errors| panic!("{errors}\n--- in\n{text}"));
    (config, table)
}

/// The result of a request, in one line.
fn result(table: &Table, host: &str, path: &str) -> String {
    table.explain(&RouteRequest::new(Some(host), "GET", path, Some("q=1"))).result
}

/// Whether the configuration of today has a section: others are printed for one that has.
fn has_section(name: &str) -> bool {
    config::SECTIONS.iter().any(|section| section.name == name)
}
