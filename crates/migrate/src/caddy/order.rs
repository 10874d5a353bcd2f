//! The order in which Caddy runs the directives of a block, whatever their order in the file.
//!
//! Owns that list. Never knows what a directive does.

use super::tree::Directive;

/// The order of directives in a block, as Caddy sorts them. Those that are not here answer nothing.
const ORDER: [&str; 22] = [
    "root",
    "header",
    "request_body",
    "redir",
    "rewrite",
    "uri",
    "try_files",
    "basic_auth",
    "basicauth",
    "forward_auth",
    "request_header",
    "encode",
    "templates",
    "handle",
    "handle_path",
    "route",
    "abort",
    "error",
    "respond",
    "reverse_proxy",
    "php_fastcgi",
    "file_server",
];

/// The directives of a block in Caddy's order; those of one kind with the longest path first.
pub(super) fn sorted(lines: &[Directive]) -> Vec<&Directive> {
    let mut sorted: Vec<&Directive> = lines.iter().collect();
    sorted.sort_by_key(|line| {
        let place = ORDER.iter().position(|name| *name == line.name()).unwrap_or(0);
        let path = line.arguments().first().map_or("", String::as_str);
        let length = match path {
            path if path.starts_with('/') => path.len(),
            path if path.starts_with('@') => 1,
            _ => 0,
        };
        (place, usize::MAX - length)
    });
    sorted
}
