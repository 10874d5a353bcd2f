//! Request targets: every resolved path stays below the root, equal paths have equal meaning, and a path
//! survives being written and parsed again.

use wire::http::target::{DotFiles, encode_path, query_pairs, resolve, resolve_with, split};
use wire::limits::QUERY_PAIRS_MAXIMUM;

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/wire/src/http/target"];

/// Targets of all kinds.
pub const SEEDS: &[&[u8]] = &[
    b"/",
    b"/index.html?a=b&c=%20d+e&&f",
    b"/a/b/../c/./d//e/",
    b"/%2e%2e/%2e/etc/passwd",
    b"/a%2Fb%5cc\\d",
    b"/%C3%A4/%00/%ff/%c0%af",
    b"/.well-known/acme/..%2f.git",
    b"http://example.org/a?b",
    b"HTTPS://example.org?q",
    b"/a/../../b",
    b"//host/path",
];

/// Pieces of targets.
pub const WORDS: &[&[u8]] = &[
    b"/",
    b"//",
    b"/.",
    b"/..",
    b"/../",
    b"/./",
    b"..",
    b"...",
    b"%2e",
    b"%2E%2e",
    b"%2f",
    b"%5C",
    b"\\",
    b"%00",
    b"%25",
    b"%252e",
    b"%",
    b"%4",
    b"%c3%a9",
    b"%e2%82%ac",
    b"%ed%a0%80",
    b"%f8",
    b"?",
    b"&",
    b"=",
    b"+",
    b"#",
    b";",
    b":",
    b"http://a",
    b".well-known",
    b".git",
    b"a",
    b" ",
];

/// Checks the properties of this module for one input.
pub fn check(data: &[u8]) {
    let (path, query) = split(data);
    for dot_files in [DotFiles::Hide, DotFiles::Show] {
        let mut scratch = b"/left/over/.".to_vec();
        match resolve_with(path, dot_files, &mut scratch) {
            Ok(resolved) => {
                assert_resolved(resolved, path, dot_files);
                assert_eq!(Some(resolved), slowly(path).as_deref(), "against the slow way");
            }
            Err(error) => assert!(matches!(error.status(), 400 | 404)),
        }
    }
    assert_way_out_and_in(path);
    if let Some(query) = query {
        assert_query(query);
    }
}

fn assert_resolved(resolved: &str, path: &[u8], dot_files: DotFiles) {
    assert!(resolved.starts_with('/'), "{resolved:?}");
    assert!(resolved.len() <= path.len().max(1));
    assert!(!resolved.contains(|character: char| character.is_ascii_control()));
    assert!(!resolved.contains('\\'));
    let names = resolved[1..].split('/').collect::<Vec<_>>();
    for (index, name) in names.iter().enumerate() {
        let is_last = index + 1 == names.len();
        assert!(*name != ".." && *name != ".", "{resolved:?}");
        assert!(!name.is_empty() || is_last, "{resolved:?} has an empty segment");
        let is_hidden = name.starts_with('.') && !(index == 0 && *name == ".well-known");
        assert!(dot_files == DotFiles::Show || !is_hidden, "{resolved:?} is shown");
    }
}

/// The path by RFC 3986 section 5.2.4, segment by segment; `None` if it leaves the root.
fn slowly(path: &[u8]) -> Option<String> {
    let mut decoded = Vec::new();
    let mut rest = path;
    while let Some((byte, after)) = rest.split_first() {
        if *byte == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            decoded.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            decoded.push(*byte);
            rest = after;
        }
    }
    let decoded = String::from_utf8(decoded).ok()?;
    let mut names = Vec::new();
    for segment in decoded.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    let ends_open = decoded.rsplit('/').next().is_none_or(|last| matches!(last, "" | "." | ".."));
    let end = if ends_open && !names.is_empty() { "/" } else { "" };
    Some(format!("/{}{end}", names.join("/")))
}

/// A redirect must lead back to the same path.
fn assert_way_out_and_in(path: &[u8]) {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let Ok(resolved) = resolve(path, &mut first) else { return };
    let mut location = Vec::new();
    encode_path(resolved, &mut location);
    let harmless = |byte: &u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}?#'[]".contains(byte);
    assert!(location.iter().all(harmless), "{:?}", String::from_utf8_lossy(&location));
    assert!(location.starts_with(b"/") && !location.starts_with(b"//"));
    assert_eq!(resolve(&location, &mut second), Ok(resolved));
}

fn assert_query(query: &[u8]) {
    let pairs: Vec<_> = query_pairs(query, QUERY_PAIRS_MAXIMUM).collect();
    assert!(pairs.len() <= QUERY_PAIRS_MAXIMUM);
    let decoded: usize = pairs.iter().map(|(name, value)| name.len() + value.len()).sum();
    assert!(decoded <= query.len());
    let mut few = query_pairs(query, 1);
    assert_eq!(few.next(), pairs.first().cloned());
    assert_eq!(few.next(), None);
    assert_eq!(few.has_more(), pairs.len() > 1);
}
