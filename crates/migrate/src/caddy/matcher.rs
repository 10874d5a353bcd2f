//! Matchers of Caddy as those of our routes.
//!
//! Owns which parts of a matcher have a counterpart. One that has a part without is unknown: its route is closed or
//! left out.

use super::placeholders::is_plain;
use super::tree::Directive;
use crate::draft::Matcher;
use crate::word::{list, quoted, table};

/// Which requests a directive is for.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    /// The paths; one is enough.
    pub(super) paths: Vec<Matcher>,
    /// Other lines of a route, as printed.
    pub(super) keys: Vec<(String, String)>,
}

impl Chosen {
    /// All requests.
    pub(super) fn all() -> Self {
        Self { paths: vec![Matcher::all()], keys: Vec::new() }
    }

    /// Whether it is for all requests.
    pub(super) fn is_all(&self) -> bool {
        self.keys.is_empty() && self.paths == [Matcher::all()]
    }
}

/// The named matchers of a site.
#[derive(Debug, Default)]
pub(super) struct Matchers {
    named: Vec<(String, Option<Chosen>)>,
    pub(super) notes: Vec<String>,
}

impl Matchers {
    /// Reads `@name ...`.
    pub(super) fn define(&mut self, line: &Directive) {
        let inner =
            Directive { words: line.arguments().to_vec(), block: None, place: line.place.clone() };
        let lines: Vec<&Directive> = match inner.words.is_empty() {
            true => line.inner().iter().collect(),
            false => vec![&inner],
        };
        let chosen = self.read(&lines);
        self.named.push((line.name().to_owned(), chosen));
    }

    fn read(&mut self, lines: &[&Directive]) -> Option<Chosen> {
        let mut chosen = Chosen { paths: Vec::new(), keys: Vec::new() };
        let mut header = Vec::new();
        let mut query = Vec::new();
        for line in lines {
            let arguments = line.arguments();
            match (line.name(), arguments) {
                ("path", paths) => {
                    for path in paths {
                        chosen.paths.push(path_of(path)?);
                    }
                }
                ("method", methods) => {
                    let methods = methods.iter().map(|method| method.to_ascii_uppercase());
                    chosen.keys.push(("methods".to_owned(), list(methods)));
                }
                ("header", [name]) if !name.starts_with('!') => {
                    header.push((name.clone(), "true".to_owned()));
                }
                ("header", [name]) => {
                    header.push((name.trim_start_matches('!').to_owned(), "false".to_owned()));
                }
                ("header", [name, value]) if is_plain(value) => {
                    header.push((name.clone(), quoted(value)));
                }
                ("query", pairs) => {
                    for pair in pairs {
                        let (name, value) = pair.split_once('=')?;
                        let value = if value == "*" { "true".to_owned() } else { quoted(value) };
                        query.push((name.to_owned(), value));
                    }
                }
                ("remote_ip" | "client_ip", networks) => {
                    let networks = networks.iter().flat_map(|one| match one.as_str() {
                        "private_ranges" => PRIVATE.to_vec(),
                        one => vec![one],
                    });
                    chosen.keys.push(("address".to_owned(), list(networks)));
                }
                _ => {
                    self.notes.push(line.told("this matcher has no counterpart"));
                    return None;
                }
            }
        }
        let lend = |entries: &[(String, String)]| {
            table(entries.iter().map(|(name, value)| (&**name, value.clone())))
        };
        let mut when = Vec::new();
        if !header.is_empty() {
            when.push(("header", lend(&header)));
        }
        if !query.is_empty() {
            when.push(("query", lend(&query)));
        }
        if let Some(index) = chosen.keys.iter().position(|(name, _)| name == "address") {
            when.push(("address", chosen.keys.remove(index).1));
        }
        if !when.is_empty() {
            chosen.keys.push(("when".to_owned(), table(when)));
        }
        if chosen.paths.is_empty() {
            chosen.paths.push(Matcher::all());
        }
        Some(chosen)
    }

    /// The matcher at the beginning of arguments, and the arguments after it. `None`: it has no counterpart.
    pub(super) fn of<'a>(&self, arguments: &'a [String]) -> (Option<Chosen>, &'a [String]) {
        match arguments {
            [first, rest @ ..] if first == "*" => (Some(Chosen::all()), rest),
            [first, rest @ ..] if first.starts_with('/') => {
                let path = path_of(first);
                (path.map(|path| Chosen { paths: vec![path], keys: Vec::new() }), rest)
            }
            [first, rest @ ..] if first.starts_with('@') => {
                let known = self.named.iter().rev().find(|(name, _)| name == first);
                (known.and_then(|(_, chosen)| chosen.clone()), rest)
            }
            rest => (Some(Chosen::all()), rest),
        }
    }
}

/// The networks of `private_ranges`.
const PRIVATE: [&str; 6] =
    ["192.168.0.0/16", "172.16.0.0/12", "10.0.0.0/8", "127.0.0.0/8", "fd00::/8", "::1"];

/// A path of Caddy, in which a `*` at the end stands for anything, slashes too.
pub(super) fn path_of(text: &str) -> Option<Matcher> {
    if !text.starts_with('/') && !text.starts_with('*') || !is_plain(text) {
        return None;
    }
    let inner = text.strip_suffix('*').unwrap_or(text);
    let is_fine = |text: &str| !text.contains(['?', '%']) && !text.contains("//");
    if !is_fine(text) {
        return None;
    }
    match (text.strip_prefix('*'), inner.contains('*')) {
        // `*.php`
        (Some(ending), _) if !ending.contains(['*', '/']) && !ending.is_empty() => {
            Some(Matcher::Glob(format!("/**/*{ending}")))
        }
        (Some(_), _) => None,
        (None, false) if inner.len() == text.len() => Some(Matcher::Path(text.to_owned())),
        (None, false) => Some(Matcher::Prefix(inner.to_owned())),
        // A star in between stands for anything but a slash.
        (None, true) if inner.len() == text.len() => Some(Matcher::Glob(text.to_owned())),
        (None, true) => None,
    }
}

/// The requests that a matcher in a block takes; `None` if none can say so.
pub(super) fn within(outer: &Chosen, inner: Chosen) -> Option<Chosen> {
    if outer.is_all() {
        return Some(inner);
    }
    let mut keys = outer.keys.clone();
    for (name, value) in inner.keys {
        if keys.iter().any(|(known, _)| *known == name) {
            return None;
        }
        keys.push((name, value));
    }
    let is_all = inner.paths == [Matcher::all()];
    let outer_is_all = outer.paths == [Matcher::all()];
    let paths = match (is_all, outer_is_all) {
        (true, _) => outer.paths.clone(),
        (false, true) => inner.paths,
        (false, false) => {
            let is_below = |path: &Matcher| {
                match path {
                Matcher::Path(text) | Matcher::Prefix(text) | Matcher::Glob(text) => outer
                    .paths
                    .iter()
                    .any(|outer| matches!(outer, Matcher::Prefix(prefix) if text.starts_with(&**prefix))),
            }
            };
            inner.paths.iter().all(is_below).then_some(inner.paths)?
        }
    };
    Some(Chosen { paths, keys })
}
