//! Rule about scheduler threads: none of std's descriptor and lock types where schedulers live.
//!
//! A second line behind clippy's disallowed types: it knows more types, and sees code that a lint run
//! did not compile. With private descriptor tables a std file dropped on another thread closes a
//! stranger's descriptor.

use crate::tidy::Finding;
use crate::tidy::source::{Source, is_word_character};
use crate::tidy::tree::Tree;

/// Where schedulers live.
const FOLDERS: [&str; 10] = [
    "crates/actors/src/",
    "crates/config/src/",
    "crates/files/src/",
    "crates/http/src/",
    "crates/local/src/",
    "crates/pages/src/",
    "crates/resp/src/",
    "crates/runtime/src/",
    "crates/server/src/",
    "crates/wire/src/",
];

/// Types by path below `std`.
const BANNED: [&str; 14] = [
    "fs::File",
    "fs::OpenOptions",
    "net::TcpListener",
    "net::TcpStream",
    "net::UdpSocket",
    "os::unix::net::UnixDatagram",
    "os::unix::net::UnixListener",
    "os::unix::net::UnixStream",
    "sync::Condvar",
    "sync::LazyLock",
    "sync::Mutex",
    "sync::OnceLock",
    "sync::RwLock",
    "thread::sleep",
];

/// A line comment that starts so, on the line or right above it, lifts the rule and says why.
const MARK: &str = "// Not on a scheduler:";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.sources
        .iter()
        .filter(|source| FOLDERS.iter().any(|folder| source.path.starts_with(folder)))
        .flat_map(check_source)
        .collect()
}

fn check_source(source: &Source) -> Vec<Finding> {
    // Clippy's expectation carries its reason and covers the same ground.
    if source.code.iter().any(|line| line.contains("expect(clippy::disallowed_types")) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (number, path) in paths(source) {
        let Some(banned) = BANNED.iter().find(|banned| names(&path, banned)) else { continue };
        let index = number - 1;
        if source.in_test[index] || is_marked(source, index) {
            continue;
        }
        findings.push(Finding::new(
            &source.path,
            number,
            format!("std::{banned} must not meet a scheduler"),
            format!("use the type of crates/sys or a mailbox, or say why with `{MARK} ..`"),
        ));
    }
    findings
}

/// Whether the line itself or the comment above it carries the mark.
fn is_marked(source: &Source, index: usize) -> bool {
    let above = source.lines[..index].iter().rev();
    let comment = above.take_while(|line| line.trim_start().starts_with("//"));
    source.lines[index].contains(MARK) || comment.into_iter().any(|line| line.contains(MARK))
}

/// Whether a path in code means the banned type: by its full path or by its last two parts.
fn names(path: &str, banned: &str) -> bool {
    let full = format!("std::{banned}");
    let parts: Vec<&str> = banned.rsplit("::").take(2).collect();
    let tail = format!("{}::{}", parts[1], parts[0]);
    path == full
        || path.starts_with(&format!("{full}::"))
        || path == tail
        || path.starts_with(&format!("{tail}::"))
}

/// Every path with `::` in the code, those in `use` trees written out, with line numbers from 1.
fn paths(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut statement: Option<(usize, String)> = None;
    for (number, code) in source.numbered_code() {
        let trimmed = code.trim();
        if statement.is_none() && is_use(trimmed) {
            statement = Some((number, String::new()));
        }
        if let Some((start, text)) = &mut statement {
            text.push_str(trimmed);
            if trimmed.ends_with(';') {
                let tree = text.split_once("use ").map_or("", |(_, tree)| tree);
                let mut names = Vec::new();
                expand(tree.trim_end_matches(';'), "", &mut names);
                found.extend(names.into_iter().map(|name| (*start, name)));
                statement = None;
            }
            continue;
        }
        let is_path = |character: char| is_word_character(character) || character == ':';
        let pieces = code.split(|character| !is_path(character));
        found.extend(
            pieces
                .filter(|piece| piece.contains("::"))
                .map(|piece| (number, piece.trim_matches(':').to_owned())),
        );
    }
    found
}

fn is_use(line: &str) -> bool {
    line.starts_with("use ") || (line.starts_with("pub") && line.contains(" use "))
}

/// Writes out `a::{b, c::{d, e}}` as `a::b`, `a::c::d`, `a::c::e`.
fn expand(tree: &str, prefix: &str, names: &mut Vec<String>) {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let name = tree.split(" as ").next().unwrap_or(tree).trim();
        if !name.is_empty() {
            names.push(format!("{prefix}{name}"));
        }
        return;
    };
    let inner = tree[open + 1..].trim_end().trim_end_matches('}');
    let inside = format!("{prefix}{}", &tree[..open]);
    let mut depth = 0usize;
    let mut start = 0;
    // The closing brackets trimmed above are missing from the last branch only, which `expand` forgives.
    for (at, character) in inner.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                expand(&inner[start..at], &inside, names);
                start = at + 1;
            }
            _ => {}
        }
    }
    expand(&inner[start..], &inside, names);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn banned_types_are_found_however_they_are_spelled() {
        let text = "//! A.\n\
            use std::net::{IpAddr, TcpStream as Stream};\n\
            use std::{fs::{self, File}, io};\n\
            fn a() { std::sync::Mutex::new(1); }\n\
            fn b() { fs::OpenOptions::new(); }\n\
            use sys::socket::TcpListener;\n\
            use std::sync::Arc;\n";
        assert_eq!(lines("crates/runtime/src/a.rs", text), [2, 3, 4, 5]);
        assert!(lines("crates/sys/src/a.rs", text).is_empty());
    }

    #[test]
    fn tests_marks_and_expectations_are_let_through() {
        let tested = "//! A.\n#[cfg(test)]\nmod tests {\n    use std::net::TcpStream;\n}\n";
        assert!(lines("crates/server/src/a.rs", tested).is_empty());
        let marked = format!(
            "//! A.\n{MARK} the log writer has\n// a thread to itself.\nuse std::fs::File;\n"
        );
        assert!(lines("crates/server/src/a.rs", &marked).is_empty());
        let expected =
            "//! A.\n#![expect(clippy::disallowed_types, reason = \"b\")]\nuse std::fs::File;\n";
        assert!(lines("crates/server/src/a.rs", expected).is_empty());
    }
}
