//! The documentation says what the server does: its keys, its defaults, its example.

use std::collections::BTreeSet;
use std::path::Path;

use config::{Config, Overrides, SECTIONS};

use super::{config, table};

const DOCUMENT: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md"));

/// A row of a table of keys.
struct Row<'d> {
    section: &'d str,
    key: &'d str,
    default: &'d str,
}

fn rows() -> Vec<Row<'static>> {
    let mut section = "";
    let mut rows = Vec::new();
    for line in DOCUMENT.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading.trim_matches('`');
        }
        let Some(row) = line.strip_prefix("| `") else { continue };
        let (key, rest) = row.split_once("` | ").unwrap();
        let default = rest.split(" | ").nth(1).unwrap();
        rows.push(Row { section, key, default });
    }
    rows
}

#[test]
fn every_key_is_documented_and_every_documented_key_exists() {
    let documented: BTreeSet<(&str, &str)> =
        rows().iter().map(|row| (row.section, row.key)).collect();
    let known: BTreeSet<(&str, &str)> = SECTIONS
        .iter()
        .flat_map(|section| {
            let name = if section.name.is_empty() { "Top level" } else { section.name };
            section.keys.iter().map(move |key| (name, *key))
        })
        .collect();
    assert!(!known.is_empty());
    assert_eq!(known.difference(&documented).collect::<Vec<_>>(), [&("", ""); 0], "undocumented");
    assert_eq!(documented.difference(&known).collect::<Vec<_>>(), [&("", ""); 0], "unknown");
}

#[test]
fn writing_a_documented_default_changes_nothing() {
    let mut compared = 0;
    for row in rows() {
        let Some(default) = row.default.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'))
        else {
            continue;
        };
        let (before, key) = match row.section {
            "Top level" if row.key == "listener" => ("[[listener]]\n", "address"),
            "Top level" => ("", row.key),
            "[[listener]]" => ("[[listener]]\naddress = \"unix:/a\"\n", row.key),
            "route.redirect" => {
                ("[[route]]\npath = \"/a\"\n[route.redirect]\nto = \"/b\"\n", row.key)
            }
            "route.respond" => ("[[route]]\npath = \"/a\"\n[route.respond]\n", row.key),
            section => (&*format!("{section}\n").leak(), row.key),
        };
        let before = match (row.section, row.key) {
            ("[[listener]]", "defer_accept") => "[[listener]]\naddress = \"127.0.0.1:80\"\n",
            _ => before,
        };
        let value =
            if row.key == "listener" { format!("\"{default}\"") } else { default.to_owned() };
        let mut written = config(&format!("{before}{key} = {value}\n"));
        let mut absent = if row.key == "listener" { config("") } else { config(before) };
        for config in [&mut written, &mut absent] {
            for listener in &mut config.listeners {
                listener.place = None;
            }
        }
        assert_eq!(written, absent, "{} in {}", row.key, row.section);
        compared += 1;
    }
    assert!(compared >= 40, "only {compared} defaults were compared");
}

fn example() -> &'static str {
    let (_, rest) = DOCUMENT.split_once("```toml\n").unwrap();
    rest.split_once("```").unwrap().0
}

#[test]
fn the_example_loads_and_compiles() {
    let config = config(example());
    assert_eq!(config.listeners.len(), 3);
    assert_eq!(config.hosts.len(), 1);
    assert_eq!(config.default_host.routes.len(), 7);
    let explanation = table(example()).explain(Some("example.net"), "GET", "/static/a.css");
    assert_eq!(explanation.result, "the file `/a.css` below /base/assets");
}

#[test]
fn the_example_has_every_key() {
    let document: toml::Table = example().parse().unwrap();
    let mut missing = Vec::new();
    for section in SECTIONS {
        let path = section.name.trim_matches(['[', ']']);
        let mut tables = vec![&document];
        for name in path.split('.').filter(|name| !name.is_empty()) {
            tables = tables.iter().filter_map(|table| table.get(name)).flat_map(children).collect();
        }
        // The tables of a route are the same for all hosts.
        for key in section.keys {
            if !tables.iter().any(|table| table.contains_key(*key)) {
                missing.push((section.name, *key));
            }
        }
    }
    assert_eq!(missing, [("", ""); 0]);
}

fn children(value: &toml::Value) -> Vec<&toml::Table> {
    match value {
        toml::Value::Table(table) => vec![table],
        toml::Value::Array(parts) => parts.iter().filter_map(toml::Value::as_table).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn the_defaults_are_those_of_the_limits() {
    let config = Config::without_file(Path::new("/"), &Overrides::default()).unwrap();
    assert_eq!(config.limits.head_size, config::limits::HEAD_SIZE);
    assert_eq!(config.limits.keep_alive, Some(config::limits::KEEP_ALIVE));
    assert_eq!(config.file_cache.size, config::limits::CACHE_SIZE);
}
