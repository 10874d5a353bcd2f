//! Directives of Caddy that answer requests, or say what answers look like.
//!
//! Owns what is written in them. Never knows which requests they are for.

use super::layer::{Effect, Effects};
use super::placeholders::{field_value, is_plain, target};
use crate::directive::Directive;
use crate::route::Action;
use crate::word::{list, quoted, size};

/// The effects of a directive on requests that later ones answer; `None` if it is another one.
///
/// # Errors
/// Why it has no counterpart, as for all of these.
pub(super) fn effects(
    line: &Directive,
    arguments: &[String],
) -> Result<Option<Vec<Effect>>, String> {
    let unknown = || line.unknown();
    let effect = match (line.name(), arguments) {
        ("header", _) => return header(line, arguments).map(Some),
        ("root", [path]) if path.starts_with('/') && is_plain(path) => Effect::Root(path.clone()),
        ("request_body", _) => {
            let [inner] = line.inner() else { return Err(unknown()) };
            let size = size(inner.argument(0)).filter(|_| inner.name() == "max_size");
            Effect::Key("body_size", size.ok_or_else(unknown)?)
        }
        ("request_header", [name, rest @ ..]) if rest.len() < 2 && !name.starts_with('+') => {
            let value = rest.first().map_or("", String::as_str);
            let value = field_value(value).ok_or_else(unknown)?;
            if value.is_empty() != name.starts_with('-') {
                return Err(unknown());
            }
            Effect::Field(name.trim_start_matches('-').to_owned(), value)
        }
        _ => return Ok(None),
    };
    Ok(Some(vec![effect]))
}

/// `header [NAME VALUE]`.
fn header(line: &Directive, arguments: &[String]) -> Result<Vec<Effect>, String> {
    let own = line.head().with_words(arguments.to_vec());
    let lines = if arguments.is_empty() { line.inner() } else { std::slice::from_ref(&own) };
    let mut effects = Vec::new();
    for inner in lines {
        let unknown = || line.told("a field of it has no counterpart");
        let (name, value) = match inner.words() {
            // Nothing that we send by ourselves is removed but our name, which we do not send.
            [name] if name == "defer" || name.eq_ignore_ascii_case("-server") => continue,
            [name, value]
                if is_plain(value) && !value.is_empty() && !name.starts_with(['-', '+']) =>
            {
                (name, value)
            }
            _ => return Err(unknown()),
        };
        let name = name.trim_start_matches(['?', '>']);
        effects.push(match name.to_ascii_lowercase().as_str() {
            "cache-control" => Effect::Key("cache_control", quoted(value)),
            "location" | "content-type" | "content-encoding" | "content-length" => {
                return Err(unknown());
            }
            "connection" | "keep-alive" | "date" | "alt-svc" => continue,
            _ => Effect::Header(name.to_owned(), value.clone()),
        });
    }
    Ok(effects)
}

/// `redir TO [CODE]`: where to, and the status.
pub(super) fn redir<'a>(
    line: &Directive,
    arguments: &'a [String],
) -> Result<(&'a str, u16), String> {
    let (to, code) = match arguments {
        [to] => (to, "302"),
        [to, code] => (to, code.as_str()),
        _ => return Err(line.unknown()),
    };
    let status = match code {
        "permanent" => Some(301),
        "temporary" => Some(302),
        code => code.parse().ok().filter(|code| matches!(code, 301 | 302 | 303 | 307 | 308)),
    };
    Ok((to, status.ok_or_else(|| line.unknown())?))
}

/// `respond [BODY] [STATUS]`, `error [MESSAGE] STATUS`: the status and the text.
pub(super) fn respond(line: &Directive, arguments: &[String]) -> Result<(u16, String), String> {
    let unknown = || line.unknown();
    let is_error = line.name() == "error";
    let fallback = if is_error { 500 } else { 200 };
    let is_status = |text: &String| text.len() == 3 && text.parse::<u16>().is_ok();
    let (mut body, mut status) = match arguments {
        [] => (String::new(), fallback),
        [one] if is_status(one) => (String::new(), one.parse().map_err(|_| unknown())?),
        [body] => (body.clone(), fallback),
        [body, status] => (body.clone(), status.parse().map_err(|_| unknown())?),
        _ => return Err(unknown()),
    };
    for inner in line.inner() {
        match inner.name() {
            "body" => body = inner.argument(0).to_owned(),
            "close" => {}
            _ => return Err(inner.unknown()),
        }
    }
    if !is_plain(&body) || !(200..=599).contains(&status) {
        return Err(unknown());
    }
    if is_error {
        body.clear();
        status = status.max(400);
    }
    Ok((status, body))
}

pub(super) struct FileServer {
    root: Option<String>,
    /// As printed.
    settings: Vec<(String, String)>,
}

impl FileServer {
    /// Reads it; `tries` are the paths of a `try_files` before it.
    pub(super) fn read(
        line: &Directive,
        arguments: &[String],
        tries: Option<&[String]>,
    ) -> Result<Self, String> {
        let mut has_listing = arguments == ["browse"];
        if !has_listing && !arguments.is_empty() {
            return Err(line.unknown());
        }
        let (mut root, mut index) = (None, list(["index.html", "index.txt"]));
        for inner in line.inner() {
            match (inner.name(), inner.arguments()) {
                ("browse", []) if !inner.has_block() => has_listing = true,
                ("index", names) if names.iter().all(|name| !name.contains(['/', '{'])) => {
                    index = list(names);
                }
                ("root", [path]) if path.starts_with('/') && is_plain(path) => {
                    root = Some(path.clone());
                }
                ("precompressed" | "etag_file_extensions", _) => {}
                _ => return Err(inner.unknown()),
            }
        }
        // `try_files {path}` alone finds no directory.
        if tries.is_some_and(|tries| !tries.iter().any(|path| path.ends_with('/'))) {
            index = "[]".to_owned();
            has_listing = false;
        }
        let mut settings = vec![("index".to_owned(), index)];
        settings.extend(has_listing.then(|| ("listing".to_owned(), "true".to_owned())));
        settings.extend(tries.map(|tries| ("try".to_owned(), list(tries))));
        Ok(Self { root, settings })
    }

    /// The action of a route; `None` if its root has no counterpart.
    pub(super) fn action(&self, effects: &Effects) -> Option<Action> {
        let root = self.root.as_deref().or(effects.root())?.trim_end_matches('/');
        let root = ("root".to_owned(), quoted(if root.is_empty() { "/" } else { root }));
        Some(Action::Files(std::iter::once(root).chain(self.settings.clone()).collect()))
    }
}

/// The paths of `try_files`.
pub(super) fn tries(line: &Directive, paths: &[String]) -> Result<Vec<String>, String> {
    let mut tries = Vec::new();
    for path in paths {
        match target(path, Some("$path")).filter(|path| {
            !path.contains('?') && !path.contains("$query") && !path.contains("$host")
        }) {
            _ if path == "=404" => {}
            Some(path)
                if path.starts_with("$path") || path.starts_with('/') && !path.contains('$') =>
            {
                tries.push(path)
            }
            _ => return Err(line.unknown()),
        }
    }
    Ok(tries)
}
