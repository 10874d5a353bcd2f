//! The documentation matches the server: its keys, its defaults, its example.

use std::path::Path;

use config::route::RouteRequest;
use config::{Config, Overrides, SECTIONS};

use super::{config, table};

const DOCUMENT: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md"));

/// The documentation's table of each section is the one generated from the rows. If it differs, this prints the correct
/// one.
#[test]
fn the_tables_are_those_of_the_rows() {
    for section in SECTIONS {
        let name = if section.name.is_empty() { "Top level" } else { section.name };
        let heading = [format!("\n## {name}\n"), format!("\n## `{name}`\n")];
        let part = heading.iter().find_map(|heading| DOCUMENT.split_once(heading.as_str()));
        let (_, part) = part.unwrap_or_else(|| panic!("no heading for {name}"));
        let part = part.split("\n## ").next().unwrap();
        let found: String = part
            .lines()
            .filter(|line| line.starts_with('|'))
            .map(|line| format!("{line}\n"))
            .collect();
        let right = config::table(section);
        let right = if right.lines().count() > 2 { right } else { String::new() };
        assert_eq!(found, right, "the right table of {name}:\n{right}");
    }
}

/// The printed defaults of these sections, no longer commented out. Keys without a default are left out.
fn uncommented(sections: &[&str]) -> String {
    let mut is_wanted = false;
    let mut text = String::new();
    for line in config::defaults().lines() {
        let Some(line) = line.strip_prefix('#') else { continue };
        if line.starts_with('[') {
            is_wanted = sections.contains(&line);
        }
        if is_wanted && !line.starts_with(' ') && !line.ends_with(" =") {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[test]
fn the_printed_defaults_mean_the_same_as_no_file() {
    assert_eq!(config(&config::defaults()), config(""), "it is all commented out");
    // The other sections need keys that have no default.
    let text = uncommented(&[
        "[files]",
        "[pages]",
        "[channels]",
        "[store]",
        "[limits]",
        "[log]",
        "[admin]",
    ]);
    assert!(text.lines().count() >= 45, "{text}");
    assert_eq!(config(&text), config(""), "{text}");
}

#[test]
fn the_printed_defaults_of_a_listener_are_its_defaults() {
    let text = uncommented(&["[[listener]]"]);
    // Two keys apply to other addresses.
    let others =
        |line: &&str| !line.starts_with("mode ") && !line.starts_with("proxy_protocol_from ");
    let text: Vec<&str> = text.lines().filter(others).collect();
    assert!(text.len() >= 4, "{text:?}");
    let plain = "[[listener]]\naddress = \"127.0.0.1:80\"";
    let written = text.join("\n").replacen("[[listener]]", plain, 1);
    assert_eq!(config(&written), config(plain), "{written}");
}

#[test]
fn a_key_that_needs_a_restart_is_named_by_the_reload_check() {
    let old = config(example());
    let changes = [
        ("schedulers = ", "schedulers = 3\n", "schedulers"),
        ("backlog = ", "backlog = 77\n", "listener.backlog"),
        ("table_size = ", "table_size = \"8 MiB\"\n", "pages.table_size"),
        ("fetch = ", "fetch = [\"example.org\"]\n", "pages.fetch"),
        ("limit_keys = ", "limit_keys = 2048\n", "limits.limit_keys"),
        ("access = \"", "access = \"stdout\"\n", "log.access"),
        ("metrics = ", "metrics = \"127.0.0.1:9\"\n", "admin.metrics"),
    ];
    for (line, other, name) in changes {
        let mut is_changed = false;
        let text: String = example()
            .lines()
            .map(|found| {
                match found.starts_with(line) && !std::mem::replace(&mut is_changed, true) {
                    true => other.to_owned(),
                    false => format!("{found}\n"),
                }
            })
            .collect();
        assert!(is_changed, "{line} is not in the example");
        assert_eq!(config::needs_restart(&old, &config(&text)), [name]);
    }
    assert_eq!(config::needs_restart(&old, &old), [""; 0]);
}

/// A value that only a reload uses is not named.
#[test]
fn other_keys_change_with_a_reload() {
    let old = config(example());
    for (from, to) in [
        ("compress = false", "compress = true"),
        ("level = \"info\"", "level = \"debug\""),
        ("drain_deadline = \"30s\"", "drain_deadline = \"5s\""),
        ("cache_size = \"64 MiB\"", "cache_size = \"1 MiB\""),
        ("keep_alive = \"75s\"", "keep_alive = \"5s\""),
    ] {
        assert!(example().contains(from), "{from}");
        let new = config(&example().replacen(from, to, 1));
        assert_ne!(old, new, "{from}");
        assert_eq!(config::needs_restart(&old, &new), [""; 0], "{from}");
    }
}

fn example() -> &'static str {
    let (_, rest) = DOCUMENT.split_once("## A complete example\n").unwrap();
    let (_, rest) = rest.split_once("```toml\n").unwrap();
    rest.split_once("```").unwrap().0
}

#[test]
fn every_example_of_the_document_is_a_valid_configuration() {
    let examples =
        DOCUMENT.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    assert!(examples.map(config).count() >= 3);
}

#[test]
fn the_example_loads_and_compiles() {
    let config = config(example());
    assert_eq!(config.listeners.len(), 6);
    assert_eq!(config.hosts.len(), 1);
    assert_eq!(config.default_host.routes.len(), 13);
    let explanation = table(example()).explain(&RouteRequest::new(
        Some("example.net"),
        "GET",
        "/static/a.css",
        None,
    ));
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
        for key in section.names() {
            if !tables.iter().any(|table| table.contains_key(key)) {
                missing.push((section.name, key));
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
